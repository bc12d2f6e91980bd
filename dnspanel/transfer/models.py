"""Models of imports, exports, and comparisons with an old server. They only store and constrain data.

The modules in `imports` write imports, `export_jobs` writes exports, and `server_comparison` writes comparisons.
"""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField, MessagesField
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models import UNFINISHED_STATES, RunState


class State(models.TextChoices):
    """The state of an import. In ACTIVE_STATES, workers continue without a person's action."""

    UPLOADING = "uploading", _("waiting for the source")
    SCANNING = "scanning", _("scanning")
    CHOOSING = "choosing", _("waiting for options")
    PLANNING = "planning", _("dry run")
    PLANNED = "planned", _("ready to apply")
    APPLYING = "applying", _("applying")
    DONE = "done", _("done")
    UNDOING = "undoing", _("undoing")
    UNDONE = "undone", _("undone")
    CANCELLED = "cancelled", _("cancelled")
    FAILED = "failed", _("failed")


ACTIVE_STATES = (State.SCANNING, State.PLANNING, State.APPLYING, State.UNDOING)
ENDED_STATES = (State.DONE, State.UNDONE, State.CANCELLED, State.FAILED)


class SourceKind(models.TextChoices):
    FILES = "files", _("zone files")
    PASTE = "paste", _("pasted zone file")
    AXFR = "axfr", _("zone transfer")
    POWERDNS_API = "powerdns-api", _("PowerDNS HTTP API")
    POWERDNS_SQL = "powerdns-sql", _("PowerDNS database")
    POWERDNS_DUMP = "powerdns-dump", _("PowerDNS database dump")
    POWERDNS_LMDB = "powerdns-lmdb", _("PowerDNS LMDB")
    CSV = "csv", "CSV"
    JSON = "json", "JSON"
    RETRY = "retry", _("corrected zones of an import")


class ImportJob(models.Model):
    """One import, from its source to its report."""

    title = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    # The token that the author used, if any.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    # The origin of the last action on the import, for the audit entries of its publications; see accounts.audit.
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True, default="", db_default="")
    session = models.CharField(max_length=32, blank=True, default="", db_default="")
    created_at = models.DateTimeField()
    source = models.CharField(max_length=16, choices=SourceKind)
    # The source's parameters, without secrets: see the module of each source.
    parameters: "models.JSONField[Any]" = models.JSONField(default=dict)
    # Passwords and keys of the source as encrypted JSON, deleted when the source has been read.
    secret = SecretField(null=True)
    options: "models.JSONField[Any]" = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=State, default=State.UPLOADING)
    paused = models.BooleanField(default=False)
    failure = MessageField(blank=True)  # the reason why it failed or waits
    phase_at = models.DateTimeField()  # when the state was entered
    phase_begun = models.BooleanField(default=False)  # True after the first step of a phase, which is done only once
    ended_at = models.DateTimeField(null=True)
    upload_bytes = models.BigIntegerField(default=0, db_default=0)  # of the uploaded files
    # The progress of reading the source: the spooled items, and the amount in the source's unit.
    items = models.IntegerField(default=0)
    read_total = models.BigIntegerField(default=0)
    read_done = models.BigIntegerField(default=0)
    read_unit = models.CharField(max_length=8, default="bytes")
    read_ended = models.BooleanField(default=False)
    scan_seconds = models.FloatField(default=0)
    plan_seconds = models.FloatField(default=0)
    apply_seconds = models.FloatField(default=0)
    # The form's id, so that a form sent twice creates one import.
    form_id = models.UUIDField(null=True, unique=True)
    retry_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="retries")
    # The last sequence that the import published, for the wait until the nodes confirm it.
    last_sequence = models.BigIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["state"], name="importjob_active", condition=models.Q(state__in=ACTIVE_STATES))]


class PieceState(models.TextChoices):
    SPOOLED = "spooled", _("read")
    SCANNED = "scanned", _("scanned")
    PLANNED = "planned", _("planned")
    APPLIED = "applied", _("applied")
    UNDONE = "undone", _("undone")


