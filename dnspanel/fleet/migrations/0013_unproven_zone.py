"""Zones that do not validate on a node, though nothing that was published did that."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("fleet", "0012_ahead_breaks"), ("zones", "0027_zone_defaults"))

    operations = (
        migrations.CreateModel(
            name="UnprovenZone",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("problem", models.TextField()),
                ("since", models.DateTimeField()),
                ("looked_at", models.DateTimeField()),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="unproven", to="fleet.node"
                    ),
                ),
                (
                    "zone",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="zones.zone"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("node", "zone"), name="fleet_one_unproven_a_node_and_zone")
                ],
            },
        ),
    )
