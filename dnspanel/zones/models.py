"""Zones, RRsets, drafts, revisions and the log.

Models store and constrain; every write goes through `bulk`, `edit`, `draft`,
`named_drafts` and `revision`. What a row refers to is there, and goes together with what
belongs to it: where `db_constraint` is off, triggers prove it statement by
statement (migration 0003), because a foreign key costs a query for each row.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Lower, Reverse, Upper

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField, MessagesField
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.zones.natural_order import natural_text
from dnspanel.zones.soa import SoaEdit
from replication.dns import rdata

TRASH_DAYS = 30  # a deleted zone can be restored for so long


def gone_at(deleted_at: datetime) -> datetime:
    """Until when a zone that was deleted then can come back from the trash."""
    return deleted_at + timedelta(days=TRASH_DAYS)


class Channel(models.TextChoices):
    """How a publication arrived."""

    WEB = "web", gettext_lazy("web")
    API = "api", "API"
    IMPORT = "import", gettext_lazy("import")
    DYNAMIC_UPDATE = "dynamic", gettext_lazy("dynamic update")
    TRANSFER = "transfer", gettext_lazy("transfer")
    SYSTEM = "system", gettext_lazy("system")


class NaturalName(models.TextField):  # type: ignore[type-arg]
    """What names are sorted by in lists: `natural_text` of `name`, whoever stores the row."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        text = natural_text(model_instance.name)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, text)
        return text

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs


class LogHead(models.Model):
    """The one row that hands out sequences; locking it is the last step of a publication.

    PostgreSQL's own sequences become visible out of commit order, so a reader
    of the log could skip a late commit for ever.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    cluster = models.UUIDField()
    epoch = models.UUIDField()
    sequence = models.BigIntegerField(default=0)
    # Why nothing may be published, in words for people; empty in normal work. Only a person ends a hold.
    held_reason = MessageField(blank=True, default="", db_default="")
    held_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="loghead_single")]


class Epoch(models.Model):
    """A history of the log that a person began because the one before it had forked; the first has no row."""

    epoch = models.UUIDField(unique=True)
    began_at = models.DateTimeField()
    began_after = models.BigIntegerField()  # its first sequence is above this one
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")


class Publication(models.Model):
    """One sequence of the log: everything that one act published, over any number of zones."""

    sequence = models.BigIntegerField(primary_key=True)
    epoch = models.UUIDField()
    at = models.DateTimeField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    # The token by which the author acted, if it was one.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    channel = models.CharField(max_length=16, choices=Channel)
    reason = models.TextField(blank=True)
    # From where the request came, and the id under which logs know it; empty for the panel itself.
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True, default="", db_default="")
    # Given by the form: the same form sent twice is one publication.
    form_id = models.UUIDField(null=True, unique=True)
    # Of a write that was published in parts: the sequence of its first part, in the first part too.
    part_of = models.BigIntegerField(null=True)
    # Why ring 0 could not answer with it, in words; then it was taken back and no other node ever got it.
    failed_reason = MessageField(blank=True, default="", db_default="")
    # When it was taken back, and the sequence of the publication that did it.
    failed_at = models.DateTimeField(null=True)
    taken_back_in = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["part_of"], name="publication_parts", condition=Q(part_of__isnull=False)),
            models.Index(fields=["failed_at"], name="publication_failed", condition=Q(failed_at__isnull=False)),
        ]

    @property
    def by(self) -> str:
        """Who published it, for people to read: a name, and the token's purpose; nothing for the panel itself."""
        if self.author is None:
            return ""
        if self.token is None:
            return self.author.username
        return gettext("{username} with {purpose}").format(username=self.author.username, purpose=self.token.purpose)


class Zone(models.Model):
    """A zone; its id is also PowerDNS's domain id and is never used twice."""

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
    # Whose quota it counts for; null: nobody's, the panel's own.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    sequence = models.BigIntegerField(default=0)  # of the newest revision
    deleted_at = models.DateTimeField(null=True)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="zones")
    tags = ArrayField(models.TextField(), default=list, db_default=[])  # sorted, lower case
    # How the serial moves, as PowerDNS's API words it: `soa.SoaEdit`.
    soa_edit_api = models.CharField(max_length=32, blank=True, default="INCREASE", db_default="INCREASE")
    soa_edit = models.CharField(max_length=32, blank=True, default="", db_default="")
    # The TTL that new RRsets begin with; null: that of the SOA.
    default_ttl = models.IntegerField(null=True)
    # Whether there is a row of `Lock`: publications of all other zones need not ask.
    has_locks = models.BooleanField(default=False, db_default=False)
    # The addresses of its primaries, for people; empty: its primary is this panel. Then only transfers change it.
    transferred_from = models.TextField(blank=True, default="", db_default="")
    # Whether nodes have it: not before its first transfer, nor when it has expired.
    is_served = models.BooleanField(default=True, db_default=True)
    # Whether it is a catalog zone (RFC 9432), somebody's or, with its primary here, ours: no node ever has it.
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
            # `texts_upkeep` sorts waiting entries in, and `tasks.maintain_search_index`.
            GinIndex(OpClass(Upper("name"), "gin_trgm_ops"), name="zone_name_trigram", gin_pending_list_limit=32 << 10),
            # Names in their own script: those of few zones have another one.
            GinIndex(
                OpClass(Func(F("name"), function="name_displayed"), "gin_trgm_ops"),
                condition=Q(name__contains="xn--"),
                name="zone_name_displayed",
            ),
            # Everything below a name is one range of it; see `nesting`.
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
        """How its serial moves."""
        return SoaEdit(self.soa_edit_api, self.soa_edit)

    @property
    def is_edited_here(self) -> bool:
        """Whether people may change it: its primary is this panel, and it is no catalog, which follows its members."""
        return not self.transferred_from and not self.is_catalog

    @property
    def is_producer(self) -> bool:
        """Whether it is a catalog of ours, which says which zones are in it."""
        return self.is_catalog and not self.transferred_from

    @property
    def is_transferable(self) -> bool:
        """Whether somebody may have it from here: nodes have it, or it is for secondaries alone."""
        return self.is_served or self.is_producer

    @property
    def waits_for_nodes(self) -> bool:
        """Whether nodes get it with its next revision: they do not have it, and may."""
        return not self.is_served and not self.is_catalog


