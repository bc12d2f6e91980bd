"""The indexes that find rollovers whose next step is in a period, and keys by their age."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("zones", "0003_pointing_by_name")]

    operations = [
        AddIndexConcurrently(
            "zonekey", models.Index(fields=["created_at"], condition=Q(deleted_at=None), name="zonekey_age")
        ),
        AddIndexConcurrently(
            "rollover",
            models.Index(fields=["earliest"], condition=Q(ended_at=None, earliest__isnull=False), name="rollover_next"),
        ),
    ]
