"""Tables for zones, for the serials of deleted zones, and for the defaults of new zones."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Reverse, Upper

from dnspanel.zones.values.natural_order import natural_text
from dnspanel.zones.values.soa import SoaEdit

TRASH_DAYS = 30  # a deleted zone can be restored for this time


def gone_at(deleted_at: datetime) -> datetime:
    """Return the time when a deleted zone leaves the trash and can no longer be restored."""
    return deleted_at + timedelta(days=TRASH_DAYS)


class NaturalName(models.TextField):  # type: ignore[type-arg]
    """A column with the natural sort key of `name` (see `natural_text`), set on each save."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str:  # noqa: FBT001  # Django passes it by position
        text = natural_text(model_instance.name)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, text)
        return text

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs


class Zone(models.Model):
    """A DNS zone. Its id is also its PowerDNS domain id and is never reused."""

    id = models.AutoField(primary_key=True)
    name = models.TextField(db_collation="C")  # absolute, lower case, canonical
    sort_name = NaturalName(db_collation="C", editable=False)
    serial = models.BigIntegerField()
    revision = models.IntegerField(default=0)  # number of the newest revision
    rrset_count = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    # The person whose quota the zone counts for. Null: no person's quota.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    sequence = models.BigIntegerField(default=0)  # of the newest revision
    deleted_at = models.DateTimeField(null=True)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="zones")
    tags = ArrayField(models.TextField(), default=list, db_default=[])  # sorted, lower case
    # The rules for the zone's serials, as values of PowerDNS's API (`soa.SoaEdit`).
    soa_edit_api = models.CharField(max_length=32, blank=True, default="INCREASE", db_default="INCREASE")
    soa_edit = models.CharField(max_length=32, blank=True, default="", db_default="")
    # The default TTL for new RRsets. Null: the SOA's TTL.
    default_ttl = models.IntegerField(null=True)
    # True if the zone has a row in `Lock`, so that publications of other zones need no query.
    has_locks = models.BooleanField(default=False, db_default=False)
    # The addresses of the zone's primaries, as text. If not empty, only transfers change the zone.
    transferred_from = models.TextField(blank=True, default="", db_default="")
    # True if nodes have the zone. They do not before its first transfer and after it expired.
    is_served = models.BooleanField(default=True, db_default=True)
    # True for a catalog zone (RFC 9432), consumer or producer, which no node has.
    is_catalog = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], condition=Q(deleted_at=None), name="zone_name_unique_alive"),
            models.CheckConstraint(condition=Q(id__gt=0, id__lt=2**31 - 1), name="zone_id_is_a_domain_id"),
            models.CheckConstraint(condition=Q(serial__gte=0, serial__lt=2**32), name="zone_serial_u32"),
            models.CheckConstraint(condition=Q(name__endswith="."), name="zone_name_absolute"),
            models.CheckConstraint(
                condition=Q(default_ttl=None) | Q(default_ttl__gte=0, default_ttl__lt=2**31),
                name="zone_default_ttl_rfc2181",
            ),
        ]
        indexes = [
            # `texts_upkeep` and `tasks.maintain_search_index` sort waiting entries in.
            GinIndex(OpClass(Upper("name"), "gin_trgm_ops"), name="zone_name_trigram", gin_pending_list_limit=32 << 10),
            # Names with Unicode characters. Few zones have such a name.
            GinIndex(
                OpClass(Func(F("name"), function="name_displayed"), "gin_trgm_ops"),
                condition=Q(name__contains="xn--"),
                name="zone_name_displayed",
            ),
            # All names below a name are one range of this index (see `nesting`).
            models.Index(Reverse("name"), condition=Q(deleted_at=None), name="zone_name_backwards"),
            models.Index(fields=["deleted_at"], condition=~Q(deleted_at=None), name="zone_trash"),
            models.Index(fields=["sort_name"], condition=Q(deleted_at=None), name="zone_sort_name"),
            GinIndex(fields=["tags"], condition=~Q(tags=[]), name="zone_tags"),
            models.Index(fields=["created_by"], name="zone_created_by"),
            models.Index(fields=["name"], condition=~Q(transferred_from=""), name="zone_transferred"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def soa_edits(self) -> SoaEdit:
        """The rules for the zone's next serial."""
        return SoaEdit(self.soa_edit_api, self.soa_edit)

    @property
    def is_edited_here(self) -> bool:
        """True if people can change the zone: it isn't transferred from a primary, and it isn't a catalog."""
        return not self.transferred_from and not self.is_catalog

    @property
    def is_producer(self) -> bool:
        """True if the zone is a producer catalog, which lists its member zones."""
        return self.is_catalog and not self.transferred_from

    @property
    def is_transferable(self) -> bool:
        """True if secondaries can transfer the zone: nodes serve it, or it is a producer catalog."""
        return self.is_served or self.is_producer

    @property
    def waits_for_nodes(self) -> bool:
        """True if no node serves the zone now and its next revision sends it to nodes. False for catalogs."""
        return not self.is_served and not self.is_catalog


# Producer catalogs, like `is_producer`.
PRODUCERS = Q(is_catalog=True, transferred_from="")


class LastSerial(models.Model):
    """The serial of the last deleted zone with a name. A new zone with the name starts with a higher serial.

    The row stays after the zone leaves the trash, because secondaries keep their copy until it expires.
    """

    name = models.TextField(primary_key=True, db_collation="C")  # as `Zone.name`
    serial = models.BigIntegerField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(serial__gte=0, serial__lt=2**32), name="last_serial_u32")]

    def __str__(self) -> str:
        return f"{self.name} {self.serial}"


class ZoneDefaults(models.Model):
    """Initial form values for new zones, in a single row. If the row is missing, the settings apply."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    nameservers = ArrayField(models.TextField())
    hostmaster = models.TextField()
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="zonedefaults_single")]
