"""A column without a default of the database, which the old code does not fill."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backup", "0002_expand")]
    operations = [migrations.AddField("backup", "kind", models.IntegerField(default=1))]
