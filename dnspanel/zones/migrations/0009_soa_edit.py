from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("zones", "0008_tsig_permissions")]

    operations = [
        migrations.AddField(
            model_name="zone",
            name="soa_edit_api",
            field=models.CharField(blank=True, db_default="INCREASE", default="INCREASE", max_length=32),
        ),
        migrations.AddField(
            model_name="zone",
            name="soa_edit",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
    ]
