"""Scan a piece: parse every document, record the faults, and stage the zones that can be created. Verbs.

All results are committed together. If a scan is killed, the next one starts again and replaces the stage file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.db import connection, transaction
from django.utils import timezone

from dnspanel.database.sql import execute
from dnspanel.texts import Text, gettext, gettext_noop, ngettext
from dnspanel.transfer import import_limits, job_rights
from dnspanel.transfer.documents import SERVER_SET, BroughtSignatures, Document, Options, ParsedZone, SourceFault
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import stage
from dnspanel.transfer.imports.kept_keys import brought_signings, keep_signatures, signing_by, with_source_chains
from dnspanel.transfer.models import Action, ImportFault, ImportJob, ImportPiece, ImportZone, PieceState, State
from dnspanel.transfer.sources.registry import include_for
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.transfer.zonefile.report import DNSSEC_LEFT_OUT, text_of_unsigned
from dnspanel.transfer.zonefile.zonefile_chain import chain_fault
from dnspanel.zones.dnssec.trust import broken_by
from dnspanel.zones.dnssec.wildcard_cuts import is_wildcard_cut, violation_of
from dnspanel.zones.errors import BreaksBelow, SignedAtParent
from dnspanel.zones.models import Signing
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing.first_signing import BroughtSigning
from dnspanel.zones.publishing.ready_zones import ExistingZone, allocate_zone_ids, existing_zones
from dnspanel.zones.rights import access
from dnspanel.zones.rules.computed_types import DEPENDING, reasons_against
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.rules.violations import Severity
from dnspanel.zones.settings.server_sets import ServerSet, set_at
from dnspanel.zones.signing.presigned import ENDS_SOON, end_of
from dnspanel.zones.store.store_rrsets import copy_text
from dnspanel.zones.values.soa import first_serial
from replication.dns import rdtypes
from replication.garbage import collection_paused

# The size of the text whose parsed RRsets are in memory at a time.
_BATCH_BYTES = 256 << 10
_TYPE = attrgetter("type")
_NO_STAGE = stage.Staged(0, 0, 0, 0, 0, b"")

_COPY_ZONES = """
COPY transfer_importzone (job_id, piece, name, path, zone_id, base_revision, serial, records, rrsets, errors, warnings,
    choice, action, added, changed, removed, document_offset, rows_offset, rows_size, ops_offset, ops_size, op_count,
    digest, undone) FROM STDIN"""

_TWICE = gettext_noop("The zone {name} was already read from {path}, so this second copy is left out.")
_MARK_DUPLICATES = """
WITH again AS (
    SELECT id, first_path FROM (
        SELECT id, row_number() OVER same AS place, first_value(path) OVER same AS first_path
        FROM transfer_importzone WHERE job_id = %(job)s AND name <> ''
        WINDOW same AS (PARTITION BY name ORDER BY piece, id)
    ) AS placed WHERE place > 1
), marked AS (
    UPDATE transfer_importzone z SET action = 'duplicate' FROM again WHERE z.id = again.id AND z.action <> 'failed'
    RETURNING z.piece, z.name, z.path, again.first_path
), said AS (
    INSERT INTO transfer_importfault
        (job_id, piece, zone, path, line, "column", source, reason, fix, severity, code, by_source)
    SELECT %(job)s, piece, name, path, 0, 0, '',
        jsonb_build_object(
            'text', %(twice)s::text, 'values', jsonb_build_object('name', name, 'path', first_path)
        )::text, '',
        'warning', 'zone-twice', false FROM marked
)
SELECT DISTINCT piece FROM marked"""


@dataclass(frozen=True, slots=True)
class _Scanned:
    """The result of scanning one document, without its RRsets."""

    name: str
    path: str
    offset: int
    serial: int
    records: int
    rrsets: int
    generated: int
    faults: list[SourceFault]
    is_sound: bool
    existing: ExistingZone | None
    zone_id: int
    staged: stage.Staged
    choice: str

    @property
    def action(self) -> str:
        """The action after the scan, or "" if the dry run decides because the zone exists or has a chosen action."""
        if not self.is_sound:
            return Action.FAILED
        return "" if self.existing or self.choice else Action.CREATE


def scan_piece(*, job: ImportJob, piece: ImportPiece) -> bool:
    """Scan the piece and store the results. Return False and store nothing if another process was faster.

    Every zone becomes a row of ImportZone, and every fault a row of ImportFault. Valid zones that the panel doesn't
    have yet are also written to the piece's stage file.
    """
    writer = stage.StageWriter(stage.stage_path(job.pk, piece.number))
    signatures: dict[str, BroughtSignatures | None] = {}
    try:
        with collection_paused():
            scanned = _scan(job, piece, writer, signatures)
        size, checksum = writer.finish()
    except BaseException:
        writer.abandon()
        raise
    with transaction.atomic(durable=True):
        claimed = ImportPiece.objects.filter(pk=piece.pk, state=PieceState.SPOOLED).update(
            state=PieceState.SCANNED, stage_size=size, stage_checksum=checksum, **_counts(scanned)
        )
        if claimed:
            lines = [_zone_line(job.pk, piece.number, one) for one in scanned]
            with connection.cursor() as cursor, cursor.copy(_COPY_ZONES) as copy:
                copy.write("".join(lines).encode())
            if signatures:
                keep_signatures(job=job, found=signatures)
            keep_faults(job.pk, piece.number, (fault for found in scanned for fault in found.faults))
    return bool(claimed)


def forget_scan(*, piece: ImportPiece) -> None:
    """Delete a scan's results, but keep people's choices and the source's faults. Must run in a transaction."""
    zones = ImportZone.objects.filter(job_id=piece.job_id, piece=piece.number)
    choices = dict(zones.exclude(choice="").values_list("name", "choice"))
    zones.delete()
    ImportFault.objects.filter(job_id=piece.job_id, piece=piece.number, by_source=False).delete()
    ImportPiece.objects.filter(pk=piece.pk).update(state=PieceState.SPOOLED, choices=choices, **_counts([]), waiting=0)


