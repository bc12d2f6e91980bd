"""Tables for RRsets."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q

from dnspanel.text_fields import MessageField
from dnspanel.zones.models.zone import Zone


class RRset(models.Model):
    """A zone's RRset, the unit of editing, comparing and pushing.

    `rdata` has the records in canonical presentation format, without duplicates, sorted by wire format. `disabled` is
    the subset that is stored but not served. A trigger (migration 0003) rejects a CNAME next to other RRsets.
    """

    pk = models.CompositePrimaryKey("zone", "owner_key", "type")
    zone = models.ForeignKey(
        Zone, on_delete=models.DO_NOTHING, related_name="rrsets", db_constraint=False, db_index=False
    )
    name = models.TextField(db_collation="C")
    # `names.relative_key`: byte order is DNSSEC canonical order, and a subtree is one prefix.
    owner_key = models.BinaryField()
    type = models.IntegerField()
    ttl = models.IntegerField()
    rdata = ArrayField(models.TextField())
    # `rdata` with names in lower case, for searches. Null if `rdata` has no capitals in names.
    folded = ArrayField(models.TextField(), null=True)
    disabled = ArrayField(models.TextField(), default=list)
    comment = models.TextField(blank=True, default="")
    # `replication.dns.rrset.Notes`: tags, and comments of values. Usually empty, which costs a byte.
    notes = models.TextField(blank=True, default="", db_default="")
    changed_in = models.IntegerField(default=1, db_default=1)  # number of the last revision that changed the RRset

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(type__gt=0, type__lt=65536), name="rrset_type_u16"),
            models.CheckConstraint(condition=Q(ttl__gte=0, ttl__lt=2**31), name="rrset_ttl_rfc2181"),
            models.CheckConstraint(condition=Q(rdata__len__gt=0), name="rrset_not_empty"),
            models.CheckConstraint(condition=Q(rdata__contains=F("disabled")), name="rrset_disabled_subset"),
        ]
        # New entries wait in a list until `tasks.maintain_search_index` sorts many of them in, because sorting one by
        # one is slow in an import. If the list is full (the size is in kB) before that, the next writer sorts it.
        # Migration 0003 has more indexes, for CNAMEs. DS RRsets are few, and are looked up when their zone is created.
        indexes = [
            GinIndex(fields=["rdata"], name="rrset_rdata", gin_pending_list_limit=256 << 10),
            models.Index(fields=["zone"], condition=Q(type=43), name="rrset_ds"),
            GinIndex(fields=["folded"], condition=Q(folded__isnull=False), name="rrset_folded", fastupdate=False),
            # The names that MX, SRV, HTTPS and similar records point to (see `across_zones`).
            GinIndex(
                Func(F("type"), F("rdata"), function="rdata_targets"),
                condition=Q(type__in=[15, 18, 33, 35, 36, 45, 64, 65, 107]),
                gin_pending_list_limit=32 << 10,
                name="rrset_targets",
            ),
        ]


class Expiry(models.Model):
    """The removal time of a published RRset, and the person who set it. `expiry` writes the rows.

    A trigger (migration 0031) deletes the row with its RRset. Publications don't change the time.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    owner_key = models.BinaryField()
    type = models.IntegerField()
    name = models.TextField(db_collation="C")
    remove_at = models.DateTimeField(db_index=True)
    set_at = models.DateTimeField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    by_token = models.BooleanField(default=False)  # stays True if the token is deleted
    # Why the last attempt to remove it failed, and when that was.
    refusal = MessageField(blank=True, default="")
    tried_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "owner_key", "type"], name="expiry_unique")]