# Those that are catalogs of ours, as `is_producer` says of one.
PRODUCERS = Q(is_catalog=True, transferred_from="")


class LastSerial(models.Model):
    """The serial at which the zone of a name was deleted last: a zone that comes back begins above it.

    The row stays when the zone leaves the trash, because secondaries keep what they have until it expires.
    """

    name = models.TextField(primary_key=True, db_collation="C")  # as `Zone.name`
    serial = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(serial__gte=0, serial__lt=2**32), name="last_serial_u32"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.serial}"


class Lock(models.Model):
    """What only its manager changes: a zone (no name), a name (no type) or an RRset."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    name = models.TextField(blank=True, default="", db_collation="C")
    type = models.IntegerField(null=True)
    reason = models.TextField()
    # Whom it lets through: the token, else the person by pages; nobody where both are gone.
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    placed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    placed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["zone", "name", "type"], nulls_distinct=False, name="lock_unique"),
            models.CheckConstraint(condition=Q(type=None) | ~Q(name=""), name="lock_type_at_name"),
        ]

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"

    @property
    def what(self) -> str:
        """What is locked, for people: the zone's name, an owner name, or one with its type."""
        name = self.name or self.zone.name
        return name if self.type is None else f"{name} {rdata.type_to_text(self.type)}"

    @property
    def manager(self) -> str:
        """Whom it lets through, for people; empty for nobody."""
        if self.token is not None:
            return gettext("the token {purpose}").format(purpose=self.token.purpose)
        return self.person.username if self.person else ""


class TsigAct(models.TextChoices):
    """What a zone lets TSIG keys do."""

    UPDATE = "update", "DNS UPDATE"
    TRANSFER = "transfer", gettext_lazy("zone transfer")


class TsigPermission(models.Model):
    """TSIG keys of this name may do this with the zone, as far as their own terms go. `tsig_permissions` writes it."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    act = models.CharField(max_length=8, choices=TsigAct)
    key_name = models.TextField(db_collation="C")  # canonical; there need not be such a key

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "act", "key_name"], name="tsig_permission_unique")]


class RRset(models.Model):
    """One RRset of a zone: the unit of everything.

    `rdata` holds canonical presentation texts, sorted by wire form, without
    duplicates; `disabled` is the subset of them that is kept but not served.
    A trigger (migration 0003) refuses a CNAME beside other RRsets.
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
    # The same with names in lower case, by which RRsets are found; null where `rdata` has no capitals in names.
    folded = ArrayField(models.TextField(), null=True)
    disabled = ArrayField(models.TextField(), default=list)
    comment = models.TextField(blank=True, default="")
    # `replication.dns.notes`: tags, and comments of values. Most have none, and an empty text costs a byte.
    notes = models.TextField(blank=True, default="", db_default="")
    changed_in = models.IntegerField(default=1, db_default=1)  # the number of the revision that changed it last

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(type__gt=0, type__lt=65536), name="rrset_type_u16"),
            models.CheckConstraint(condition=Q(ttl__gte=0, ttl__lt=2**31), name="rrset_ttl_rfc2181"),
            models.CheckConstraint(condition=Q(rdata__len__gt=0), name="rrset_not_empty"),
            models.CheckConstraint(condition=Q(rdata__contains=F("disabled")), name="rrset_disabled_subset"),
        ]
        # New entries wait in a list until `tasks.maintain_search_index` sorts many of them in: one by one is slow
        # in an import.
        # If nobody does and the list (in kB) is full, whoever writes next has to. Migration 0003 has more, for CNAMEs.
        # DS RRsets are few, and those of a zone are wanted when it comes, whatever else it has.
        indexes = [
            GinIndex(fields=["rdata"], name="rrset_rdata", gin_pending_list_limit=256 << 10),
            models.Index(fields=["zone"], condition=Q(type=43), name="rrset_ds"),
            GinIndex(fields=["folded"], condition=Q(folded__isnull=False), name="rrset_folded", fastupdate=False),
            # The names that MX, SRV, HTTPS and such point at, which are words of their rdata; see `across_zones`.
            GinIndex(
                Func(F("type"), F("rdata"), function="rdata_targets"),
                condition=Q(type__in=[15, 18, 33, 35, 36, 45, 64, 65, 107]),
                gin_pending_list_limit=32 << 10,
                name="rrset_targets",
            ),
        ]


