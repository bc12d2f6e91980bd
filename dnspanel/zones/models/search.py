"""Tables for searches and sorted lists, updated after publications."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q

from dnspanel.text_fields import MessageField
from dnspanel.zones.models.zone import Zone


class NamePlace(models.Model):
    """A name's sort key in the natural order of a large zone. `display_order` writes it after publications.

    A name that no longer has RRsets can still have a row.
    """

    pk = models.CompositePrimaryKey("zone", "place", "owner_key")
    zone = models.ForeignKey(Zone, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    place = models.BinaryField()  # `natural_key` of the owner key
    owner_key = models.BinaryField()


class SearchText(models.Model):
    """The searchable text of a block of a zone's RRsets. `search.texts_upkeep` writes it after publications.

    The blocks of a zone are contiguous: the first block begins at the empty key, and the last block has no end.
    """

    pk = models.CompositePrimaryKey("zone", "first_key")
    zone = models.ForeignKey(Zone, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    first_key = models.BinaryField()
    end_key = models.BinaryField(null=True)  # first key of the next block
    text = models.TextField()
    types = ArrayField(models.IntegerField())
    ttls = ArrayField(models.IntegerField())  # distinct values, sorted
    has_comments = models.BooleanField()

    class Meta:
        indexes = [
            # `texts_upkeep` merges the pending entries into the index at the end of a turn.
            GinIndex(OpClass("text", "gin_trgm_ops"), name="search_text_trigram", gin_pending_list_limit=256 << 10),
            models.Index(fields=["zone", "first_key"], condition=Q(has_comments=True), name="search_text_comments"),
        ]


class SearchProgress(models.Model):
    """A single row that records the last publication included in the search texts."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField()
    last_zone = models.IntegerField(null=True)  # the last zone with texts, while they are written for the first time

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="search_progress_single")]


class Complaint(models.Model):
    """The most serious complaint about a published RRset and a zone `into`, written by `complaints_upkeep`.

    `into` is the id of another zone if the complaint is about a name in it. Only people who are allowed to see that
    zone see the complaint. Rows are updated after publications.
    """

    pk = models.CompositePrimaryKey("zone", "owner_key", "type", "into")
    zone = models.ForeignKey(Zone, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    owner_key = models.BinaryField()
    type = models.IntegerField()
    into = models.IntegerField(default=0)  # 0: about the RRset's own zone
    message = MessageField()

    class Meta:
        indexes = [models.Index(fields=["into"], condition=~Q(into=0), name="complaint_into")]


class ComplaintProgress(models.Model):
    """A single row: the last publication that complaints cover, and the position of the walk through all RRsets.

    The walk finds complaints that appear or disappear without a publication of the zone. The first walk runs after an
    upgrade.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField()
    is_complete = models.BooleanField(default=False)  # True if the first walk has ended
    walk_began_at = models.DateTimeField()
    # The last name that the walk has checked. Null: the walk has ended.
    zone_id = models.IntegerField(null=True, default=0)
    owner_key = models.BinaryField(default=b"")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="complaint_progress_single")]
