"""The tables of the app, as in its real first migration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Backup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True)),
                ("size", models.BigIntegerField()),
                ("file", models.TextField(default="")),
            ],
        )
    ]
