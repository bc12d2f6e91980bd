"""From where the last act on an import came."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("transfer", "0003_quotas")]

    operations = [
        migrations.AddField(
            model_name="importjob",
            name="address",
            field=models.GenericIPAddressField(null=True),
        ),
        migrations.AddField(
            model_name="importjob",
            name="request_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=36),
        ),
    ]
