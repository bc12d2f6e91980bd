from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("api", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="powerdnszone",
            name="comments",
            field=models.JSONField(default=dict),
        ),
        migrations.AlterField(
            model_name="powerdnszone",
            name="soa_edit_api",
            field=models.CharField(blank=True, default="DEFAULT", max_length=32),
        ),
    ]
