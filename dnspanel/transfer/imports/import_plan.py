"""Plan an import in a dry run: decide the action for each zone, and count the changes. Verbs.

The scan has already prepared new zones, so only their names have to be checked again. Existing zones are compared RRset
by RRset.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F

from dnspanel.accounts.actors.actors import Author
from dnspanel.texts import gettext
from dnspanel.transfer import job_rights, zone_changes
from dnspanel.transfer.documents import BroughtSignatures, Options, ParsedZone, SourceFault
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import scan
from dnspanel.transfer.models import CHANGING_ACTIONS, Action, ImportJob, ImportPiece, ImportZone, PieceState, State
from dnspanel.zones.dnssec.queries import presigned_zones
from dnspanel.zones.dnssec.trust import newly_broken
from dnspanel.zones.errors import BreaksBelow, QuotaExceeded
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.zone_quotas import refuse_larger, rrset_limit
from dnspanel.zones.publishing.ready_zones import ExistingZone, existing_zones
from dnspanel.zones.rules import neighbourhood, rules, violations
from dnspanel.zones.rules.computed_types import reasons_against
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from replication.dns import rdtypes
from replication.dns.rrset import RRset

_ZONES_AT_ONCE = 200
_NAMES_AT_ONCE = 5_000
_DECIDED = ("action", "zone_id", "base_revision", "added", "changed", "removed", "values_removed", "errors")

# Names that were free during the scan and are now taken.
_TAKEN = """
UPDATE transfer_importzone i SET action = '', added = 0 FROM zones_zone z
WHERE i.job_id = %(job)s AND i.action = 'create' AND z.name = i.name AND z.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM transfer_importpiece p
                    WHERE p.job_id = i.job_id AND p.number = i.piece AND p.created_in IS NOT NULL)
RETURNING i.piece"""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an import on one existing zone: its current RRsets, the changes, and faults that prevent them."""

    current: Mapping[zone_changes.Key, RRset]
    changes: zone_changes.Changes
    faults: list[SourceFault]
    signatures: BroughtSignatures | None = None  # to replace the zone's current signatures


def begin_plan(*, job: ImportJob) -> None:
    """Reset new zones that can't be created, refuse zones that are too large, and mark decided pieces as planned."""
    options = Options.from_json(job.options)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(_TAKEN, {"job": job.pk})
        taken = {piece for (piece,) in cursor.fetchall()}
        if options.new == "skip" or not job_rights.rights_of(job).may_create:
            creating = ImportZone.objects.filter(job=job, action=Action.CREATE, choice="")
            taken.update(creating.values_list("piece", flat=True).distinct())
            creating.update(action="", added=0)
        taken.update(_undecide_refused_names(job))
        taken.update(_refuse_too_large(job))
        scan.count_pieces(job.pk, taken)
        ImportPiece.objects.filter(job=job, state=PieceState.SCANNED, undecided=0).update(state=PieceState.PLANNED)
        ImportJob.objects.filter(pk=job.pk, state=State.PLANNING).update(phase_begun=True)


def _undecide_refused_names(job: ImportJob) -> set[int]:
    """Reset the action of new zones with refused names. `plan_piece` then refuses them.

    Return the numbers of these zones' pieces.
    """
    allowed = job_rights.rights_of(job)
    if not allowed.may_create or not allowed.may_refuse_names:
        return set()
    creating = (
        ImportZone.objects.filter(job=job, action=Action.CREATE).order_by("pk").values_list("pk", "piece", "name")
    )
    pieces: set[int] = set()
    after = 0
    while batch := list(creating.filter(pk__gt=after)[:_NAMES_AT_ONCE]):
        after = batch[-1][0]
        refused = allowed.refused_names([name for _, _, name in batch])
        pieces.update(piece for _, piece, name in batch if name in refused)
        pks = [pk for pk, _, name in batch if name in refused]
        ImportZone.objects.filter(pk__in=pks).update(action="", added=0)
    return pieces


def _refuse_too_large(job: ImportJob) -> set[int]:
    """Refuse new zones with more RRsets than the job's author is allowed to have in one zone.

    Return the numbers of the refused zones' pieces.
    """
    largest = rrset_limit(job_rights.actor_of_job(job), job_rights.rights_of(job).team)
    if largest is None:
        return set()
    zones = ImportZone.objects.filter(job=job, action=Action.CREATE, rrsets__gt=largest)
    faults: dict[int, list[SourceFault]] = {}
    for zone in zones:
        reason = gettext("The zone has {rrsets:,} RRsets, but your limit is {largest:,} RRsets per zone.").format(
            rrsets=zone.rrsets, largest=largest
        )
        faults.setdefault(zone.piece, []).append(job_rights.too_many_rrsets(zone.name, reason))
    for piece, of_piece in faults.items():
        scan.keep_faults(job.pk, piece, of_piece)
    zones.update(action=Action.FAILED, errors=F("errors") + 1, added=0)
    return set(faults)


