"""Models of consumer catalogs with their rules and members, and of producer catalogs with their members.

They only store and constrain data. Other modules write the data.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from dnspanel.primaries.models import PrimaryTerms
from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy
from dnspanel.zones.models import Zone


class Catalog(models.Model):
    """A consumer catalog: a catalog zone transferred from another server, and the terms of its members.

    The zone's `TransferredZone` has the primaries and the transfer state.
    """

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="catalog")
    # Terms of members without a matching rule.
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    tags = ArrayField(models.TextField(), default=list)
    within = ArrayField(models.TextField(), default=list)  # names below which members may lie; empty: any
    most_members = models.IntegerField(default=1_000)
    most_lost = models.SmallIntegerField(default=20)  # percent of the members that may leave at once
    created_at = models.DateTimeField()
    followed = models.IntegerField(default=0)  # the revision of the catalog zone that the members follow
    due_at = models.DateTimeField(null=True)  # when it is looked at next, though nothing of it changed
    listed = models.IntegerField(default=0)  # members that it names
    # Why nothing of it is taken, and since when.
    broken_since = models.DateTimeField(null=True)
    broken_reason = MessageField(blank=True, default="")
    # Members that left stay until a person confirms the removal for that revision.
    kept_since = models.DateTimeField(null=True)
    kept_count = models.IntegerField(default=0)
    kept_revision = models.IntegerField(null=True)
    confirmed_revision = models.IntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(most_lost__gte=0, most_lost__lte=100), name="catalog_lost_is_percent")
        ]


class Rule(PrimaryTerms):
    """The terms for members of a group. Without addresses, members have the catalog zone's primaries."""

    catalog = models.ForeignKey(Catalog, on_delete=models.CASCADE, related_name="rules")
    group = models.TextField()
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    tags = ArrayField(models.TextField(), default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["catalog", "group"], name="catalog_rule_of_group")]


class State(models.TextChoices):
    """The state of a zone that a catalog lists."""

    MEMBER = "member", gettext_lazy("here")
    REFUSED = "refused", gettext_lazy("not taken")
    MOVED = "moved", gettext_lazy("moved to another catalog")


class Listing(models.Model):
    """A zone that a consumer catalog lists, with the zone's label in the catalog and its state."""

    catalog = models.ForeignKey(Catalog, on_delete=models.CASCADE, related_name="listings", db_index=False)
    zone = models.ForeignKey(Zone, null=True, on_delete=models.SET_NULL, related_name="+")
    zone_name = models.TextField(db_collation="C")
    label = models.TextField()
    groups = ArrayField(models.TextField(), default=list)
    coo = models.TextField(blank=True, default="")  # the catalog that it may go to
    rule = models.ForeignKey(Rule, null=True, on_delete=models.SET_NULL, related_name="+")  # null: the catalog's own
    state = models.CharField(max_length=7, choices=State)
    reason = MessageField(blank=True, default="")  # why it is not taken
    since = models.DateTimeField()  # of this state

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["catalog", "zone_name"], name="catalog_lists_once"),
            models.UniqueConstraint(fields=["zone"], condition=Q(state="member"), name="zone_of_one_catalog"),
        ]
        indexes = [
            models.Index(fields=["catalog", "state", "zone_name"], name="catalog_listing_state"),
        ]


class Producer(models.Model):
    """A producer catalog, with the tags that are its groups, and counters of the changes to its members.

    The module `producer` writes this table.
    """

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="producer")
    # Tags that are its groups: a member is in that of the first one that it has, as in a catalog of a secondary.
    group_tags = ArrayField(models.TextField(), default=list)
    moves = models.BigIntegerField(default=1)  # goes up with everything that changes what it is to say
    followed = models.BigIntegerField(default=0)  # of these moves
    compared_at = models.DateTimeField(null=True)  # when it was last known to say what it is to


class Produced(models.Model):
    """A member of a producer catalog, with the label of its record in the catalog. `producer` writes this table.

    A trigger (migration 0003) marks a zone as changed if its tags change, or if it is deleted or restored. The trigger
    also changes the label of a deleted zone, so that consumers of the catalog start from scratch if the zone is
    restored.
    """

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="produced")
    catalog = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=32, unique=True)
    moved = models.BooleanField(default=False, db_default=False)  # and the catalog has not counted it yet
    ttl = models.SmallIntegerField(default=0, db_default=0)  # TTL of the record; another one publishes it again

    class Meta:
        indexes = [models.Index(fields=["catalog"], condition=Q(moved=True), name="produced_moved")]


class LeaveStep(models.IntegerChoices):
    """The progress of a zone's move from one producer catalog to another."""

    SAID = 0, "said"  # the first says where it goes
    ARRIVED = 1, "arrived"  # and the other one names it
    GONE = 2, "gone"  # and the first does not any more
    ANEW = 3, "anew"  # and the other catalog lists the zone again, with another TTL


class Leaving(models.Model):
    """A zone that moves from one producer catalog to another, and its progress. `ownership_change` writes this table.

    A trigger (migration 0005) makes the catalog drop a zone that goes to the trash.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    catalog = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")  # that it left
    label = models.CharField(max_length=32)  # of its record there
    entered = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")  # where it is now, as the record says
    way = models.SmallIntegerField(choices=LeaveStep, default=LeaveStep.SAID)
    told_at = models.DateTimeField(null=True)  # when the catalog was first known to say so, or to be without it

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "catalog"], name="leaving_once")]