class NamePlace(models.Model):
    """Where a name of a large zone stands among the others as people sort them; `name_places` writes it behind them.

    A name that has no RRsets any more may still have one.
    """

    pk = models.CompositePrimaryKey("zone", "place", "owner_key")
    zone = models.ForeignKey(Zone, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    place = models.BinaryField()  # `natural_key` of the owner key
    owner_key = models.BinaryField()


class SearchText(models.Model):
    """What the RRsets of a zone say, from one name up to another; `search.texts_upkeep` writes it behind them.

    The blocks of a zone follow each other without gaps: the first begins at "", the last has no end.
    """

    pk = models.CompositePrimaryKey("zone", "first_key")
    zone = models.ForeignKey(Zone, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    first_key = models.BinaryField()
    end_key = models.BinaryField(null=True)  # that of the next block
    text = models.TextField()
    types = ArrayField(models.IntegerField())
    ttls = ArrayField(models.IntegerField())  # each once, sorted
    has_comments = models.BooleanField()

    class Meta:
        indexes = [
            # Whoever writes many texts sorts them into the index at the end.
            GinIndex(OpClass("text", "gin_trgm_ops"), name="search_text_trigram", gin_pending_list_limit=256 << 10),
            models.Index(fields=["zone", "first_key"], condition=Q(has_comments=True), name="search_text_comments"),
        ]


class SearchProgress(models.Model):
    """The one row that says up to which publication the texts are written."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField()
    last_zone = models.IntegerField(null=True)  # of those that have texts, while they are written for the first time

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="search_progress_single")]


class Complaint(models.Model):
    """What the checks say against an RRset as it is published, the worst; `complaints_upkeep` keeps it, behind what is.

    With `into`, the id of another zone, it is about a name there, and is for who may know about that zone.
    """

    pk = models.CompositePrimaryKey("zone", "owner_key", "type", "into")
    zone = models.ForeignKey(Zone, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    owner_key = models.BinaryField()
    type = models.IntegerField()
    into = models.IntegerField(default=0)  # 0: it is about its own zone alone
    message = MessageField()

    class Meta:
        indexes = [models.Index(fields=["into"], condition=~Q(into=0), name="complaint_into")]


class ComplaintProgress(models.Model):
    """The one row that says up to which publication complaints are kept, and how far the walk over everything is.

    A walk finds what became wrong without a publication of the zone; the first one is that after an upgrade.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField()
    is_complete = models.BooleanField(default=False)  # the first walk has ended
    walk_began_at = models.DateTimeField()
    # The last name that the walk has looked at; null: it has ended.
    zone_id = models.IntegerField(null=True, default=0)
    owner_key = models.BinaryField(default=b"")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="complaint_progress_single")]


class RevisionKind(models.TextChoices):
    CREATE = "create", gettext_lazy("created")
    CHANGE = "change", gettext_lazy("changed")
    DELETE = "delete", gettext_lazy("deleted")
    RESTORE = "restore", gettext_lazy("restored")
    # The zone is there, and no node has it; what brings it to them is a `RESTORE`.
    AWAIT = "await", gettext_lazy("created to be transferred")
    EXPIRE = "expire", gettext_lazy("expired")
    LIST = "list", gettext_lazy("changed, and at no node")


# Kinds after which no node has the zone, in the words of the database.
NOT_SERVED = (
    RevisionKind.DELETE.value,
    RevisionKind.AWAIT.value,
    RevisionKind.EXPIRE.value,
    RevisionKind.LIST.value,
)


class Revision(models.Model):
    """A published, numbered, immutable change of one zone."""

    zone = models.ForeignKey(
        Zone, on_delete=models.DO_NOTHING, related_name="revisions", db_constraint=False, db_index=False
    )
    number = models.IntegerField()
    publication = models.ForeignKey(
        Publication, on_delete=models.DO_NOTHING, related_name="revisions", db_constraint=False
    )
    kind = models.CharField(max_length=8, choices=RevisionKind)
    serial = models.BigIntegerField()
    added = models.IntegerField(default=0)
    changed = models.IntegerField(default=0)
    removed = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "number"], name="revision_number_unique")]


class Change(models.Model):
    """One RRset before and after a revision; null means absent.

    The values are those of `RRset.to_json`. A revision that
    creates or deletes a zone stores no changes: today's state with later
    changes undone says the same. Every other one lists the SOA, because its
    serial moves each time.
    """

    revision = models.ForeignKey(
        Revision, on_delete=models.DO_NOTHING, related_name="changes", db_constraint=False, db_index=False
    )
    name = models.TextField(db_collation="C")
    owner_key = models.BinaryField()
    type = models.IntegerField()
    before: "models.JSONField[Any]" = models.JSONField(null=True)
    after: "models.JSONField[Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["revision", "owner_key", "type"], name="change_unique"),
        ]


class ZoneKey(models.Model):
    """A DNSSEC key of a zone; its id is also that of its row in PowerDNS's files, and is never used twice.

    Whether it signs is in the zone's `Signing`. A key that was deleted is kept without its private part.
    """

    id = models.AutoField(primary_key=True)
    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    algorithm = models.SmallIntegerField()
    bits = models.IntegerField()
    flags = models.SmallIntegerField()  # of its DNSKEY: 257 with the bit SEP, else 256
    tag = models.IntegerField()
    public = models.BinaryField()  # as its DNSKEY has it
    private_encrypted = SecretField(null=True)  # private-key text, by `accounts.vault`
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    deleted_at = models.DateTimeField(null=True)
    # When all servers of the parent were first seen with a DS of it, and when none of them had it any more.
    ds_seen_at = models.DateTimeField(null=True)
    ds_gone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(flags__in=(256, 257)), name="zonekey_flags"),
            models.CheckConstraint(
                condition=Q(private_encrypted__isnull=False) | Q(deleted_at__isnull=False), name="zonekey_whole"
            ),
        ]


