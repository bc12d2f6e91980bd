"""The browser session of each action in the audit log."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_token_ends")]

    operations = [
        migrations.AddField(
            "auditentry", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
    ]
