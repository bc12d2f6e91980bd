"""The browser session that began an import or export."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("transfer", "0001_tables")]

    operations = [
        migrations.AddField(
            "importjob", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
        migrations.AddField(
            "exportjob", "session", models.CharField(blank=True, db_default="", default="", max_length=32)
        ),
    ]
