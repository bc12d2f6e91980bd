"""Rollovers wait for secondaries too; what those under way have waited for so far counts for them."""

import django.contrib.postgres.fields
from django.db import migrations, models

_SINCE = "UPDATE zones_rollover SET secondaries_since = answered_since WHERE ended_at IS NULL"


class Migration(migrations.Migration):
    dependencies = [("zones", "0049_names_sorted")]

    operations = [
        migrations.AddField("rollover", "secondaries_since", models.DateTimeField(null=True)),
        migrations.AddField(
            "rollover",
            "late_secondaries",
            django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=[], default=list),
        ),
        migrations.RunSQL(_SINCE, migrations.RunSQL.noop),
    ]