class Signing(models.Model):
    """How a zone is signed now (`dnssec.SigningState` as JSON); a zone that never was has none."""

    zone = models.OneToOneField(Zone, on_delete=models.CASCADE, primary_key=True, related_name="signing")
    state: "models.JSONField[Any]" = models.JSONField(default=dict)
    is_signed = models.BooleanField(default=False)
    changed_at = models.DateTimeField()
    # Whether it has signalling names for others (`dnssec.signalling`); False: those that it has are to go.
    signalling = models.BooleanField(null=True)
    # Of a zone that came with its signatures: when the first of them ends.
    signatures_end = models.DateTimeField(null=True)
    # Why the rollover that its policy asks for cannot begin by itself, and since when.
    due_refusal = MessageField(blank=True, default="", db_default="")
    due_refused_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_refused_at"], name="signing_refused", condition=Q(due_refused_at__isnull=False)),
            models.Index(fields=["zone"], name="signing_signalling", condition=Q(signalling__isnull=False)),
            models.Index(
                fields=["signatures_end"], name="signing_signatures_end", condition=Q(signatures_end__isnull=False)
            ),
            models.Index(fields=["zone"], name="signing_paused", condition=Q(state__has_key="paused")),
            models.Index(fields=["zone"], name="signing_due_nsec3", condition=Q(state__has_key="due_nsec3")),
        ]


class SigningChange(models.Model):
    """What a revision did to a zone's `Signing`: the state before and after it; null: there was none."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    revision_number = models.IntegerField()
    before: "models.JSONField[Any]" = models.JSONField(null=True)
    after: "models.JSONField[Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["zone", "revision_number"], name="signing_change_unique"),
        ]


class Rollover(models.Model):
    """An exchange of a zone's keys that is under way, or was (`dnssec.rollover`): where it stands, and what was seen.

    Times from `clock` on are those of its own clock (`rollover.steady`), but for `looked_at` and what people see.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="rollovers", db_index=False)
    kind = models.CharField(max_length=16)
    step = models.CharField(max_length=16)
    is_emergency = models.BooleanField(default=False)
    old_keys = ArrayField(models.IntegerField())
    new_keys = ArrayField(models.IntegerField(), default=list)
    old_ds = ArrayField(models.TextField(), default=list)
    new_ds = ArrayField(models.TextField(), default=list)
    # What the zone asked its parent for before it asked to be insecure.
    cds_before = models.CharField(max_length=20, default="")
    cdnskey_before = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    step_revision = models.IntegerField()  # what every node and secondary has to answer with
    step_at = models.DateTimeField()
    # What people see: what it waits for, not before when, since when, and what the parent has to be told.
    waits_for = MessageField(default="")
    earliest = models.DateTimeField(null=True)
    waits_since = models.DateTimeField()
    late = ArrayField(models.TextField(), default=list)  # names of nodes
    late_secondaries = ArrayField(models.TextField(), default=list, db_default=[])  # their names
    add_ds = ArrayField(models.TextField(), default=list)
    remove_ds = ArrayField(models.TextField(), default=list)
    parent_silent = MessageField(default="")
    is_stuck = models.BooleanField(default=False)
    # What was seen.
    clock = models.DateTimeField()
    looked_at = models.DateTimeField()
    epoch = models.UUIDField()
    answered_since = models.DateTimeField(null=True)  # every node
    secondaries_since = models.DateTimeField(null=True)  # and every secondary, with the step
    goals: "models.JSONField[Any]" = models.JSONField(default=dict)  # rollover.Goal → since when
    parent_at = models.DateTimeField()  # when all servers of the parent were asked last, by the clock
    ds_ttl = models.BigIntegerField(null=True)
    # Of the name servers of a zone that others sign too: which lack the new keys, or why that is not known; and when
    # they were asked.
    has_other_signers = models.BooleanField(default=False)
    signers_lack = MessageField(default="")
    signers_at = models.DateTimeField(null=True)
    record_ttl = models.BigIntegerField()
    key_ttl = models.BigIntegerField()
    ttls_revision = models.IntegerField()  # up to which revision these TTLs are known
    ended_at = models.DateTimeField(null=True)
    is_cancelled = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["zone"], condition=Q(ended_at=None), name="rollover_open_once"),
        ]
        indexes = [models.Index(fields=["zone", "-id"], name="rollover_of_zone")]


class AcceptedBreak(models.Model):
    """Somebody wants this publication although a zone does not validate after it: the publisher lets it pass."""

    publication = models.OneToOneField(
        Publication, primary_key=True, on_delete=models.CASCADE, related_name="accepted_break"
    )
    accepted_at = models.DateTimeField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField()


class Draft(models.Model):
    """Unpublished operations, over any number of zones: those that somebody works in, or those put aside with a name.
    Or those that their owner discarded, for a while: without a name, and in nobody's hands.

    `author` is who works in it now: one draft at most for each person, and nobody where it is put aside. One with a
    name has an owner, in whosever hands it is. `key` is its address; `named_drafts` writes all but operations.
    """

    author = models.OneToOneField(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="draft")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    key = models.UUIDField(default=uuid4, db_default=RandomUUID(), unique=True, editable=False)
    is_by_link = models.BooleanField(default=False, db_default=False)  # read by who has the address and sees its zones
    # Ids of all in whose hands it was, and what came into it: who may have edited it does not approve it.
    worked_in = ArrayField(models.IntegerField(), default=list, db_default=[])
    changed_at = models.DateTimeField()
    discarded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], condition=~Q(name=""), name="draft_name_unique"),
            models.CheckConstraint(
                condition=Q(author__isnull=False, name="", owner=None, discarded_at=None)
                | (Q(owner__isnull=False, discarded_at=None) & ~Q(name=""))
                | Q(author=None, name="", owner__isnull=False, discarded_at__isnull=False),
                name="draft_named_or_in_hand",
            ),
        ]


class DraftShare(models.Model):
    """Somebody, or each member of a team, may read a draft with a name; with `may_edit`, also work in it."""

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    may_edit = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "user"], name="draftshare_user_unique"),
            models.UniqueConstraint(fields=["draft", "team"], name="draftshare_team_unique"),
            models.CheckConstraint(
                condition=Q(user__isnull=False, team=None) | Q(user=None, team__isnull=False),
                name="draftshare_one_receiver",
            ),
        ]