class ImportPiece(models.Model):
    """A part of an import, with up to 1,200 zones. In each step of the import, a worker claims one piece at a time."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="pieces")
    number = models.IntegerField()  # from 1
    state = models.CharField(max_length=8, choices=PieceState, default=PieceState.SPOOLED)
    items = models.IntegerField()  # items of the source up to the end of this piece
    documents = models.IntegerField()
    zones = models.IntegerField(default=0)
    records = models.IntegerField(default=0)
    rrsets = models.IntegerField(default=0)
    generated = models.IntegerField(default=0)
    errors = models.IntegerField(default=0)  # zones that cannot be imported
    # The effects of publishing. The scan counts new zones, and the dry run counts all zones.
    creates = models.IntegerField(default=0)
    undecided = models.IntegerField(default=0)  # zones whose action depends on a comparison
    changes = models.IntegerField(default=0)
    added = models.BigIntegerField(default=0)
    changed = models.BigIntegerField(default=0)
    removed = models.BigIntegerField(default=0)
    values_removed = models.BigIntegerField(default=0, db_default=0)
    waiting = models.IntegerField(default=0)  # zones that changed after the dry run
    choices: "models.JSONField[Any]" = models.JSONField(default=dict)  # {zone: choice} during another scan
    spool_size = models.BigIntegerField(default=0, db_default=0)
    stage_size = models.BigIntegerField(default=0)
    stage_checksum = models.BigIntegerField(default=0)  # CRC-32
    created_in = models.BigIntegerField(null=True)  # sequence of the publication of its new zones
    changed_in = models.BigIntegerField(null=True)  # sequence of the publication of its changed zones
    created_undone_in = models.BigIntegerField(null=True)
    changed_undone_in = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="importpiece_number")]


class Action(models.TextChoices):
    """The action that the import takes for a zone, or the reason why it doesn't take one."""

    CREATE = "create", _("create")
    UNION = "union", _("merge")  # add the source's values
    RRSETS = ("rrsets", _("replace RRsets"))  # replace only the RRsets that the source has
    REPLACE = "replace", _("replace zone")
    SKIP = "skip", _("skip")
    NOTHING = "nothing", _("nothing to change")
    FAILED = "failed", _("cannot be imported")
    DUPLICATE = "duplicate", _("duplicate in the source")
    WAITING = "waiting", _("changed since the dry run")


# The actions that change an existing zone.
CHANGING_ACTIONS = (Action.UNION, Action.RRSETS, Action.REPLACE)


class ImportZone(models.Model):
    """One zone of an import, with the offsets of its content in its piece's spool and stage files."""

    # No constraint, because it would cost a query for each of many zones. The indexes below serve the key.
    job = models.ForeignKey(
        ImportJob, on_delete=models.CASCADE, related_name="zones", db_constraint=False, db_index=False
    )
    piece = models.IntegerField()
    name = models.TextField(db_collation="C")
    path = models.TextField()
    # The id of the existing zone, or the future id of a new zone.
    zone_id = models.IntegerField()
    base_revision = models.IntegerField(default=0)  # the zone's revision when it was compared, or 0 for none
    serial = models.BigIntegerField(default=0)
    records = models.IntegerField(default=0)
    rrsets = models.IntegerField(default=0)
    errors = models.IntegerField(default=0)
    warnings = models.IntegerField(default=0)
    choice = models.CharField(max_length=8, blank=True)  # one of `import_jobs.CHOICES`; "" for the job's options
    action = models.CharField(max_length=9, choices=Action, blank=True)  # "" before the dry run
    added = models.IntegerField(default=0)
    changed = models.IntegerField(default=0)
    removed = models.IntegerField(default=0)
    values_removed = models.IntegerField(default=0, db_default=0)  # in removed and in changed RRsets
    document_offset = models.BigIntegerField(default=0)  # in the spool file
    rows_offset = models.BigIntegerField(default=0)  # in the stage file
    rows_size = models.BigIntegerField(default=0)
    ops_offset = models.BigIntegerField(default=0)
    ops_size = models.BigIntegerField(default=0)
    op_count = models.IntegerField(default=0)
    digest = models.BinaryField(default=bytes)
    undone = models.CharField(max_length=8, blank=True)  # "", "undone", or "kept" if it has changed since then

    class Meta:
        indexes = [
            models.Index(fields=["job", "name"], name="importzone_name"),
            models.Index(fields=["job", "piece"], name="importzone_piece"),
            models.Index(fields=["job", "action", "name"], name="importzone_action"),
        ]


class ImportFault(models.Model):
    """A stored `documents.SourceFault`. A job stores at most `import_limits.MOST_FAULTS` and only counts the rest."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="faults")
    piece = models.IntegerField()
    zone = models.TextField(blank=True, db_collation="C")
    path = models.TextField()
    line = models.IntegerField()
    column = models.IntegerField()
    source = models.TextField(blank=True)
    reason = MessageField()
    fix = models.TextField(blank=True)
    severity = models.CharField(max_length=8)
    code = models.CharField(max_length=40)
    by_source = models.BooleanField(default=False)  # True if found while the source was read, False if by the parser

    class Meta:
        indexes = [models.Index(fields=["job", "severity", "id"], name="importfault_severity")]


class KeptKind(models.TextChoices):
    METADATA = "metadata", _("metadata")
    KEY = "key", _("DNSSEC key")
    COMMENT = "comment", _("comment")
    TSIG = "tsig", _("TSIG key")


class KeptItem(models.Model):
    """Data from an import's source that zones in the panel can't store yet. Secret keys are encrypted."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="kept")
    zone = models.TextField(blank=True, db_collation="C")
    kind = models.CharField(max_length=8, choices=KeptKind)
    name = models.TextField()  # a metadata kind, flags and algorithm of a key, or owner and type of a comment
    value = SecretField()  # UTF-8 text; for keys encrypted with `vault.encrypt_secret`

    class Meta:
        indexes = [models.Index(fields=["job", "zone"], name="keptitem_zone")]