def finish_scan(*, job: ImportJob, seconds: float) -> None:
    """Mark duplicate zones with a warning once all pieces are scanned, and let people choose actions for the zones."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(_MARK_DUPLICATES, {"job": job.pk, "twice": _TWICE})
            count_pieces(job.pk, [piece for (piece,) in cursor.fetchall()])
            # Otherwise PostgreSQL assumes that a piece has all zones of the import, and reads all of them.
            cursor.execute("ANALYZE transfer_importzone")
        ImportJob.objects.filter(pk=job.pk, state=State.SCANNING).update(
            state=State.CHOOSING, scan_seconds=seconds, failure=""
        )


def parser_for(job: ImportJob) -> Callable[[Document], ParsedZone]:
    """Return a function that parses a document with this job's options."""
    options, include = Options.from_json(job.options), include_for(job)
    unanswered, serial = reasons_against(DEPENDING), first_serial(job.created_at)
    ours, allow_lua = server_set_of(job), access.may_publish_lua(job_rights.actor_of_job(job))

    def parse(document: Document) -> ParsedZone:
        return read_zone(
            document,
            options=options,
            include=lambda included: include(document.path, included),
            allow_lua=allow_lua,
            unanswered=unanswered,
            first_serial=serial,
            ours=ours.servers if ours else None,
        )

    return parse


def server_set_of(job: ImportJob) -> ServerSet | None:
    """Return the set of name servers that the job's options use, or None if they don't use one."""
    stored = job.options.get(SERVER_SET)
    return set_at(*stored) if stored else None


def count_pieces(job_id: int, pieces: Iterable[int]) -> None:
    """Update the counts of these pieces from their zones."""
    numbers = list(pieces)
    if numbers:
        execute(_COUNT, {"job": job_id, "pieces": numbers})


_COUNT = """
UPDATE transfer_importpiece p SET
    creates = z.creates, undecided = z.undecided, changes = z.changes, waiting = z.waiting, errors = z.failed,
    added = z.added, changed = z.changed, removed = z.removed, values_removed = z.values_removed
FROM (
    SELECT piece, count(*) FILTER (WHERE action = 'create') AS creates,
        count(*) FILTER (WHERE action = '') AS undecided,
        count(*) FILTER (WHERE action IN ('union', 'rrsets', 'replace')) AS changes,
        count(*) FILTER (WHERE action = 'waiting') AS waiting,
        count(*) FILTER (WHERE action = 'failed') AS failed,
        coalesce(sum(added) FILTER (WHERE action IN ('create', 'union', 'rrsets', 'replace')), 0) AS added,
        coalesce(sum(changed) FILTER (WHERE action IN ('union', 'rrsets', 'replace')), 0) AS changed,
        coalesce(sum(removed) FILTER (WHERE action IN ('union', 'rrsets', 'replace')), 0) AS removed,
        coalesce(sum(values_removed) FILTER (WHERE action IN ('union', 'rrsets', 'replace')), 0) AS values_removed
    FROM transfer_importzone WHERE job_id = %(job)s AND piece = ANY(%(pieces)s) GROUP BY piece
) z WHERE p.job_id = %(job)s AND p.number = z.piece"""