class Operation(models.Model):
    """One RRset as its editor drafts it (null: deleted), and as it was when the edit began.

    Publish compares `base` with what the zone holds by then: equal means apply,
    different means a conflict that shows base, theirs and mine.
    """

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="operations")
    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    name = models.TextField(db_collation="C")
    owner_key = models.BinaryField()
    type = models.IntegerField()
    base: "models.JSONField[Any]" = models.JSONField(null=True)
    wanted: "models.JSONField[Any]" = models.JSONField(null=True)
    base_revision = models.IntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "zone", "owner_key", "type"], name="operation_unique"),
        ]


class ZoneRule(models.Model):
    """What holds for a zone, for those with a tag, for those of a team, or for all; `publish_rules` writes it."""

    zone = models.ForeignKey(Zone, null=True, on_delete=models.CASCADE, related_name="+")
    tag = models.TextField(blank=True, default="")
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    reason = models.TextField()
    placed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    placed_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason}"

    @property
    def scope(self) -> str:
        """For which zones it holds, for people."""
        if self.zone is not None:
            return self.zone.name
        if self.tag:
            return gettext("zones tagged {tag}").format(tag=self.tag)
        if self.team is not None:
            return gettext("zones of {team}").format(team=self.team.name)
        return gettext("every zone")

    def covers(self, zone: Zone) -> bool:
        """Whether it holds for this zone."""
        if self.zone_id is not None:
            return self.zone_id == zone.pk
        if self.tag:
            return self.tag in zone.tags
        return self.team_id is None or self.team_id == zone.team_id


_OF_ONE_SCOPE = (
    Q(zone=None, tag="", team=None)
    | Q(zone__isnull=False, tag="", team=None)
    | (Q(zone=None, team=None) & ~Q(tag=""))
    | Q(zone=None, tag="", team__isnull=False)
)


class ApprovalRule(ZoneRule):
    """Changes of these zones are published when so many others approve, and say a ticket where one is asked for.

    They come from members of the team, and from those whose role is this one or a higher one; from administrators
    where neither is said.
    """

    needed = models.SmallIntegerField()
    types = ArrayField(models.IntegerField(), default=list)  # only if one of these changes; empty: any
    min_changes = models.IntegerField(default=1)  # only from so many changed RRsets of a zone on
    approver_team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    approver_role = models.CharField(max_length=16, blank=True, default="")
    tokens = models.ManyToManyField("accounts.Token", related_name="+")  # who publish without
    ticket = models.TextField(blank=True, default="")  # as `ticket_patterns` reads it; empty: none is asked for
    ticket_link = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_OF_ONE_SCOPE, name="approvalrule_one_scope"),
            models.CheckConstraint(condition=Q(needed__gte=0, needed__lte=3), name="approvalrule_needed"),
        ]


class Freeze(ZoneRule):
    """Nothing of these zones is published from one time to another: once, or again and again.

    `repeats` is an RFC 5545 RRULE, or empty; it counts from `starts_at` by the clocks of `time_zone`.
    """

    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    repeats = models.TextField(blank=True, default="")
    time_zone = models.CharField(max_length=64, default="UTC")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_OF_ONE_SCOPE, name="freeze_one_scope"),
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="freeze_ends_after_start"),
        ]


class WhenSilent(models.TextChoices):
    """What becomes of a publication where a hook gives no answer that counts."""

    REFUSE = "refuse", gettext_lazy("refused")
    PASS = "pass", gettext_lazy("published, which the audit log says")


class PublishHook(ZoneRule):
    """A URL that is asked before these zones are published, and may say no; `webhooks.publish_hooks` writes it."""

    name = models.CharField(max_length=40, blank=True, default="", db_default="")
    url = models.TextField()  # for those alone who may govern its zones
    secret = SecretField()  # `vault.encrypt_secret` of "whsec_…"
    # After a rotation both sign, until this time.
    old_secret = SecretField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    seconds = models.SmallIntegerField()  # so long an answer is waited for
    when_silent = models.CharField(max_length=6, choices=WhenSilent)
    # Counts changes of what is above but the secret: what it answered before one of them does not count after it.
    version = models.IntegerField(default=1, db_default=1)
    # How it answered last, and since when, how often and why it has not: `hook_health` writes these.
    questioned_at = models.DateTimeField(null=True)
    ms = models.FloatField(null=True)  # of its last answer
    failing_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0, db_default=0)
    error = MessageField(blank=True, default="", db_default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_OF_ONE_SCOPE, name="publishhook_one_scope"),
            models.CheckConstraint(condition=Q(seconds__gte=1, seconds__lte=10), name="publishhook_seconds"),
        ]

    @property
    def called(self) -> str:
        """What people call it who may not see its URL."""
        return f"“{self.name}”" if self.name else gettext("for {scope}").format(scope=self.scope)


class HookReply(models.Model):
    """What a publish hook answered about a publication or a test, the newest of each hook; `hook_health` writes it."""

    class Word(models.TextChoices):
        YES = "yes", gettext_lazy("yes")
        NO = "no", gettext_lazy("no")
        SILENT = "silent", gettext_lazy("no answer")

    hook = models.ForeignKey(PublishHook, on_delete=models.CASCADE, related_name="replies", db_index=False)
    at = models.DateTimeField()
    word = models.CharField(max_length=6, choices=Word)
    reason = MessageField(blank=True)  # its own, or what is wrong, which may name its host
    ticket = models.TextField(blank=True)
    ms = models.FloatField()
    zones = models.IntegerField()  # that it was asked about
    is_test = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["hook", "-id"], name="reply_of_hook")]


