"""Start a new log epoch, after nodes were found to have data that this database lacks. Verbs.

A person decides what happens to that data. One transaction begins the epoch and publishes all decisions. If it fails,
publishing stays on hold.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connection, transaction

from dnspanel.accounts.actors.actors import Author, SystemRight, user_of
from dnspanel.accounts.audit import audit
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import presigned_zones
from dnspanel.zones.errors import NotOnHold
from dnspanel.zones.log import publish_hold
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.models import Channel, Epoch, LogHead, RevisionKind, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing import bulk, ready_zones
from dnspanel.zones.publishing.lost_keys import LostSigning, take_over_signings
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.last_serials import last_serials
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, RRset, Serial

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NewZone:
    """A zone that only nodes have, with all its RRsets. It keeps its id from the nodes if that id is free here."""

    node_zone_id: int
    name: str
    rrsets: Sequence[RRset]
    signing: LostSigning | None = None


@dataclass(frozen=True, slots=True)
class ChangedZone:
    """New values for some RRsets of a zone in this panel; None deletes an RRset. A deleted zone is restored.

    The zone's new serial is above `node_serial` even if no RRset changes. Only a presigned zone keeps the serial of its
    signed SOA. `signing` is the zone's new DNSSEC signing; None keeps the current one.
    """

    zone_id: int
    node_serial: Serial | None
    changes: Changes
    signing: LostSigning | None = None


@dataclass(frozen=True, slots=True)
class GoneZone:
    """A zone of this panel to move to the trash."""

    zone_id: int


Outcome = NewZone | ChangedZone | GoneZone


@dataclass(frozen=True, slots=True)
class Known:
    """The highest known sequence and zone id, which the new epoch must exceed, and the ids of lost epochs."""

    sequence: int
    zone_id: int
    epochs: Collection[UUID] = ()


def begin_epoch(
    *,
    batches: Iterable[Sequence[Outcome]],
    known: Known,
    by: Author,
    reason: str,
    now: datetime,
    in_transaction: Callable[[Epoch], object],
) -> Epoch:
    """Begin a new epoch, publish everything in `batches` in it, and end the hold. Return the epoch.

    1. Lock the log head, so that no one else can publish until the end.
    2. Open the epoch above every known sequence and zone id.
    3. Publish each batch as one publication of the new epoch.
    4. Write the audit log and call `in_transaction`, in the same transaction.

    Raise NotOnHold if publishing isn't on hold. Raise NamesRefused if a new or restored zone is above or below a zone
    in which `by` is not allowed to change every record. Raise IntegrityError for content that the database rejects.
    After an error, nothing is changed. Refused suffixes are not checked, because nodes already serve them.
    """
    with transaction.atomic(durable=True):
        nesting.take_turns(by)  # before the head is locked, because others hold this lock while they wait for the head
        head = LogHead.objects.select_for_update().get()
        if not head.held_reason:
            raise NotOnHold
        after = max(head.sequence, known.sequence)
        epoch = _open(after, known, by, reason, now)
        for batch in batches:
            _publish(batch, by, reason, now)
        audit.record(
            action="epoch.begin",
            by=by,
            now=now,
            target=str(epoch.epoch),
            reason=reason,
            after=after,
            held=head.held_reason,
            before=str(head.epoch),
        )
        in_transaction(epoch)
    logger.warning("a new epoch begins epoch=%s after=%s reason=%s", epoch.epoch, after, reason)
    return epoch


def _open(after: int, known: Known, by: Author, reason: str, now: datetime) -> Epoch:
    for lost in known.epochs:
        explanation = "a history that only nodes knew: the panel was restored from a backup older than it"
        Epoch.objects.get_or_create(epoch=lost, defaults={"began_at": now, "began_after": 0, "reason": explanation})
    epoch = Epoch.objects.create(epoch=uuid4(), began_at=now, began_after=after, reason=reason, by=user_of(by))
    LogHead.objects.update(epoch=epoch.epoch, sequence=after)
    publish_hold.release()
    with connection.cursor() as cursor:
        # Never lower the sequence: ids that were used here stay used.
        cursor.execute(
            "SELECT setval(ids, greatest(%s, nextval(ids))) FROM (SELECT pg_get_serial_sequence('zones_zone', 'id')::"
            "regclass AS ids) AS of_zones",
            [known.zone_id],
        )
    return epoch


def _publish(batch: Sequence[Outcome], by: Author, reason: str, now: datetime) -> None:
    """Publish one revision of each zone in the batch, all in one publication."""
    ready_zones.prefer_indexes()
    of_ours = {each.zone_id: each for each in batch if not isinstance(each, NewZone)}
    zones = {zone.pk: zone for zone in Zone.objects.select_for_update(no_key=True).filter(pk__in=list(of_ours))}
    deleted = [zone for zone in zones.values() if isinstance(of_ours[zone.pk], GoneZone) and zone.deleted_at is None]
    gone = bulk.into_trash(zones=deleted, now=now)  # first, because another zone may take the name
    created = [each for each in batch if isinstance(each, NewZone)]
    new = _insert(_with_ids(created), by, now)
    moves = list(_moves(zones, [each for each in batch if isinstance(each, ChangedZone)]))
    Zone.objects.filter(pk__in=[move.zone.pk for move in moves]).update(deleted_at=None)
    _refuse_others([*new, *(move.zone for move in moves if move.zone.deleted_at)], by)
    store_rrsets.write_changes((move.zone.pk, move.zone.name, move.changes) for move in moves)
    signings = [(zone.id, zone.name, 1, each.signing) for zone, each in zip(new, created, strict=True) if each.signing]
    for move in moves:
        decided = of_ours[move.zone.pk]
        if isinstance(decided, ChangedZone) and decided.signing:
            signings.append((move.zone.pk, move.zone.name, move.zone.revision + 1, decided.signing))
    take_over_signings(signings, by=by, now=now)
    revisions = [*gone, *ready_zones.creations(new), *(move.revision() for move in moves)]
    if revisions:
        append_publication(
            revisions=revisions, acting=Acting(by, Channel.SYSTEM, now, reason), under=SystemRight.REPAIR
        )


def _refuse_others(live: Sequence[ready_zones.BulkZone | Zone], by: Author) -> None:
    nesting.refuse_rights(zone_names=[zone.name for zone in live], own=[zone.id for zone in live], author=by)


def _with_ids(zones: Sequence[NewZone]) -> list[tuple[ready_zones.BulkZone, list[RRset]]]:
    """Return the zones with their new ids, each with its RRsets. The SOA has the next serial unless it is presigned."""
    preferred = [zone.node_zone_id for zone in zones]
    taken = set(Zone.objects.filter(pk__in=preferred).values_list("pk", flat=True))
    fresh = iter(ready_zones.allocate_zone_ids(len(taken))) if taken else iter(())
    made = []
    for zone in zones:
        id = next(fresh) if zone.node_zone_id in taken else zone.node_zone_id
        is_fixed = zone.signing is not None and zone.signing.state.presigned
        rrsets = [_moved_on(rrset) if rrset.type == rdtypes.SOA and not is_fixed else rrset for rrset in zone.rrsets]
        serial = next(soa.serial_of(rrset).value for rrset in rrsets if rrset.type == rdtypes.SOA)
        made.append((ready_zones.BulkZone(id, zone.name, serial, len(rrsets)), rrsets))
    return made


def _moved_on(rrset: RRset) -> RRset:
    return soa.with_serial(rrset, soa.serial_of(rrset).next)


def _insert(
    new: Sequence[tuple[ready_zones.BulkZone, Sequence[RRset]]], by: Author, now: datetime
) -> Sequence[ready_zones.BulkZone]:
    if not new:
        return ()
    rows = (store_rrsets.rows_of_zone(zone.id, zone.name, rrsets) for zone, rrsets in new)
    return ready_zones.insert_zones(zones=[zone for zone, _ in new], rows=rows, author=by, now=now)


@dataclass(frozen=True, slots=True)
class _Move:
    zone: Zone
    serial: Serial
    changes: Sequence[Change]  # includes the SOA, unless the zone is presigned

    def revision(self) -> NewRevision:
        counted = [change for change in self.changes if not soa.same(change.before, change.after)]
        added = sum(change.before is None for change in counted)
        removed = sum(change.after is None for change in counted)
        return NewRevision(
            zone_id=self.zone.pk,
            zone_name=self.zone.name,
            kind=RevisionKind.CHANGE if self.zone.deleted_at is None else RevisionKind.RESTORE,
            number=self.zone.revision + 1,
            serial=self.serial.value,
            rrset_count=self.zone.rrset_count + added - removed,
            added=added,
            changed=len(counted) - added - removed,
            removed=removed,
            changes=self.changes,
        )


def _moves(zones: Mapping[int, Zone], decided: Sequence[ChangedZone]) -> Iterator[_Move]:
    near = store_rrsets.rrsets_at_names(
        {z.zone_id: (zones[z.zone_id].name, {zones[z.zone_id].name, *(n for n, _ in z.changes)}) for z in decided}
    )
    presigned = presigned_zones(list(near))
    last = last_serials([zone.name for zone in zones.values() if zone.deleted_at is not None])
    for each in decided:
        zone, current = zones[each.zone_id], near[each.zone_id]
        apex = zone.name, rdtypes.SOA
        before = current[apex]
        after = each.changes.get(apex) or before
        is_fixed = each.signing.state.presigned if each.signing else each.zone_id in presigned
        if not is_fixed:
            serial = soa.above(soa.serial_of(before), each.node_serial)
            after = soa.with_serial(after, soa.beyond(serial, last.get(zone.name)))
        all_changes = [Change(*key, current.get(key), rrset) for key, rrset in each.changes.items() if key != apex]
        changes = [change for change in (*all_changes, Change(*apex, before, after)) if change.before != change.after]
        if changes or each.signing or zone.deleted_at is not None:
            yield _Move(zone, soa.serial_of(after), changes)