def keep_faults(job_id: int, piece: int, faults: Iterable[SourceFault], *, by_source: bool = False) -> None:
    """Store the faults, at most `import_limits.MOST_FAULTS` per import, in the caller's transaction."""
    rows = [
        ImportFault(
            job_id=job_id,
            piece=piece,
            zone=fault.zone,
            path=_storable(fault.path),
            line=fault.line,
            column=fault.column,
            source=_storable(fault.source[:200]),
            reason=fault.reason if isinstance(fault.reason, Text) else _storable(fault.reason),
            fix=_storable(fault.fix),
            severity=fault.severity,
            code=fault.code,
            by_source=by_source,
        )
        for fault in faults
    ]
    if not rows:
        return
    kept = ImportFault.objects.filter(job_id=job_id).count()
    ImportFault.objects.bulk_create(rows[: max(0, import_limits.MOST_FAULTS - kept)], batch_size=2_000)


def _storable(text: str) -> str:
    """Return the text with NUL replaced, because PostgreSQL can't store NUL."""
    return text.replace("\0", "␀")


def _scan(
    job: ImportJob, piece: ImportPiece, writer: stage.StageWriter, signatures: dict[str, BroughtSignatures | None]
) -> list[_Scanned]:
    """Parse the piece's documents, add faults for names and signing, and stage the valid new zones.

    If the job keeps signatures, add the zones' signatures to `signatures`.
    """
    parse, keeps = parser_for(job), Options.from_json(job.options).signatures == "keep"
    scanned: list[_Scanned] = []
    ids: Iterator[int] | None = None
    for batch in _batches(spool.read_documents(spool.spool_path(job.pk, piece.number))):
        parsed = [(offset, document.path, parse(document)) for offset, document in batch]
        existing_by_name = existing_zones([zone.name for _, _, zone in parsed if zone.name])
        new = [(path, zone) for _, path, zone in parsed if zone.name and zone.name not in existing_by_name]
        _report_names(new)
        if keeps:
            of_batch = {zone.name: zone.signatures for _, _, zone in parsed if zone.name and zone.is_sound}
            signatures |= of_batch
            _report_signatures(job, [(path, zone) for _, path, zone in parsed if zone.signatures])
        _report_signed(job, [(path, zone) for _, path, zone in parsed if zone.name], existing_by_name)
        _report_wildcard_cuts(job, [(path, zone) for _, path, zone in parsed if zone.name], existing_by_name)
        _report_broken([(path, zone) for _, path, zone in parsed if zone.name and zone.name not in existing_by_name])
        if ids is None and any(zone.is_sound and zone.name not in existing_by_name for _, _, zone in parsed):
            # Allocate ids for all remaining documents, so that the ids of a piece are consecutive.
            ids = iter(allocate_zone_ids(piece.documents - len(scanned)))
        for offset, path, zone in parsed:
            existing = existing_by_name.get(zone.name)
            zone_id, staged = existing.id if existing else 0, _NO_STAGE
            if existing is None and zone.is_sound and ids is not None:
                zone_id = next(ids)
                staged = writer.add(zone_id, zone.name, zone.rrsets)
            scanned.append(
                _Scanned(
                    zone.name,
                    path,
                    offset,
                    zone.serial,
                    zone.records,
                    len(zone.rrsets),
                    zone.generated,
                    zone.faults,
                    zone.is_sound,
                    existing,
                    zone_id,
                    staged,
                    piece.choices.get(zone.name, ""),
                )
            )
    return scanned


def _report_names(zones: Sequence[tuple[str, ParsedZone]]) -> None:
    """Add a fault to each of these zones whose name isn't allowed for any author.

    The dry run checks the names that aren't allowed for this author.
    """
    refused = nesting.refusals_for_everybody(zone.name for _, zone in zones)
    for path, zone in zones if refused else ():
        if refusal := refused.get(zone.name):
            zone.faults.append(SourceFault(path, 0, 0, "", str(refusal), "name-refused", zone=zone.name))