class RequestState(models.TextChoices):
    OPEN = "open", gettext_lazy("open")
    PUBLISHED = "published", gettext_lazy("published")
    DECLINED = "declined", gettext_lazy("declined")
    WITHDRAWN = "withdrawn", gettext_lazy("withdrawn")
    PAST_RULES = "past-rules", gettext_lazy("published past approval")


class PublishRequest(models.Model):
    """A draft with a name that is to be published once others approve, or at a time; it outlives the draft.

    `publish_requests` writes it.
    """

    key = models.UUIDField(default=uuid4, unique=True, editable=False)
    draft = models.OneToOneField(Draft, null=True, on_delete=models.SET_NULL, related_name="request")
    name = models.CharField(max_length=80)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    by_token = models.BooleanField(default=False)  # though the token may be gone
    asked_at = models.DateTimeField()
    reason = models.TextField(blank=True)
    accepted = ArrayField(models.TextField(), default=list)  # codes of warnings that its author accepted
    confirmed = models.BooleanField(default=False)  # what the guard would hold
    zone_ids = ArrayField(models.IntegerField())  # at the time when it was asked
    state = models.CharField(max_length=10, choices=RequestState, default=RequestState.OPEN)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    publication = models.ForeignKey(Publication, null=True, on_delete=models.SET_NULL, related_name="requests")
    # When it publishes itself, if it was told to; what stood in its way the last time.
    publish_at = models.DateTimeField(null=True)
    tried_at = models.DateTimeField(null=True)
    refusal = MessageField(blank=True, default="")

    class Meta:
        indexes = [
            GinIndex(fields=["zone_ids"], name="request_zones"),
            models.Index(
                fields=["publish_at"], condition=Q(state="open", publish_at__isnull=False), name="request_due"
            ),
            models.Index(fields=["state", "-id"], name="request_state"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        """Whether it can still be published: nobody ended it, and its draft is there."""
        return self.state == RequestState.OPEN and self.draft_id is not None


class Verdict(models.TextChoices):
    APPROVE = "approve", gettext_lazy("approved")
    DECLINE = "decline", gettext_lazy("declined")
    COMMENT = "comment", gettext_lazy("commented")


class RequestNote(models.Model):
    """What somebody said of a request: a verdict about what the draft was then, or a comment.

    `seen` has a digest of each RRset that changes, by zone id, name and type: what moved since is what differs.
    """

    request = models.ForeignKey(PublishRequest, on_delete=models.CASCADE, related_name="notes")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    at = models.DateTimeField()
    verdict = models.CharField(max_length=8, choices=Verdict)
    text = models.TextField(blank=True, default="")
    seen: "models.JSONField[Any]" = models.JSONField(default=dict)


class ZoneDefaults(models.Model):
    """What the form of new zones begins with; one row, which `zone_defaults` writes, or none: what the settings say."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    nameservers = ArrayField(models.TextField())
    hostmaster = models.TextField()
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="zonedefaults_single")]


class Expiry(models.Model):
    """When a published RRset is to be removed, and who said so; `expiry` writes it, and changes but refusals.

    A trigger (migration 0031) lets it go with its RRset. It is not in the RRset's row, so publications leave it alone.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    owner_key = models.BinaryField()
    type = models.IntegerField()
    name = models.TextField(db_collation="C")
    remove_at = models.DateTimeField(db_index=True)
    set_at = models.DateTimeField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    by_token = models.BooleanField(default=False)  # though the token may be gone
    # Why it could not be removed, and when that was tried last.
    refusal = MessageField(blank=True, default="")
    tried_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "owner_key", "type"], name="expiry_unique")]


class ViewPage(models.TextChoices):
    """The pages of which there are saved views."""

    ZONES = "zones", gettext_lazy("zones")
    SEARCH = "search", gettext_lazy("search")
    RECORDS = "records", gettext_lazy("records of a zone")


class SavedView(models.Model):
    """A search with its order under a name, of a person, and perhaps for a team of theirs; `saved_views` writes it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    page = models.CharField(max_length=7, choices=ViewPage)
    zone = models.ForeignKey(Zone, null=True, on_delete=models.CASCADE, related_name="+")  # of records; null: any zone
    name = models.CharField(max_length=60)
    terms: "models.JSONField[Any]" = models.JSONField(default=dict)  # parameters of the page's URL, not empty
    look: "models.JSONField[Any]" = models.JSONField(null=True)  # {"hidden": [column], "dense": bool}; null: each one's
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(F("owner"), F("page"), Lower("name"), name="saved_view_name_unique"),
            models.CheckConstraint(condition=Q(zone=None) | Q(page="records"), name="saved_view_zone_of_records"),
        ]

    def __str__(self) -> str:
        return self.name


class ZoneMarks(models.Model):
    """Zones of a person's own, by id, newest first: bounded lists that `zone_marks` writes. Some may be gone."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    pinned = ArrayField(models.IntegerField(), default=list)
    recent = ArrayField(models.IntegerField(), default=list)  # opened last


class DnssecPolicy(models.Model):
    """How zones are to be signed, for those that it is attached to; `dnssec.policies` writes it.

    `nsec3` is `[iterations, salt, opt_out, narrow]` as in a `SigningState`; null: NSEC.
    """

    name = models.CharField(max_length=64)
    algorithm = models.SmallIntegerField()
    bits = models.IntegerField(null=True)  # of RSA keys
    split = models.BooleanField(default=False)  # KSK and ZSK in place of one CSK
    nsec3: "models.JSONField[Any]" = models.JSONField(null=True)
    cds = models.CharField(max_length=16, blank=True, default="")  # digest types, as "2,4"
    cdnskey = models.BooleanField(default=False)
    zsk_days = models.IntegerField(null=True)  # null: no lifetime
    ksk_days = models.IntegerField(null=True)  # of a KSK or CSK
    automatic = models.BooleanField(default=False)  # rollovers that are due begin by themselves
    signs_new_zones = models.BooleanField(default=False)  # what is created, but not imported, begins signed
    first_ds = models.BooleanField(default=False)  # the rollover to the first DS of a signed zone begins by itself
    is_default = models.BooleanField(default=False)  # of all zones that no attachment is about
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), name="dnssec_policy_name_unique"),
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="dnssec_policy_default"),
        ]

    def __str__(self) -> str:
        return self.name


