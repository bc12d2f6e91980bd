"""Publish the changes that the dry run computed for a piece. Verbs.

New zones and changed zones are two publications. Each transaction records its publication's sequence in the piece's
row. If only one of them was published, the next attempt publishes the other.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import F

from dnspanel.publish.errors import StorageUnreachable
from dnspanel.publish.reading.prepared import Prepared, put_prepared, record_prepared
from dnspanel.transfer import job_rights
from dnspanel.transfer.imports import import_plan, scan, stage
from dnspanel.transfer.imports.kept_keys import brought_signings, with_source_chains
from dnspanel.transfer.models import CHANGING_ACTIONS, Action, ImportJob, ImportPiece, ImportZone, PieceState, State
from dnspanel.transfer.signals import zones_created
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.errors import HookRefused, NamesRefused, NamesTaken
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Publication, Revision
from dnspanel.zones.publishing.bulk import ZoneChange, change_zones
from dnspanel.zones.publishing.first_signing import BroughtSigning, record_first_signings
from dnspanel.zones.publishing.ready_zones import BulkZone, ExistingZone, create_ready_zones, existing_zones
from dnspanel.zones.settings.server_sets import follow_where_equal
from dnspanel.zones.signing.paused_denial import needs_pause, pause_denial, resume_denial
from dnspanel.zones.signing.presigned import Renewed, end_of, renew_presigned
from replication.codec.dnssec import Nsec3

logger = logging.getLogger(__name__)


def apply_piece(*, job: ImportJob, piece: ImportPiece, now: datetime) -> bool:
    """Publish the piece's zones. Return False if the piece's stage file is lost and has to be created again first.

    Zones that were created or changed since the dry run are skipped and marked as waiting.
    """
    if piece.created_in is None and not _create_all(job, piece, now):
        with transaction.atomic(durable=True):
            scan.forget_scan(piece=piece)
        return False
    zones_created.send(sender=ImportJob, job=job, piece=piece, now=now)
    if piece.changed_in is None:
        _change(job, piece, now)
    _end(job, piece)
    return True


def finish_apply(*, job: ImportJob, seconds: float, now: datetime) -> None:
    """Mark the job as done after every piece was applied. Some zones can still be waiting for another dry run."""
    ImportJob.objects.filter(pk=job.pk, state=State.APPLYING).update(
        state=State.DONE, apply_seconds=seconds, failure="", ended_at=now, last_sequence=last_sequence(job.pk)
    )


def last_sequence(job_id: int) -> int:
    """Return the newest sequence that the import or its undo published, or 0 if it hasn't published anything."""
    found = ImportPiece.objects.filter(job_id=job_id).values_list(
        "created_in", "changed_in", "created_undone_in", "changed_undone_in"
    )
    return max((sequence or 0 for piece in found for sequence in piece), default=0)


def reason_of(job: ImportJob) -> str:
    """Return the reason for this import's changes, as shown in zone histories."""
    return panel_reasons.IMPORT.format(number=job.pk, title=job.title)


class _Staged(NamedTuple):
    """A zone to create, and its position in the stage file. A plain tuple, to save memory in imports of many zones."""

    pk: int
    zone_id: int
    name: str
    serial: int
    rrsets: int
    rows_offset: int
    rows_size: int
    ops_offset: int
    ops_size: int
    op_count: int
    digest: bytes


