"""A column that the old code does not need."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backup", "0001_initial")]
    operations = [migrations.AddField("backup", "place", models.TextField(null=True))]
