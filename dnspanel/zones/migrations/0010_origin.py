"""From where each publication came, as audit entries have it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0009_soa_edit")]

    operations = [
        migrations.AddField(
            model_name="publication",
            name="address",
            field=models.GenericIPAddressField(null=True),
        ),
        migrations.AddField(
            model_name="publication",
            name="request_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=36),
        ),
    ]
