"""Models for publishing: segments, snapshots, signing keys, and the keys that seal DNSSEC keys."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField


class SigningKey(models.Model):
    """An Ed25519 key that signs segments. The private half is encrypted with PANEL_MASTER_KEY."""

    public = models.BinaryField(unique=True)  # 32 bytes
    private_encrypted = SecretField()
    created_at = models.DateTimeField()
    # When this key began to seal segments. A new key is first sent to every node.
    in_use_at = models.DateTimeField(null=True)
    retired_at = models.DateTimeField(null=True)


class SealingKey(models.Model):
    """A key that encrypts private DNSSEC keys in transit and at rest. Each encrypted key contains its sealing key's id.

    The sealing key itself is encrypted with PANEL_MASTER_KEY.
    """

    id = models.AutoField(primary_key=True)
    secret_encrypted = SecretField()
    created_at = models.DateTimeField()


class Segment(models.Model):
    """A sealed segment with the sequences first..last of an epoch, for one schema, in the storage `segments`."""

    epoch = models.UUIDField()
    schema = models.SmallIntegerField()
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    object_name = models.CharField(max_length=200, unique=True)
    size = models.BigIntegerField()
    digest = models.BinaryField()  # main file (16 bytes) then records (16 bytes), after the segment
    sealed_at = models.DateTimeField()  # when this object was sealed: of a merged segment, the time of the merge
    # True if the segment has only changed records of served zones, so that it can be merged into a larger one.
    mergeable = models.BooleanField(default=False, db_default=False)
    # The object is missing or altered. No segment can bring a node past this one.
    damaged = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["schema", "epoch", "first"], name="segment_first_unique"),
            models.UniqueConstraint(fields=["schema", "epoch", "last"], name="segment_last_unique"),
            models.CheckConstraint(condition=models.Q(last__gte=models.F("first")), name="segment_order"),
        ]
        indexes = [
            # Queried with every check of the fleet, and nearly always empty.
            models.Index(fields=["schema", "first"], condition=models.Q(damaged=True), name="segment_damaged"),
        ]


class FirstSealing(models.Model):
    """The time when the sequences up to `last` were first sealed for one schema. Merges don't change it."""

    epoch = models.UUIDField()
    schema = models.SmallIntegerField()
    last = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["schema", "epoch", "last"], name="first_sealing_unique")]
        # Rows are pruned by time each minute, and are stored in the order of time.
        indexes = [BrinIndex(fields=["at"], name="first_sealing_at")]


class Stall(models.Model):
    """The reason why publishing has stopped for a schema. While publishing works, the schema has no row."""

    schema = models.SmallIntegerField(unique=True)
    sequence = models.BigIntegerField()  # the first one that could not be encoded
    zone_name = models.TextField(blank=True, default="")  # empty if the error is not about a single zone
    message = MessageField()
    since = models.DateTimeField()
    tried_at = models.DateTimeField()


class PreparedRows(models.Model):
    """The LMDB rows of zones that a publication creates, compiled in advance and kept until all schemas have them."""

    sequence = models.BigIntegerField(primary_key=True)
    object_name = models.CharField(max_length=200)
    rows = models.IntegerField()
    digest = models.BinaryField()  # 16 bytes: the sum of the rows' digests
    size = models.BigIntegerField()


class Snapshot(models.Model):
    """A copy of one schema's whole LMDB at one position, in chunks, in the storage `segments`.

    A node without data starts with the newest snapshot of the epoch. If an epoch or a schema has no segment yet, the
    publisher also continues from the newest snapshot.
    """

    epoch = models.UUIDField()
    schema = models.SmallIntegerField()
    sequence = models.BigIntegerField()
    object_name = models.CharField(max_length=200, unique=True)  # of the sealed manifest; the chunks are next to it
    size = models.BigIntegerField()  # of all chunks in their stored form
    raw_size = models.BigIntegerField()  # of both files
    chunks = models.IntegerField()
    digest = models.BinaryField()  # main file (16 bytes) then records (16 bytes)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["schema", "epoch", "sequence"], name="snapshot_position_unique")]


class UsedSchema(models.Model):
    """A PowerDNS schema that nodes use. The publisher writes segments for it, and for the schemas in the settings."""

    schema = models.SmallIntegerField(primary_key=True)
    since = models.DateTimeField()


class Garbage(models.Model):
    """An unreferenced object in the storage `segments`, deleted after an hour unless a row refers to it again."""

    object_name = models.CharField(max_length=200, unique=True)
    since = models.DateTimeField()
