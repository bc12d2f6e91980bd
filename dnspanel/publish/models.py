"""What has been encoded: segments per PowerDNS schema, and the keys that sign them."""

from django.db import models


class SigningKey(models.Model):
    """An Ed25519 key that signs segments; the private half is encrypted with PANEL_MASTER_KEY."""

    public = models.BinaryField(unique=True)  # 32 bytes
    private_encrypted = models.BinaryField()
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)


class Segment(models.Model):
    """One sealed segment: sequences first..last of an epoch, for one schema, in the `segments` storage."""

    epoch = models.UUIDField()
    schema = models.SmallIntegerField()
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    object_name = models.CharField(max_length=200, unique=True)
    size = models.BigIntegerField()
    digest = models.BinaryField()  # main file (16 bytes) then shard (16 bytes), after the segment
    sealed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["schema", "epoch", "first"], name="segment_first_unique"),
            models.UniqueConstraint(fields=["schema", "epoch", "last"], name="segment_last_unique"),
            models.CheckConstraint(condition=models.Q(last__gte=models.F("first")), name="segment_order"),
        ]
