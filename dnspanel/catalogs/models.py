"""Models for consumer catalogs with their rules and members, and for producer catalogs with their members."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from dnspanel.primaries.models import PrimaryTerms
from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy
from dnspanel.zones.models import Zone


class Catalog(models.Model):
    """A consumer catalog: a catalog zone transferred from another server, and the terms for its members.

    The zone's `TransferredZone` has the primaries and the transfer state.
    """

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="catalog")
    # Terms of members without a matching rule.
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    tags = ArrayField(models.TextField(), default=list)
    within = ArrayField(models.TextField(), default=list)  # members must be at or below one of these names; empty: any
    most_members = models.IntegerField(default=1_000)
    most_lost = models.SmallIntegerField(default=20)  # percentage of members that can leave at once
    created_at = models.DateTimeField()
    followed = models.IntegerField(default=0)  # the revision of the catalog zone that the members follow
    due_at = models.DateTimeField(null=True)  # time of the next check if the catalog does not change
    listed = models.IntegerField(default=0)  # number of members that the catalog zone lists
    # The start and the reason of a fault in the catalog. A broken catalog isn't applied.
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
    """The terms for members of a group. If the rule has no addresses, members have the catalog zone's primaries."""

    catalog = models.ForeignKey(Catalog, on_delete=models.CASCADE, related_name="rules")
    group = models.TextField()
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    tags = ArrayField(models.TextField(), default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["catalog", "group"], name="catalog_rule_of_group")]


class State(models.TextChoices):
    """The state of a zone that a catalog lists."""

    MEMBER = "member", gettext_lazy("added")
    REFUSED = "refused", gettext_lazy("refused")
    MOVED = "moved", gettext_lazy("moved to another catalog")


class Listing(models.Model):
    """A zone that a consumer catalog lists, with the zone's label in the catalog and its state."""

    catalog = models.ForeignKey(Catalog, on_delete=models.CASCADE, related_name="listings", db_index=False)
    zone = models.ForeignKey(Zone, null=True, on_delete=models.SET_NULL, related_name="+")
    zone_name = models.TextField(db_collation="C")
    label = models.TextField()
    groups = ArrayField(models.TextField(), default=list)
    coo = models.TextField(blank=True, default="")  # the catalog that the zone may move to
    rule = models.ForeignKey(Rule, null=True, on_delete=models.SET_NULL, related_name="+")  # null: the catalog's own
    state = models.CharField(max_length=7, choices=State)
    reason = MessageField(blank=True, default="")  # why the zone is refused
    since = models.DateTimeField()  # since when the zone has this state

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["catalog", "zone_name"], name="catalog_lists_once"),
            models.UniqueConstraint(fields=["zone"], condition=Q(state="member"), name="zone_of_one_catalog"),
        ]
        indexes = [models.Index(fields=["catalog", "state", "zone_name"], name="catalog_listing_state")]


class Producer(models.Model):
    """A producer catalog, its groups' tags, and counters of changes to its members. `producer` writes this table."""

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="producer")
    # Tags that are groups of the catalog: a member is in the group of its first matching tag, as with secondaries.
    group_tags = ArrayField(models.TextField(), default=list)
    moves = models.BigIntegerField(default=1)  # number of changes of the members
    followed = models.BigIntegerField(default=0)  # number of these changes that the catalog zone has
    compared_at = models.DateTimeField(null=True)  # last time when the catalog zone agreed with the members


class Produced(models.Model):
    """A member of a producer catalog, with the label of its record in the catalog. `producer` writes this table.

    A trigger (migration 0001) marks a zone as changed if its tags change, or if it is deleted or restored. The trigger
    also changes the label of a deleted zone, so that consumers start from scratch if the zone is restored.
    """

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="produced")
    catalog = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=32, unique=True)
    moved = models.BooleanField(default=False, db_default=False)  # changed, but not counted by the catalog yet
    ttl = models.SmallIntegerField(default=0, db_default=0)  # TTL of the record; changing it publishes the record again

    class Meta:
        indexes = [models.Index(fields=["catalog"], condition=Q(moved=True), name="produced_moved")]


class LeaveStep(models.IntegerChoices):
    """The progress of a zone's move from one producer catalog to another."""

    SAID = 0, "said"  # the old catalog names the new one
    ARRIVED = 1, "arrived"  # the new catalog lists the zone
    GONE = 2, "gone"  # the old catalog no longer lists the zone
    ANEW = 3, "anew"  # the new catalog lists the zone again, with another TTL


class Leaving(models.Model):
    """A zone that moves from one producer catalog to another, and its progress. `ownership_change` writes this table.

    A trigger (migration 0001) makes the old catalog drop a zone that is moved to the trash.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    catalog = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")  # the old catalog
    label = models.CharField(max_length=32)  # in the old catalog
    entered = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")  # the catalog that the zone is in now
    way = models.SmallIntegerField(choices=LeaveStep, default=LeaveStep.SAID)
    told_at = models.DateTimeField(null=True)  # when the old catalog named the new one or, later, dropped the zone

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "catalog"], name="leaving_once")]
