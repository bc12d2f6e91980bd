"""Catalogs of ours that clients of PowerDNS's API fill: which zones are in them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalogs", "0001_initial"), ("zones", "0049_names_sorted")]

    operations = [
        migrations.CreateModel(
            name="Produced",
            fields=[
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
                ("label", models.CharField(max_length=32, unique=True)),
                (
                    "catalog",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"
                    ),
                ),
            ],
        ),
    ]