class PolicyAttachment(models.Model):
    """A policy is for one zone, for the zones of a team, or for those with a tag."""

    policy = models.ForeignKey(DnssecPolicy, on_delete=models.PROTECT, related_name="attachments")
    zone = models.OneToOneField(Zone, null=True, on_delete=models.CASCADE, related_name="+")
    team = models.OneToOneField("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    tag = models.TextField(null=True, unique=True)  # noqa: DJ001  (null keeps it unique)
    attached_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(zone__isnull=False, team=None, tag=None)
                | Q(zone=None, team__isnull=False, tag=None)
                | Q(zone=None, team=None, tag__isnull=False),
                name="policy_attachment_to_one",
            ),
        ]


class RunState(models.TextChoices):
    """Where a run over many zones is."""

    WAITING = "waiting", gettext_lazy("waiting for a worker")
    RUNNING = "running", gettext_lazy("running")
    DONE = "done", gettext_lazy("done")
    CANCELLED = "cancelled", gettext_lazy("cancelled")
    FAILED = "failed", gettext_lazy("failed")


UNFINISHED_STATES = (RunState.WAITING, RunState.RUNNING)


class ZoneRun(models.Model):
    """A run over many zones, or a dry run of it; `run_turns` has it take its turns.

    Zones are taken in the order of their ids; `cursor` is the last one that is done.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    # The token by which the author acted, if it was one; and from where, see accounts.audit.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    by_token = models.BooleanField(default=False)
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True, default="")
    created_at = models.DateTimeField()
    dry_run = models.BooleanField()
    dry_run_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=9, choices=RunState, default=RunState.WAITING)
    failure = MessageField(blank=True, default="")
    cursor = models.IntegerField(default=0)
    total = models.IntegerField(default=0)
    done = models.IntegerField(default=0)
    counts: "models.JSONField[Any]" = models.JSONField(default=dict)  # {what was found: zones}
    last_sequence = models.BigIntegerField(default=0)
    # Of all its publications, so that the run can say which of them were taken back.
    sequences = ArrayField(models.BigIntegerField(), default=list, db_default=[])
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # Given by the form: the same form sent twice is one run.
    form_id = models.UUIDField(null=True, unique=True)

    class Meta:
        abstract = True


class PolicyRun(ZoneRun):
    """Zones are signed as their policies say, or a dry run says what that would do; `dnssec.policy_runs` writes it.

    It counts and lists zones by `policy.Act`.
    """

    policy = models.ForeignKey(DnssecPolicy, null=True, on_delete=models.CASCADE, related_name="+")  # its zones only
    search = models.TextField(blank=True, default="")  # as in the list of zones
    fingerprint = models.CharField(max_length=64)  # of the policies, which stay as they are while it runs

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="policyrun_author"),
            models.Index(fields=["state"], name="policyrun_unfinished", condition=Q(state__in=UNFINISHED_STATES)),
        ]


class PolicyRunZone(models.Model):
    """What a run found or did in a zone; of each act at most `policy_runs.MOST_LISTED` are listed, and all counted."""

    run = models.ForeignKey(PolicyRun, on_delete=models.CASCADE, related_name="zones")
    zone_name = models.TextField(db_collation="C")
    act = models.CharField(max_length=9)  # a `policy.Act`
    message = MessageField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["run", "act", "id"], name="policyrunzone_act")]


class TemplateKind(models.TextChoices):
    """What a template is for."""

    ZONE = "zone", gettext_lazy("whole zones")
    SNIPPET = "snippet", gettext_lazy("records at a name")
    SERVERS = "servers", gettext_lazy("name servers")  # the NS of zones, and who is named in their SOA


class ZoneTemplate(models.Model):
    """Records with variables, of a team or (null) of the whole panel; `transfer.zone_templates` writes it."""

    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=7, choices=TemplateKind)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    description = models.CharField(max_length=500, blank=True)
    version = models.IntegerField(default=1)  # the newest
    # Of name servers: new zones of the team, or (of the panel's) of teams without one and of none, begin with it.
    is_default = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), condition=Q(team=None), name="zone_template_name_of_panel"),
            models.UniqueConstraint(Lower("name"), F("team"), name="zone_template_name_of_team"),
            models.UniqueConstraint(
                fields=["team"], condition=Q(is_default=True), nulls_distinct=False, name="zone_template_default"
            ),
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(kind="servers"), name="zone_template_default_kind"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class TemplateVersion(models.Model):
    """What a template said from some time on: zone-file text, and its variables. Never changed."""

    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.IntegerField()  # from 1
    text = models.TextField()
    variables: "models.JSONField[Any]" = models.JSONField(default=list)  # `template_text.Variable` as JSON
    servers: "models.JSONField[Any]" = models.JSONField(null=True)  # `server_sets.Servers`, which the text says too
    note = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "number"], name="template_version_unique")]


class TemplateLink(models.Model):
    """A zone is kept in step with a template: it has what this version makes of these values.

    `before` lists `{"version", "values"}`, or `{}` for nothing, where that was only put into a draft: what the zone may
    have until the draft is published. Null once this version was published for the zone by the panel itself.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="links", db_index=False)
    version = models.IntegerField()
    values: "models.JSONField[Any]" = models.JSONField(default=dict)  # {variable: what was typed}
    before: "models.JSONField[Any]" = models.JSONField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "zone"], name="template_link_unique")]