def _create_all(job: ImportJob, piece: ImportPiece, now: datetime) -> bool:
    """Create the piece's new zones. Return False if the stage file is lost.

    Zones that can no longer be created wait for another dry run. If the author lost the right to create zones, all of
    the zones wait.
    """
    creating = ImportZone.objects.filter(job=job, piece=piece.number, action=Action.CREATE).order_by("zone_id")
    zones = list(map(_Staged._make, creating.values_list(*_Staged._fields)))
    if zones and not job_rights.rights_of(job).may_create:  # the author lost the right after the dry run
        _wait(job, piece, [zone.pk for zone in zones])
        return True
    content = stage.read_stage(stage.stage_path(job.pk, piece.number), piece.stage_size, piece.stage_checksum)
    if zones and content is None:
        return False
    while zones and content is not None:
        try:
            _create(job, piece, zones, content, now)
            break
        except (NamesTaken, NamesRefused) as refused:
            names = set(refused.names)
            _wait(job, piece, [zone.pk for zone in zones if zone.name in names])
            zones = [zone for zone in zones if zone.name not in names]
        except HookRefused as refused:
            names = set(refused.zones.values())
            _wait(job, piece, [zone.pk for zone in zones if zone.name in names])
            zones = [zone for zone in zones if zone.name not in names]
    return True


def _create(job: ImportJob, piece: ImportPiece, zones: Sequence[_Staged], content: memoryview, now: datetime) -> None:
    author = job_rights.actor_of_job(job)
    brought = brought_signings(job, {zone.name for zone in zones})
    if brought and not job_rights.may_sign(job):
        # A presigned zone can only be served with its signatures.
        waiting = {name for name, each in brought.items() if isinstance(each, BroughtSigning) and each.presigned}
        _wait(job, piece, [zone.pk for zone in zones if zone.name in waiting])
        zones = [zone for zone in zones if zone.name not in waiting]
        brought = {}
        if not zones:
            return
    signings = [
        (zone.zone_id, signing) for zone in zones if isinstance(signing := brought.get(zone.name), BroughtSigning)
    ]
    prepared, ours = _prepare(zones, content), scan.server_set_of(job)

    def in_transaction(publication: Publication, moved: Sequence[int]) -> None:
        if ours is not None:
            follow_where_equal(server_set=ours, zone_ids=[zone.zone_id for zone in zones], now=now)
        if signings:
            record_first_signings(zones=signings, author=author, now=now)
        # If serials were moved, the prepared rows have wrong serials and cannot be used.
        _record_creation(piece, publication, None if moved else prepared)

    create_ready_zones(
        zones=[BulkZone(zone.zone_id, zone.name, zone.serial, zone.rrsets) for zone in zones],
        rows=lambda: (bytes(content[zone.rows_offset : zone.rows_offset + zone.rows_size]) for zone in zones),
        acting=Acting(author, Channel.IMPORT, now, reason_of(job)),
        team=job_rights.rights_of(job).team,
        in_transaction=in_transaction,
        signed=[name for name, signing in brought.items() if isinstance(signing, BroughtSigning)],
    )


def _prepare(zones: Sequence[_Staged], content: memoryview) -> Prepared | None:
    """Store the zones' LMDB rows for the publisher, and return a reference to them.

    Return None if the storage can't be reached. The publisher then makes the rows itself.
    """
    try:
        return put_prepared(
            puts=((zone.zone_id, bytes(content[zone.ops_offset : zone.ops_offset + zone.ops_size])) for zone in zones),
            rows=sum(zone.op_count for zone in zones),
            digest=sum(int.from_bytes(zone.digest, "big") for zone in zones),
        )
    except StorageUnreachable as exc:
        logger.warning("rows are not prepared: %s", exc)
        return None


def _record_creation(piece: ImportPiece, publication: Publication, prepared: Prepared | None) -> None:
    if prepared is not None:
        record_prepared(sequence=publication.sequence, prepared=prepared)
    ImportPiece.objects.filter(pk=piece.pk).update(created_in=publication.sequence)