def _report_signed(
    job: ImportJob, zones: Sequence[tuple[str, ParsedZone]], existing_by_name: Mapping[str, ExistingZone]
) -> None:
    """Add a note to zones that stay signed, and a warning to zones whose keys from the source aren't used.

    Add an error if the zone's parent is in the panel and has a DS that no longer matches after the import. An existing
    zone keeps its signing: it gets the error only if it is signed in the source and unsigned here. Skip zones that keep
    their signatures.
    """
    zones = [(path, zone) for path, zone in zones if zone.signatures is None]
    found = [zone.name for _, zone in zones]
    brought = brought_signings(job, found)
    may_sign = not brought or job_rights.may_sign(job)
    here = _signed_here({name: existing_by_name[name] for name in brought if name in existing_by_name})
    parents = nesting.ds_above(found)
    for path, zone in zones:
        signing = brought.get(zone.name)
        goes_on = isinstance(signing, BroughtSigning) and may_sign and zone.name not in existing_by_name
        if isinstance(signing, BroughtSigning) and zone.name in parents:
            goes_on = goes_on and signing.is_named_by(zone.name, parents[zone.name].ds)
        lost_signatures = any(fault.code == DNSSEC_LEFT_OUT for fault in zone.faults)
        if isinstance(signing, BroughtSigning) and goes_on:
            count = len(signing.keys)
            reason = ngettext(
                "The zone stays signed with {count} imported key. The DS record at the parent stays valid.",
                "The zone stays signed with {count} imported keys. The DS records at the parent stay valid.",
                count,
            ).format(count=count)
            zone.faults.append(_of_keys(path, zone.name, reason, Severity.NOTE))
            lost_signatures = False
        elif zone.name in here:
            reason = gettext("The zone already exists. Its signing settings aren’t changed.")
            zone.faults.append(_of_keys(path, zone.name, reason, Severity.NOTE))
            lost_signatures = False
        elif signing is not None:
            because = _reason_aside(signing, is_here=zone.name in existing_by_name)
            reason = gettext(
                "The zone is signed, but its keys are stored separately because {because}. {unsigned}"
            ).format(because=because, unsigned=text_of_unsigned())
            zone.faults.append(_of_keys(path, zone.name, reason, Severity.WARNING))
            lost_signatures = True
        if zone.name in parents and not goes_on and (lost_signatures or zone.name not in existing_by_name):
            refusal = str(SignedAtParent(zone.name, parents[zone.name].zone_name))
            zone.faults.append(SourceFault(path, 0, 0, "", refusal, "ds-at-parent", zone=zone.name))


def _report_wildcard_cuts(
    job: ImportJob, zones: Sequence[tuple[str, ParsedZone]], existing_by_name: Mapping[str, ExistingZone]
) -> None:
    """Add a fault to zones that delegate a wildcard and are signed here, or will be signed with the source's keys."""
    found = {}
    ns = rdtypes.NS  # checked first, because an import has millions of other RRsets
    for path, zone in zones:
        cuts = [rrset.name for rrset in zone.rrsets if rrset.type == ns and is_wildcard_cut(rrset.name, ns)]
        if cuts and zone.signatures is None:
            found[zone.name] = path, zone, cuts[0]
    if not found:
        return
    signed = _signed_here({name: existing_by_name[name] for name in found if name in existing_by_name})
    brought = {name for name, each in brought_signings(job, list(found)).items() if isinstance(each, BroughtSigning)}
    for name, (path, zone, cut) in found.items():
        if name in signed or (name in brought - existing_by_name.keys() and job_rights.may_sign(job)):
            violation = violation_of(cut)
            zone.faults.append(SourceFault(path, 0, 0, "", violation.message, violation.code, zone=name))


def _report_broken(zones: Sequence[tuple[str, ParsedZone]]) -> None:
    """Add an error for each DS RRset in a new zone that doesn't validate the child zone, if the child zone is here."""
    holders = {
        rrset.name: (path, zone, [text for text in rrset.texts if text not in rrset.disabled])
        for path, zone in zones
        if rdtypes.DS in map(_TYPE, zone.rrsets)
        for rrset in zone.rrsets
        if rrset.type == rdtypes.DS and rrset.name != zone.name
    }
    broken = broken_by({name: texts for name, (_, _, texts) in holders.items()}) if holders else {}
    for name, reason in broken.items():
        path, zone, _ = holders[name]
        refusal = str(BreaksBelow(zone.name, name, reason))
        zone.faults.append(SourceFault(path, 0, 0, "", refusal, BREAKING_DS, zone=zone.name))