def plan_piece(*, job: ImportJob, piece: ImportPiece) -> bool:
    """Set the action of every undecided zone in the piece. Return False if the piece wasn't planned.

    The piece isn't planned if another process was faster, or if an existing zone was deleted after the scan. In the
    second case the piece has to be scanned again, because the scan prepares only new zones.
    """
    options = Options.from_json(job.options)
    undecided = list(ImportZone.objects.filter(job=job, piece=piece.number, action="").order_by("id"))
    existing = existing_zones([zone.name for zone in undecided])
    for zone in undecided:
        zone.action = _action(zone, options, exists=zone.name in existing)
    if any(zone.action == Action.CREATE and not zone.ops_size for zone in undecided):
        with transaction.atomic(durable=True):
            scan.forget_scan(piece=piece)
        return False
    faults = list(_compare(job, piece, undecided, existing))
    with transaction.atomic(durable=True):
        if not ImportPiece.objects.filter(pk=piece.pk, state=PieceState.SCANNED).update(state=PieceState.PLANNED):
            return False
        ImportZone.objects.bulk_update(undecided, _DECIDED, batch_size=500)
        scan.keep_faults(job.pk, piece.number, faults)
        scan.count_pieces(job.pk, [piece.number])
    return True


def finish_plan(*, job: ImportJob, seconds: float) -> None:
    """Mark the job as planned, so that it waits for a person's confirmation."""
    ImportJob.objects.filter(pk=job.pk, state=State.PLANNING).update(
        state=State.PLANNED, plan_seconds=seconds, failure=""
    )


def effects(
    job: ImportJob, zones: Sequence[ImportZone], existing: Mapping[str, ExistingZone]
) -> Iterator[tuple[ImportZone, Effect]]:
    """Yield the changes that importing each of these existing zones would make now. The zones must have an action.

    A zone that the job's author isn't allowed to see has one fault and no content. Documents are parsed with current
    options.
    """
    parse, allowed, author = scan.parser_for(job), job_rights.rights_of(job), job_rights.actor_of_job(job)
    ordered = sorted(zones, key=lambda zone: (zone.piece, zone.document_offset))
    for number, of_piece in groupby(ordered, key=lambda zone: zone.piece):
        path = spool.spool_path(job.pk, number)
        for batch in _chunks(list(of_piece), _ZONES_AT_ONCE):
            ids = [existing[zone.name].id for zone in batch]
            current, in_reach = rrsets_of_zones(ids), allowed.zones_in_reach(ids)
            rows = Zone.objects.select_related("team").in_bulk(ids) if in_reach is None else in_reach
            presigned = presigned_zones(ids)
            for zone, id in zip(batch, ids, strict=True):
                if in_reach is not None and id not in in_reach:
                    yield zone, Effect({}, {}, [job_rights.not_yours(zone.name)])
                    continue
                parsed = parse(spool.read_document(path, zone.document_offset))
                clash = _clash_of_signatures(zone.action, parsed, is_presigned=id in presigned)
                if clash is not None:
                    yield zone, Effect(current[id], {}, [clash])
                    continue
                effect = _effect(zone.action, parsed, current[id])
                refusal = allowed.refusal(rows[id], effect.changes, effect.current) if id in rows else None
                refusal = (
                    refusal or _growth_refusal(author, rows.get(id), effect) or _fault_of_broken_ds(zone.name, effect)
                )
                yield zone, replace(effect, faults=[refusal]) if refusal else effect


def _clash_of_signatures(action: str, parsed: ParsedZone, *, is_presigned: bool) -> SourceFault | None:
    """Return a fault if an existing zone can't get the source's signatures or can't lose its own, or else None."""
    if is_presigned == (parsed.signatures is not None) and (action == Action.REPLACE or not is_presigned):
        return None
    if is_presigned:
        reason = gettext(
            "{name} uses imported signatures. Replace the zone and import the source’s signatures, or remove "
            "the imported signatures first."
        ).format(name=parsed.name)
    else:
        reason = gettext(
            "{name} already exists and doesn’t use imported signatures. Delete the existing zone first, or "
            "import the new one without signatures."
        ).format(name=parsed.name)
    return SourceFault("", 0, 0, "", reason, "signatures", zone=parsed.name)


