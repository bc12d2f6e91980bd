from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("secondaries", "0007_keyless_set_by")]

    operations = [
        migrations.AddField("secondary", "catalog_fetched", models.BigIntegerField(default=0, db_default=0)),
    ]