def _report_signatures(job: ImportJob, zones: Sequence[tuple[str, ParsedZone]]) -> None:
    """Add a note or a warning with the expiration of the signatures to each zone that keeps its signatures.

    Add only an error if they have expired or don't match the NSEC3 chain. Otherwise, also add an error if the author
    isn't allowed to sign, or if the DS in a parent zone in the panel doesn't match.
    """
    now = timezone.now()
    may_sign = not zones or job_rights.may_sign(job)
    brought = with_source_chains(job, {zone.name: zone.signatures for _, zone in zones if zone.signatures is not None})
    parents = nesting.ds_above([zone.name for _, zone in zones])
    for path, zone in zones:
        assert zone.signatures is not None
        signing, end = signing_by(brought[zone.name]), end_of(zone.signatures.end)
        until = f"{end:%Y-%m-%d %H:%M} UTC"
        if end <= now:
            reason = gettext(
                "The zone’s signatures expired on {until}. Sign the zone again, or import it without signatures."
            ).format(until=until)
            zone.faults.append(_of_signatures(path, zone.name, reason, Severity.ERROR))
            continue
        # PowerDNS keeps NSEC3 parameters outside the zone, so the parser could not compare the chain.
        is_elsewhere = zone.is_sound and zone.signatures.nsec3_elsewhere
        others = signing.other_nsec3
        fault = chain_fault(zone.name, zone.rrsets, signing.nsec3, others=others) if is_elsewhere else ""
        if fault:
            zone.faults.append(_of_signatures(path, zone.name, fault, Severity.ERROR))
            continue
        reason = gettext("The zone keeps its existing signatures. The first one expires on {until}.").format(
            until=until
        )
        is_late = end - now < ENDS_SOON
        zone.faults.append(_of_signatures(path, zone.name, reason, Severity.WARNING if is_late else Severity.NOTE))
        if not may_sign:
            reason = gettext("You need the right to sign the zone to import signatures.")
            zone.faults.append(_of_signatures(path, zone.name, reason, Severity.ERROR))
        if zone.name in parents and not signing.is_named_by(zone.name, parents[zone.name].ds):
            reason = gettext("The zone {parent} has a DS record that doesn’t match any of this zone’s keys.").format(
                parent=parents[zone.name].zone_name
            )
            zone.faults.append(_of_signatures(path, zone.name, reason, Severity.ERROR))


def _of_signatures(path: str, zone: str, reason: str, severity: Severity) -> SourceFault:
    return SourceFault(path, 0, 0, "", reason, "signatures", severity=severity, zone=zone)


def _of_keys(path: str, zone: str, reason: str, severity: Severity) -> SourceFault:
    return SourceFault(path, 0, 0, "", reason, "dnssec-keys", severity=severity, zone=zone)


def _signed_here(zones: Mapping[str, ExistingZone]) -> set[str]:
    if not zones:
        return set()
    rows = Signing.objects.filter(pk__in=[zone.id for zone in zones.values()], is_signed=True)
    signed = set(rows.values_list("pk", flat=True))
    return {name for name, zone in zones.items() if zone.id in signed}


def _reason_aside(signing: BroughtSigning | str, *, is_here: bool) -> str:
    if is_here:
        return gettext("the zone already exists and its signing settings aren’t changed")
    if isinstance(signing, str):
        return signing
    return gettext("the DS record in the parent zone doesn’t match any key, or you aren’t allowed to sign zones")


def _batches(documents: Iterable[tuple[int, Document]]) -> Iterator[list[tuple[int, Document]]]:
    batch: list[tuple[int, Document]] = []
    size = 0
    for offset, document in documents:
        batch.append((offset, document))
        size += len(document.text)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _counts(scanned: list[_Scanned]) -> dict[str, int]:
    creates = [one for one in scanned if one.action == Action.CREATE]
    return {
        "zones": len(scanned),
        "records": sum(one.records for one in scanned),
        "rrsets": sum(one.rrsets for one in scanned),
        "generated": sum(one.generated for one in scanned),
        "errors": sum(one.action == Action.FAILED for one in scanned),
        "creates": len(creates),
        "undecided": sum(one.action == "" for one in scanned),
        "changes": 0,
        "added": sum(one.rrsets for one in creates),
        "changed": 0,
        "removed": 0,
    }


def _zone_line(job_id: int, piece: int, one: _Scanned) -> str:
    """Return a row of ImportZone in COPY format.

    The line is built by hand, because psycopg takes five times as long for two dozen values.
    """
    errors = sum(fault.severity is Severity.ERROR for fault in one.faults) if one.faults else 0
    warnings = sum(fault.severity is Severity.WARNING for fault in one.faults) if one.faults else 0
    name, path, at, action = copy_text(one.name), copy_text(_storable(one.path)), one.staged, one.action
    added = one.rrsets if action == Action.CREATE else 0
    return (
        f"{job_id}\t{piece}\t{name}\t{path}\t{one.zone_id}\t0\t{one.serial}\t{one.records}\t{one.rrsets}\t"
        f"{errors}\t{warnings}\t{one.choice}\t{action}\t{added}\t0\t0\t{one.offset}\t{at.rows_offset}\t"
        f"{at.rows_size}\t{at.ops_offset}\t{at.ops_size}\t{at.op_count}\t\\\\x{at.digest.hex()}\t\n"
    )
