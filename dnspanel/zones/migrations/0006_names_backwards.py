"""Zones below a name are found by an index: a range of names read backwards."""

import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("zones", "0005_trust"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="zone",
            index=models.Index(
                django.db.models.functions.text.Reverse("name"),
                condition=models.Q(("deleted_at", None)),
                name="zone_name_backwards",
            ),
        ),
    ]
