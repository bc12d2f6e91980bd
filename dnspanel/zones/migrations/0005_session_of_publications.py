"""The browser session of publications and runs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0004_calendar")]

    operations = [
        migrations.AddField(
            "publication", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
        migrations.AddField(
            "policyrun", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
        migrations.AddField(
            "changerun", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
        migrations.AddField(
            "templaterun", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
    ]
