"""Queries for imports, for pages, APIs and the command line. Lists use keyset pagination."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, F, Min, Q, QuerySet, Sum

from dnspanel.accounts.actors.actors import Permission
from dnspanel.database.field_copies import copy_fields
from dnspanel.database.first_rows import first_or
from dnspanel.fleet.reads.node_counts import NodeCounts, count_nodes
from dnspanel.fleet.reads.queries import watched_statuses
from dnspanel.transfer import job_rights, zone_changes
from dnspanel.transfer.documents import Document
from dnspanel.transfer.exports.csv_export import harmless_cell
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import import_jobs, import_plan, scan
from dnspanel.transfer.imports.kept_keys import SIGNATURES
from dnspanel.transfer.models import (
    ACTIVE_STATES,
    CHANGING_ACTIONS,
    Action,
    ImportFault,
    ImportJob,
    ImportPiece,
    ImportZone,
    KeptItem,
    PieceState,
    State,
)
from dnspanel.zones.errors import Unknown
from dnspanel.zones.log import history
from dnspanel.zones.publishing.ready_zones import existing_zones
from dnspanel.zones.rights import access
from replication.dns.rrset import Change

_PUBLISHED = {
    "created": Sum("creates", filter=Q(created_in__isnull=False), default=0),
    "altered": Sum("changes", filter=Q(changed_in__isnull=False), default=0),
}
# The text of a larger zone is not shown on a page.
MOST_TEXT_BYTES = 200_000
MOST_DIFFS = 1_000


def job_for(user: access.Person, pk: int) -> ImportJob:
    """Return this import. Raise Forbidden if the person can't edit zones, or Unknown if they can't see the import."""
    access.require(user, Permission.EDIT)
    return first_or(
        job_rights.jobs_visible_to(user).select_related("retry_of").filter(pk=pk), lambda: Unknown(f"import {pk}")
    )


class JobRow(NamedTuple):
    """A row in the list of imports: an import with its numbers of zones, records, errors and published zones."""

    job: ImportJob
    zones: int = 0
    records: int = 0
    errors: int = 0
    published: int = 0


def jobs_page(user: access.Person, *, before: int | None = None, limit: int = 50) -> list[JobRow]:
    """Return a page of imports, newest first. `before` is the lowest id on the previous page.

    Raise Forbidden if the person isn't allowed to edit zones.
    """
    access.require(user, Permission.EDIT)
    found = job_rights.jobs_visible_to(user).order_by("-pk")
    page = list((found if before is None else found.filter(pk__lt=before))[:limit])
    totals = {
        job: (zones, records, errors, created + altered)
        for job, zones, records, errors, created, altered in ImportPiece.objects.filter(job__in=page)
        .values("job")
        .annotate(Sum("zones"), Sum("records"), Sum("errors"), **_PUBLISHED)
        .values_list("job", "zones__sum", "records__sum", "errors__sum", "created", "altered")
    }
    return [JobRow(job, *totals.get(job.pk, ())) for job in page]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an import's current phase, `done` of `total` in `unit`, and the results so far."""

    state: str
    paused: bool
    failure: str
    done: int
    total: int
    unit: str  # "bytes" or "zones"
    documents: int
    zones: int
    records: int
    errors: int
    generated: int
    applied: int  # zones that were published
    per_second: float  # zones
    seconds: float  # since the phase began
    seconds_left: float | None
    is_active: bool

    @property
    def percent(self) -> int:
        return min(100, self.done * 100 // self.total) if self.total else 0


_DONE_STATES = {
    State.SCANNING: (PieceState.SCANNED, PieceState.PLANNED, PieceState.APPLIED),
    State.PLANNING: (PieceState.PLANNED, PieceState.APPLIED),
    State.APPLYING: (PieceState.APPLIED,),
    State.UNDOING: (PieceState.UNDONE,),
}


def progress(job: ImportJob, *, now: datetime) -> Progress:
    """Return the progress of an import. The query reads only its pieces, which are few even in a large import."""
    state = State(job.state)
    through = Q(state__in=_DONE_STATES.get(state, tuple(PieceState)))
    counts = ImportPiece.objects.filter(job=job).aggregate(
        all_documents=Sum("documents", default=0),
        through=Sum("documents", filter=through, default=0),
        zones=Sum("zones", default=0),
        records=Sum("records", default=0),
        errors=Sum("errors", default=0),
        generated=Sum("generated", default=0),
        **_PUBLISHED,
    )
    done, total, unit = counts["through"], counts["all_documents"], "zones"
    if state == State.SCANNING and not job.read_ended:
        done, total, unit = job.read_done, job.read_total, job.read_unit
    seconds = max(0.0, (now - job.phase_at).total_seconds()) if state in ACTIVE_STATES else 0.0
    per_second = counts["through"] / seconds if seconds > 0.5 else 0.0
    share = done / total if total else 0.0
    return Progress(
        state=state,
        paused=job.paused,
        failure=job.failure,
        done=done,
        total=total,
        unit=unit,
        documents=counts["all_documents"],
        zones=counts["zones"],
        records=counts["records"],
        errors=counts["errors"],
        generated=counts["generated"],
        applied=counts["created"] + counts["altered"],
        per_second=per_second,
        seconds=seconds,
        seconds_left=seconds * (1 - share) / share if share > 0.01 and not job.paused else None,
        is_active=state in ACTIVE_STATES,
    )


@dataclass(frozen=True, slots=True)
class FaultKind:
    """All faults of one kind: their code, severity and count, and the message of the first one."""

    code: str
    severity: str
    count: int
    sample: str


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """The results of the scan. `zones` counts the documents that have been scanned so far."""

    documents: int
    zones: int
    records: int
    generated: int
    new: int
    existing: int
    failed: int
    duplicates: int
    faults: tuple[FaultKind, ...]
    kept: tuple[tuple[str, int], ...]  # (kind, count) of the kept data


def scan_summary(job: ImportJob) -> ScanSummary:
    counts = ImportPiece.objects.filter(job=job).aggregate(
        documents=Sum("documents", default=0),
        zones=Sum("zones", default=0),
        records=Sum("records", default=0),
        generated=Sum("generated", default=0),
        errors=Sum("errors", default=0),
    )
    zones = ImportZone.objects.filter(job=job)
    duplicates = zones.filter(action=Action.DUPLICATE).count()
    existing = zones.filter(zone_id__gt=0, ops_size=0).exclude(action__in=(Action.FAILED, Action.DUPLICATE)).count()
    return copy_fields(
        ScanSummary,
        counts,
        failed=counts["errors"],
        duplicates=duplicates,
        existing=existing,
        new=counts["zones"] - counts["errors"] - duplicates - existing,
        faults=tuple(fault_kinds(job)),
        kept=tuple(kept_counts(job)),
    )


def fault_kinds(job: ImportJob) -> Iterator[FaultKind]:
    """Yield the faults grouped by kind, sorted by severity (errors first) and then by frequency."""
    rows = ImportFault.objects.filter(job=job).values("code", "severity").annotate(count=Count("pk"), first=Min("pk"))
    samples = dict(ImportFault.objects.filter(pk__in=[row["first"] for row in rows]).values_list("pk", "reason"))
    order = {"error": 0, "warning": 1, "note": 2}
    for row in sorted(rows, key=lambda row: (order.get(row["severity"], 3), -row["count"])):
        yield FaultKind(row["code"], row["severity"], row["count"], samples.get(row["first"], ""))


def kept_counts(job: ImportJob) -> list[tuple[str, int]]:
    kept = KeptItem.objects.filter(job=job).exclude(name=SIGNATURES)
    found = kept.values("kind").annotate(count=Count("pk")).order_by("kind")
    return [(KeptItem(kind=row["kind"]).get_kind_display(), row["count"]) for row in found]


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The effects of publishing: the number of zones for each action, and the numbers of changed RRsets."""

    creates: int
    unions: int
    rrset_replaces: int
    replaces: int
    unchanged: int
    skipped: int
    failed: int
    duplicates: int
    waiting: int
    undecided: int
    guarded: int  # zones that would lose more than MOST_REMOVED values, or over 30 % of the RRsets and at least 3
    added: int
    changed: int
    removed: int
    values_removed: int  # in removed and in changed RRsets

    @property
    def changes(self) -> int:
        """The number of existing zones to be changed."""
        return self.unions + self.rrset_replaces + self.replaces

    @property
    def to_publish(self) -> int:
        return self.creates + self.changes


# The guard against mass changes.
MOST_REMOVED = 100


def guarded_zones(job: ImportJob) -> "QuerySet[ImportZone]":
    """Return the zones that would lose so much that a person must confirm it.

    Each has the attribute `before` with its current number of RRsets.
    """
    losing = ImportZone.objects.filter(job=job, action__in=CHANGING_ACTIONS, values_removed__gt=0)
    many = Q(values_removed__gt=MOST_REMOVED)
    share = Q(removed__gte=3, removed__gt=F("before") * 0.3)
    return losing.annotate(before=F("rrsets") + F("removed") - F("added")).filter(many | share)


def plan_summary(job: ImportJob) -> PlanSummary:
    by_action = {
        row["action"]: row["count"]
        for row in ImportZone.objects.filter(job=job).values("action").annotate(count=Count("pk"))
    }
    effect = ImportPiece.objects.filter(job=job).aggregate(
        added=Sum("added", default=0),
        changed=Sum("changed", default=0),
        removed=Sum("removed", default=0),
        values_removed=Sum("values_removed", default=0),
    )
    return PlanSummary(
        creates=by_action.get(Action.CREATE, 0),
        unions=by_action.get(Action.UNION, 0),
        rrset_replaces=by_action.get(Action.RRSETS, 0),
        replaces=by_action.get(Action.REPLACE, 0),
        unchanged=by_action.get(Action.NOTHING, 0),
        skipped=by_action.get(Action.SKIP, 0),
        failed=by_action.get(Action.FAILED, 0),
        duplicates=by_action.get(Action.DUPLICATE, 0),
        waiting=by_action.get(Action.WAITING, 0),
        undecided=by_action.get("", 0),
        guarded=guarded_zones(job).count(),
        **effect,
    )


@dataclass(frozen=True, slots=True)
class Page:
    """A page of zones. `after` is the start of the next page, or "" on the last page."""

    zones: Sequence[ImportZone]
    after: str


def zones_page(  # noqa: PLR0913  # the filters of a page
    job: ImportJob,
    *,
    action: str | None = None,
    search: str = "",
    faulty: bool = False,
    existing: bool | None = None,
    after: str = "",
    limit: int = 100,
) -> Page:
    """Return a page of the import's zones, sorted by name. `after` comes from the previous page.

    `action` selects the zones with that action, "" selects undecided zones, and None selects all zones.
    """
    zones = import_jobs.matching(ImportZone.objects.filter(job=job), search, faulty=faulty, existing=existing)
    if action is not None:
        zones = zones.filter(action=action)
    if after:
        name, _, pk = after.rpartition("|")
        number = int(pk) if pk.isdigit() else 0
        zones = zones.filter(Q(name__gt=name) | Q(name=name, pk__gt=number))
    found = list(zones.order_by("name", "pk")[: limit + 1])
    more = len(found) > limit
    return Page(found[:limit], f"{found[limit - 1].name}|{found[limit - 1].pk}" if more else "")


def faults_page(
    job: ImportJob, *, severity: str = "", code: str = "", zone: str = "", after: int = 0, limit: int = 100
) -> list[ImportFault]:
    """Return faults with ids above `after`, sorted by id. An empty filter matches all faults."""
    return list(_faults(job, severity, code, zone).filter(pk__gt=after).order_by("pk")[:limit])


def _faults(job: ImportJob, severity: str, code: str, zone: str) -> "QuerySet[ImportFault]":
    filters = {"severity": severity, "code": code, "zone": zone}
    return ImportFault.objects.filter(job=job, **{key: value for key, value in filters.items() if value})


CSV_HEADER = ("severity", "zone", "file", "line", "column", "source", "reason", "fix", "code")


def faults_csv(job: ImportJob, *, severity: str = "", code: str = "") -> Iterator[str]:
    """Yield the faults with this severity and code as CSV lines, after a header line. An empty filter matches all."""
    yield _csv_line(CSV_HEADER)
    for fault in _faults(job, severity, code, "").order_by("pk").iterator():
        yield _csv_line(
            (
                fault.severity,
                fault.zone,
                fault.path,
                fault.line,
                fault.column,
                fault.source,
                fault.reason,
                fault.fix,
                fault.code,
            )
        )


def _csv_line(values: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(map(harmless_cell, values))  # the text comes from a customer's zone file
    return line.getvalue()


@dataclass(frozen=True, slots=True)
class ZoneDiff:
    """The changes that an import makes to one zone: the first changed RRsets, and the number of others."""

    diffs: tuple[history.RRsetDiff, ...]
    more: int


def zone_diff(job: ImportJob, zone: ImportZone) -> ZoneDiff:
    """Return the changes that the import would make to one zone now. The diff is empty if nothing would change."""
    if zone.action == Action.CREATE:
        parsed = scan.parser_for(job)(_document(job, zone))
        after = [zone_changes.rrset_of(ready) for ready in parsed.rrsets]
        diffs = tuple(history.diff(Change(rrset.name, rrset.type, None, rrset)) for rrset in after[:MOST_DIFFS])
        return ZoneDiff(diffs, len(after) - len(diffs))
    existing = existing_zones([zone.name])
    if zone.action not in CHANGING_ACTIONS or zone.name not in existing:
        return ZoneDiff((), 0)
    _, effect = next(import_plan.effects(job, [zone], existing))
    changes = list(effect.changes.items())
    diffs = tuple(history.diff(Change(*key, effect.current.get(key), after)) for key, after in changes[:MOST_DIFFS])
    return ZoneDiff(diffs, len(changes) - len(diffs))


def zone_text(job: ImportJob, zone: ImportZone) -> str | None:
    """Return the text of the zone's document, or None if it is too large for a page."""
    text = _document(job, zone).text
    return text.decode("utf-8", "replace") if len(text) <= MOST_TEXT_BYTES else None


def _document(job: ImportJob, zone: ImportZone) -> Document:
    return spool.read_document(spool.spool_path(job.pk, zone.piece), zone.document_offset)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an import, with its numbers of published and undone zones."""

    plan: PlanSummary
    created: int  # zones; an import that was cancelled or stopped creates fewer zones than its plan
    altered: int
    published: int  # zones created or changed
    undone: int
    kept_in_undo: int
    zones_per_second: float
    nodes: NodeCounts  # in sync: with everything that the import published
    kept: tuple[tuple[str, int], ...]


def report(job: ImportJob, *, now: datetime) -> Report:
    published = ImportPiece.objects.filter(job=job).aggregate(**_PUBLISHED)
    total = published["created"] + published["altered"]
    undone = {
        row["undone"]: row["count"]
        for row in ImportZone.objects.filter(job=job).exclude(undone="").values("undone").annotate(count=Count("pk"))
    }
    return Report(
        plan=plan_summary(job),
        **published,
        published=total,
        undone=undone.get("undone", 0),
        kept_in_undo=undone.get("kept", 0),
        zones_per_second=total / job.apply_seconds if job.apply_seconds else 0.0,
        nodes=count_nodes((each.node, each.has_acked(job.last_sequence)) for each in watched_statuses(now=now)),
        kept=tuple(kept_counts(job)),
    )