class KeptAddresses(models.Model):
    """A and AAAA of name servers' names in this zone are kept those of nodes, in the name of who said so.

    Which names and nodes these are stands in the newest version of the set. `transfer.zone_templates.vanity` writes it.
    """

    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="+", db_index=False)
    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    set_at = models.DateTimeField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    by_token = models.BooleanField(default=False)  # though the token may be gone
    # Why they could not be brought into step, and when that was tried last.
    refusal = MessageField(blank=True, default="")
    tried_at = models.DateTimeField(null=True)
    # What the parent of the zone said when somebody asked: `delegation.Point` as JSON.
    asked_at = models.DateTimeField(null=True)
    points: "models.JSONField[Any]" = MessagesField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "zone"], name="kept_addresses_unique")]


class TemplateRun(ZoneRun):
    """Zones are brought to a version of a template, or a dry run says what that would do; `zone_templates.runs` writes.

    It counts and lists zones by `compare.Outcome`.
    """

    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="runs")
    version = models.IntegerField()
    # Null: the zones that are kept in step. Else those that this finds, as in the list of zones, with these values.
    search = models.TextField(null=True)  # noqa: DJ001  (an empty search finds every zone)
    names = ArrayField(models.TextField(), default=list, db_default=[])  # of zones; empty: what the search finds
    values: "models.JSONField[Any]" = models.JSONField(default=dict)
    keep = models.BooleanField(default=False)  # zones that were found are kept in step from then on
    overwrite = models.BooleanField(default=False)  # what was edited by hand too

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="templaterun_author"),
            models.Index(fields=["state"], name="templaterun_unfinished", condition=Q(state__in=UNFINISHED_STATES)),
        ]


class TemplateRunZone(models.Model):
    """What a run found or did in a zone; of each outcome a bounded number is listed, and all are counted."""

    run = models.ForeignKey(TemplateRun, on_delete=models.CASCADE, related_name="zones")
    zone_name = models.TextField(db_collation="C")
    outcome = models.CharField(max_length=9)  # a `compare.Outcome`
    message = MessageField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["run", "outcome", "id"], name="templaterunzone_outcome")]


class ZoneAct(models.TextChoices):
    """What a run does to each of its zones."""

    ADD_TAGS = "add-tags", gettext_lazy("add tags")
    REMOVE_TAGS = "remove-tags", gettext_lazy("remove tags")
    TEAM = "team", gettext_lazy("give to a team")
    DELETE = "delete", gettext_lazy("move to the trash")
    POLICY = "policy", gettext_lazy("give a DNSSEC policy")
    RESTORE = "restore", gettext_lazy("restore from the trash")


class ChangeRun(ZoneRun):
    """Many zones are changed alike, or a dry run says which would be; `change_runs` writes it.

    A run for good is over the zones that its dry run found to be changed, one that takes another back over those that
    this one changed. It counts and lists zones by `change_runs.Outcome`.
    """

    act = models.CharField(max_length=11, choices=ZoneAct)
    tags = ArrayField(models.TextField(), default=list)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    policy = models.ForeignKey(DnssecPolicy, null=True, on_delete=models.CASCADE, related_name="+")
    reason = models.TextField(blank=True, default="")
    search = models.TextField(blank=True, default="")  # as in the list of zones
    names = ArrayField(models.TextField(), default=list)  # of zones; empty: what the search finds
    undo_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="undos")

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="changerun_author"),
            models.Index(fields=["state"], name="changerun_unfinished", condition=Q(state__in=UNFINISHED_STATES)),
        ]


class ChangeRunZone(models.Model):
    """What a run found or did in a zone: every one that it changes, and of refused ones at most some.

    `before` has what is needed to take it back; `revision` is that at which a dry run saw the zone.
    """

    run = models.ForeignKey(ChangeRun, on_delete=models.CASCADE, related_name="zones")
    zone_id = models.IntegerField()
    zone_name = models.TextField(db_collation="C")
    outcome = models.CharField(max_length=7)
    message = MessageField(blank=True)
    revision = models.IntegerField()
    before: "models.JSONField[Any]" = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "zone_id"], name="changerunzone_zone")]
        indexes = [models.Index(fields=["run", "outcome", "id"], name="changerunzone_outcome")]


class AuditLink(models.Model):
    """An act's place in the audit log's chain: what it said when it was linked, and the hash. Never changed."""

    number = models.BigIntegerField(primary_key=True)  # from 1, without gaps
    kind = models.CharField(max_length=11)  # audit_chain.ENTRY or PUBLICATION
    ref = models.BigIntegerField()  # the entry's id, or the sequence
    content = models.BinaryField()
    parts: "models.JSONField[Any]" = models.JSONField(default=dict)  # see audit_contents
    chain = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "ref"], name="audit_link_once")]

    @property
    def hash(self) -> str:
        """Hexadecimal, as people keep it."""
        return bytes(self.chain).hex()


class AuditChain(models.Model):
    """The one row that says how far the chain has come, and what the last check of it found."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField(default=0)  # publications up to here are linked
    # Audit entries up to here are linked, or will never be: see audit_links.
    floor = models.BigIntegerField(default=0)
    next_floor = models.BigIntegerField(default=0)
    next_floor_after = models.BigIntegerField(null=True)  # once every transaction before this one has ended
    asked_at = models.DateTimeField(null=True)  # when somebody asked for a check that has not been made yet
    checked_at = models.DateTimeField(null=True)
    checked_to = models.BigIntegerField(default=0)
    faults: "models.JSONField[Any]" = MessagesField(default=list)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="audit_chain_single")]