class ExportFormat(models.TextChoices):
    BIND = "bind", _("BIND zone files")
    JSON = "json", "JSON"
    CSV = "csv", "CSV"
    QUERIES = "queries", _("query file")


class ExportJob(models.Model):
    """An export to a file, which is kept for a day.

    Written by `exports.export_jobs`, which stores the file in `exports_directory`.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    # The token that the author used, if any.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    # The origin of the request, for the audit entry of exported keys; see accounts.audit.
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True, default="", db_default="")
    session = models.CharField(max_length=32, blank=True, default="", db_default="")
    created_at = models.DateTimeField()
    format = models.CharField(max_length=8, choices=ExportFormat)
    selection: "models.JSONField[Any]" = models.JSONField(default=dict)  # an `exported_zones.Selection`
    options: "models.JSONField[Any]" = models.JSONField(default=dict)  # a `query_file.QueryOptions`, for QUERIES
    # The passphrase that seals the private keys, encrypted. It is deleted when the export has ended.
    secret = SecretField(null=True)
    state = models.CharField(max_length=9, choices=RunState, default=RunState.WAITING)
    failure = MessageField(blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    zones_total = models.IntegerField(default=0)
    zones = models.IntegerField(default=0)
    records = models.BigIntegerField(default=0)  # lines, for QUERIES
    keys = models.IntegerField(default=0, db_default=0)  # sealed private DNSSEC keys in the file
    keyed_zones = ArrayField(models.IntegerField(), default=list, db_default=[])  # ids of the keys' zones
    size = models.BigIntegerField(default=0)  # of the finished file, in bytes
    # When the file was deleted, a day after it was finished.
    forgotten_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="exportjob_author"),
            models.Index(
                fields=["state"], name="exportjob_unfinished", condition=models.Q(state__in=UNFINISHED_STATES)
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(secret=None) | models.Q(state__in=UNFINISHED_STATES), name="exportjob_secret_gone"
            )
        ]


class CutoverCheck(models.Model):
    """A comparison of an old server's answers with the nodes' answers. Written by `cutover.server_comparison`."""

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    # The token that the author used, if any.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    # The import whose zones are compared, or null for the zones of the selection.
    job = models.ForeignKey(ImportJob, null=True, on_delete=models.CASCADE, related_name="checks")
    selection: "models.JSONField[Any]" = models.JSONField(default=dict)
    server = models.TextField()  # address of the old server
    port = models.IntegerField(default=53)
    resolver = models.TextField(blank=True)  # address of the resolver that finds the parents; "" for the system's
    resolver_port = models.IntegerField(default=53)
    state = models.CharField(max_length=9, choices=RunState, default=RunState.WAITING)
    failure = MessageField(blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    zones_total = models.IntegerField(default=0)
    zones = models.IntegerField(default=0)
    questions = models.BigIntegerField(default=0)
    differences = models.BigIntegerField(default=0)  # without the expected ones
    expected = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(
                fields=["state"], name="cutovercheck_unfinished", condition=models.Q(state__in=UNFINISHED_STATES)
            )
        ]


class CutoverZone(models.Model):
    """A zone in a comparison, with its numbers of queries and differences, and its delegation checklist."""

    check_run = models.ForeignKey(CutoverCheck, on_delete=models.CASCADE, related_name="compared")
    name = models.TextField(db_collation="C")
    questions = models.IntegerField(default=0)
    differences = models.IntegerField(default=0)
    expected = models.IntegerField(default=0)
    checklist: "models.JSONField[Any]" = MessagesField(default=list)  # of `delegation_checklist.Point`
    open_points = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["check_run", "name"], name="cutoverzone_name")]


class DifferenceKind(models.TextChoices):
    """The kind of a difference. SERIAL and NAMESERVERS are expected in a cut-over."""

    RCODE = "rcode", _("different response code")
    RECORDS = "records", _("different records")
    TTL = "ttl", _("different TTL")
    SILENT = "silent", _("no answer")
    SERIAL = "serial", _("different SOA")
    NAMESERVERS = "nameservers", _("different name servers")


EXPECTED_KINDS = (DifferenceKind.SERIAL, DifferenceKind.NAMESERVERS)


class CutoverDifference(models.Model):
    """A query that the old server and one of the panel's nodes answer differently."""

    check_run = models.ForeignKey(CutoverCheck, on_delete=models.CASCADE, related_name="found")
    zone = models.TextField(db_collation="C")
    name = models.TextField(db_collation="C")
    type = models.IntegerField()
    kind = models.CharField(max_length=11, choices=DifferenceKind)
    node = models.TextField()  # name of the node
    old = models.TextField()
    new = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["check_run", "kind", "id"], name="cutoverdifference_kind")]
