import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("secondaries", "0008_catalog_fetched"), ("zones", "0053_restoring_runs")]

    operations = [
        migrations.CreateModel(
            "KeyTransfer",
            [
                (
                    "zone",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="zones.zone",
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