def _change(job: ImportJob, piece: ImportPiece, now: datetime) -> None:
    """Change the piece's existing zones, except those that changed since the dry run or can't be changed now."""
    zones = list(ImportZone.objects.filter(job=job, piece=piece.number, action__in=CHANGING_ACTIONS))
    if not zones:
        return
    existing = existing_zones([zone.name for zone in zones])
    as_seen = [zone for zone in zones if _is_as_seen(zone, existing.get(zone.name))]
    effects = [
        (zone, effect)
        for zone, effect in import_plan.effects(job, as_seen, existing)
        if effect.changes and not effect.faults and (effect.signatures is None or job_rights.may_sign(job))
    ]
    brought = {zone.name: effect.signatures for zone, effect in effects if effect.signatures is not None}
    known = with_source_chains(job, brought)
    signed = {zone.zone_id: known[zone.name] for zone, _ in effects if zone.name in known}
    chains = {zone_id: each.nsec3 for zone_id, each in signed.items()}
    pausing = _pause(job, effects, chains, now)
    changes = [ZoneChange(zone.zone_id, zone.base_revision, effect.changes) for zone, effect in effects]

    def in_transaction(publication: Publication) -> None:
        if signed:
            numbers = dict(
                Revision.objects.filter(publication=publication.sequence, zone__in=list(signed)).values_list(
                    "zone_id", "number"
                )
            )
            renew_presigned(
                zones=[
                    Renewed(zone_id, numbers[zone_id], each.nsec3, end_of(each.end), each.other_nsec3)
                    for zone_id, each in signed.items()
                    if zone_id in numbers
                ],
                now=now,
            )
        ImportPiece.objects.filter(pk=piece.pk).update(changed_in=publication.sequence)

    change_zones(
        changes=changes,
        acting=Acting(job_rights.actor_of_job(job), Channel.IMPORT, now, reason_of(job)),
        in_transaction=in_transaction,
    )
    # Zones that were paused but not changed.
    if pausing:
        resume_denial(
            zone_ids=pausing, acting=Acting(job_rights.actor_of_job(job), Channel.IMPORT, now, reason_of(job))
        )


def _pause(
    job: ImportJob,
    effects: Sequence[tuple[ImportZone, import_plan.Effect]],
    chains: Mapping[int, Nsec3 | None],
    now: datetime,
) -> list[int]:
    """Pause the denial of existence in presigned zones whose chain or very many RRsets change. Return their ids.

    The pause is a revision that belongs to the import. If the piece is started again, its zones are already paused.
    `chains` maps zone ids to the new chains.
    """
    states = signing_of_zones(list(chains))
    pausing = {
        zone.zone_id: zone
        for zone, effect in effects
        if zone.zone_id in chains and needs_pause(states[zone.zone_id], chains[zone.zone_id], len(effect.changes))
    }

    def in_transaction(zone_ids: Collection[int]) -> None:
        pks = [pausing[zone_id].pk for zone_id in zone_ids]
        ImportZone.objects.filter(pk__in=pks).update(base_revision=F("base_revision") + 1)

    if pausing:
        pause_denial(
            zone_ids=list(pausing),
            acting=Acting(job_rights.actor_of_job(job), Channel.IMPORT, now, reason_of(job)),
            in_transaction=in_transaction,
        )
        for zone in pausing.values():
            zone.refresh_from_db(fields=["base_revision"])
    return list(pausing)


def _is_as_seen(zone: ImportZone, current: ExistingZone | None) -> bool:
    return current is not None and (current.id, current.revision) == (zone.zone_id, zone.base_revision)


def _end(job: ImportJob, piece: ImportPiece) -> None:
    """Mark the piece as applied, and its existing zones that weren't changed as waiting."""
    with transaction.atomic(durable=True):
        piece.refresh_from_db(fields=["changed_in"])
        changed = Revision.objects.filter(publication=piece.changed_in).values("zone_id")
        ImportZone.objects.filter(job=job, piece=piece.number, action__in=CHANGING_ACTIONS).exclude(
            zone_id__in=changed
        ).update(action=Action.WAITING)
        scan.count_pieces(job.pk, [piece.number])
        ImportPiece.objects.filter(pk=piece.pk).update(state=PieceState.APPLIED)


def _wait(job: ImportJob, piece: ImportPiece, pks: Sequence[int]) -> None:
    with transaction.atomic(durable=True):
        ImportZone.objects.filter(pk__in=pks).update(action=Action.WAITING)
        scan.count_pieces(job.pk, [piece.number])