def _growth_refusal(author: Author, zone: Zone | None, effect: Effect) -> SourceFault | None:
    """Return a fault if the zone would have too many RRsets, or None if not or if the zone no longer exists."""
    if zone is None:
        return None
    growth = sum((new is not None) - (key in effect.current) for key, new in effect.changes.items())
    try:
        refuse_larger(author, [(zone, growth)])
    except QuotaExceeded as refusal:
        return job_rights.too_many_rrsets(zone.name, str(refusal))
    return None


def _fault_of_broken_ds(zone_name: str, effect: Effect) -> SourceFault | None:
    """Return a fault if the zone's new DS records break the chain of trust to a child zone here, or else None."""
    after = {key: rrset for key, rrset in effect.changes.items() if key[1] == rdtypes.DS and rrset is not None}
    if not after:
        return None
    before = {name: found.served for name, type in after if (found := effect.current.get((name, type)))}
    broken = newly_broken(before, {name: rrset.served for (name, _), rrset in after.items()})
    if not broken:
        return None
    name, reason = next(iter(broken.items()))
    return SourceFault("", 0, 0, "", str(BreaksBelow(zone_name, name, reason)), rules.BREAKING_DS, zone=zone_name)


def _effect(action: str, parsed: ParsedZone, current: Mapping[zone_changes.Key, RRset]) -> Effect:
    changes = zone_changes.changes_of(action=action, parsed=parsed, current=current)
    if action == Action.REPLACE:
        return Effect(current, changes, [], parsed.signatures)
    clashes = [
        SourceFault("", 0, 0, "", clash, "no-union", zone=parsed.name)
        for clash in zone_changes.clashes_of(action=action, parsed=parsed, current=current)
    ]
    return Effect(current, changes, clashes or (list(_broken_rules(parsed, changes, current)) if changes else []))


def _broken_rules(
    parsed: ParsedZone, changes: zone_changes.Changes, current: Mapping[zone_changes.Key, RRset]
) -> Iterator[SourceFault]:
    """Yield faults for rules that are broken only by the combination of the zone's current and imported RRsets."""
    after = {**current, **{key: rrset for key, rrset in changes.items() if rrset is not None}}
    changed = [key for key, rrset in changes.items() if rrset is not None]
    below = neighbourhood.names_below(parsed.name, after.values())
    unanswered = reasons_against(type_ for _, type_ in changed)
    for violation in rules.check_zone(
        parsed.name, after, changed, below=below, allow_lua=settings.ALLOW_LUA_RECORDS, unanswered=unanswered
    ):
        if violation.severity is violations.Severity.ERROR:
            reason = gettext("Conflict with the existing zone: {message}").format(message=violation.message)
            yield SourceFault("", 0, 0, "", reason, violation.code, zone=parsed.name)


def _action(zone: ImportZone, options: Options, *, exists: bool) -> str:
    choice = zone.choice or (options.existing if exists else options.new)
    if choice == "skip":
        return Action.SKIP
    if not exists:
        return Action.CREATE
    # The choice "create" may have been made before the zone existed.
    return Action(choice if choice in CHANGING_ACTIONS else options.existing)


def _compare(
    job: ImportJob, piece: ImportPiece, undecided: Sequence[ImportZone], existing: Mapping[str, ExistingZone]
) -> Iterator[SourceFault]:
    """Set each zone's action and counts, and yield the faults of zones that can't be imported."""
    allowed = job_rights.rights_of(job)
    creating = [zone for zone in undecided if zone.action == Action.CREATE]
    refused = allowed.refused_names([zone.name for zone in creating])
    for zone in creating:
        fault = refused.get(zone.name) if allowed.may_create else job_rights.may_not_create(zone.name)
        if fault is None:
            zone.added = zone.rrsets
        else:
            zone.action, zone.errors = Action.FAILED, 1
            yield fault
    compared = [zone for zone in undecided if zone.action in CHANGING_ACTIONS]
    for zone, effect in effects(job, compared, existing):
        zone.zone_id, zone.base_revision = existing[zone.name].id, existing[zone.name].revision
        if effect.faults:
            zone.action, zone.errors = Action.FAILED, len(effect.faults)
            yield from effect.faults
        elif not effect.changes:
            zone.action = Action.NOTHING
        else:
            zone.added, zone.changed, zone.removed = zone_changes.tally(effect.changes, effect.current)
            zone.values_removed = zone_changes.values_removed(effect.changes, effect.current)


def _chunks(zones: Sequence[ImportZone], size: int) -> Iterator[Sequence[ImportZone]]:
    for at in range(0, len(zones), size):
        yield zones[at : at + size]
