"""Why an agent is not reached, for its page and its alert."""

from django.db import migrations

import dnspanel.text_fields


class Migration(migrations.Migration):
    dependencies = [("fleet", "0017_processes")]

    operations = [
        migrations.AddField(
            model_name="node",
            name="contact_problem",
            field=dnspanel.text_fields.MessageField(blank=True, default=""),
        ),
    ]
