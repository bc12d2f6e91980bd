"""Change many zones, delete many zones, or undo changes, each in one publication. Verbs.

Each function uses one transaction and one sequence number. It reads and writes in bulk: the number of queries does not
depend on the number of zones. `in_transaction` runs inside the transaction once the sequence number is known. The
caller can therefore record it together with the published changes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Right, SystemRight, passes_rules
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import presigned_zones
from dnspanel.zones.dnssec.trust import newly_broken
from dnspanel.zones.errors import HookRefused
from dnspanel.zones.governance.parts import Part
from dnspanel.zones.governance.publish_guards import refused_zones
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Operation, Publication, RevisionKind, Zone
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.plan.deletion_guard import refuse_mass_deletion
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.plan.readable import unreadable_in
from dnspanel.zones.publishing.ready_zones import InTransaction, nothing, prefer_indexes
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import kept_from, locks_against
from dnspanel.zones.store import find_zones, store_rrsets
from dnspanel.zones.store.last_serials import note_last_serials
from dnspanel.zones.store.stored_changes import change_of
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key, RRset

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """New values for some of a zone's RRsets, chosen when the zone was at `base_revision`."""

    zone_id: int
    base_revision: int
    changes: Changes


@dataclass(frozen=True, slots=True)
class _Move:
    """A zone's next revision: its changed RRsets, and its SOA with the new serial."""

    zone: Zone
    changes: Sequence[Change]
    soa_before: RRset
    soa_after: RRset

    @property
    def growth(self) -> int:
        """The number of RRsets that the zone gains, negative if it loses RRsets."""
        return sum((change.before is None) - (change.after is None) for change in self.changes)

    @property
    def _kind(self) -> RevisionKind:
        if self.zone.is_catalog:
            return RevisionKind.LIST
        return RevisionKind.RESTORE if self.zone.waits_for_nodes else RevisionKind.CHANGE

    @property
    def _soa_change(self) -> list[Change]:
        """The change to the SOA as a list, or [] if the SOA stays the same (only with a fixed serial)."""
        before, after = self.soa_before, self.soa_after
        return [Change(self.zone.name, rdtypes.SOA, before, after)] if before != after else []

    def revision(self) -> NewRevision:
        """Return the revision for the change log. It also sends the zone to the nodes if no node has it yet."""
        added = sum(change.before is None for change in self.changes)
        removed = sum(change.after is None for change in self.changes)
        soa_changed = not soa.same(self.soa_before, self.soa_after)
        return NewRevision(
            zone_id=self.zone.pk,
            zone_name=self.zone.name,
            kind=self._kind,
            number=self.zone.revision + 1,
            serial=soa.serial_of(self.soa_after).value,
            rrset_count=self.zone.rrset_count + added - removed,
            added=added,
            changed=len(self.changes) - added - removed + soa_changed,
            removed=removed,
            changes=(*self.changes, *self._soa_change),
        )


@dataclass(frozen=True, slots=True)
class _Published:
    """The changes that one publication made in a zone, except the new serial."""

    name: str
    changes: list[Change]

    def taken_back(self, current: Mapping[Key, RRset]) -> tuple[dict[Key, RRset | None], list[Key]]:
        """Return the changes that undo this publication in the zone, and the keys of RRsets that can't be undone.

        An RRset can't be undone if it changed since then, or if a CNAME would be next to other data. An RRset that
        already equals its earlier state is in neither. `current` has all RRsets at the names of the published changes.
        """
        back: dict[Key, RRset | None] = {}
        stay = []
        for change in self.changes:
            found = current.get(change.key)
            if soa.same(found, change.before):
                continue
            if soa.same_to_dns(found, change.after):
                back[change.key] = change.before
            else:
                stay.append(change.key)
        crowded = _names_with_cname_and_more({**current, **back})
        stay += [key for key in back if key[0] in crowded]
        return {key: rrset for key, rrset in back.items() if key[0] not in crowded}, stay


def change_zones(
    *,
    changes: Sequence[ZoneChange],
    acting: Acting,
    in_transaction: InTransaction = nothing,
    by_transfer: bool = False,
    under: SystemRight | None = None,
) -> tuple[Publication | None, list[int]]:
    """Change zones in one publication, one revision each. Return the publication, or None if nothing changes.

    Also return the ids of skipped zones: deleted, no longer at their base revision, locked for these changes, rejected
    by a rule or publish hook, or transferred from a primary elsewhere. Equal RRsets are not written, and a zone without
    differences gets no revision. Each SOA gets a higher serial: the new SOA's own serial if that is higher. In a
    presigned zone and with `by_transfer`, the SOA is exactly the new one. With `by_transfer`, only zones with their
    primary elsewhere change. Nodes that don't have the zone yet get it. A zone never loses its SOA. Raise QuotaExceeded
    if a zone becomes too large, and IntegrityError if the database rejects a row. The caller checks the other rules.
    """
    by_zone = {change.zone_id: change for change in changes}

    def change(left: Mapping[int, str]) -> tuple[Publication | None, list[int]]:
        with transaction.atomic(durable=True):
            prefer_indexes()
            locked = _lock_zones(by_zone)
            zones = {
                id: zone
                for id, zone in locked.items()
                if zone.revision == by_zone[id].base_revision
                and by_transfer == bool(zone.transferred_from)
                and (passes_rules(under) or not kept_from(acting.author, zone, by_zone[id].changes))
            }
            decided = {id: by_zone[id].changes for id in zones}
            fixed = zones if by_transfer else presigned_zones(list(zones))
            moves = _moves(zones, _at_names(zones, decided), decided, acting.now, fixed)
            refused = _refused_by_rules(moves, acting.author, acting.reason, acting.now, under).union(left)
            moves = [move for move in moves if move.zone.pk not in refused]
            zone_quotas.refuse_larger(acting.author, [(move.zone, move.growth) for move in moves])
            publication = _carry_out(moves, acting, in_transaction, under)
        return publication, [id for id in by_zone if id not in zones or id in refused]

    return leaving_refused(change)


def delete_zones(
    *,
    zones: Sequence[tuple[int, int]],
    acting: Acting,
    in_transaction: InTransaction = nothing,
    confirmed: bool = False,
    under: SystemRight | None = None,
) -> tuple[Publication | None, list[int]]:
    """Delete zones, given as (id, expected revision), in one publication (None if nothing is deleted).

    Also return the ids of skipped zones: deleted, at another revision, locked, or rejected by a rule or publish hook.
    Operations on deleted zones are removed from all drafts. Raise RightMissing if the author isn't allowed to delete a
    zone, and MassDeletion for too many zones unless a person `confirmed` the deletion.
    """
    expected = dict(zones)

    def delete(left: Mapping[int, str]) -> tuple[Publication | None, list[int]]:
        with transaction.atomic(durable=True):
            if not confirmed:
                zones_to_delete = Zone.objects.filter(pk__in=list(expected))
                refuse_mass_deletion(author=acting.author, count=len(expected), now=acting.now, zones=zones_to_delete)
            prefer_indexes()
            found = {
                id: zone
                for id, zone in _lock_zones(expected).items()
                if zone.revision == expected[id] and (passes_rules(under) or not locks_against(acting.author, zone))
            }
            parts = {id: Part(id, RevisionKind.DELETE, ()) for id in found}
            refused = refused_zones(
                found.values(), parts, author=acting.author, reason=acting.reason, now=acting.now, under=under
            )
            refused = refused.union(left)
            found = {id: zone for id, zone in found.items() if id not in refused}
            for zone in found.values():
                access.require_right(acting.author, zone, Right.DELETE_ZONE)
            publication = None
            if found:
                revisions = into_trash(zones=found.values(), now=acting.now)
                publication = append_publication(revisions=revisions, acting=acting, under=under)
                in_transaction(publication)
        return publication, [id for id in expected if id not in found]

    return leaving_refused(delete)


def into_trash(*, zones: Iterable[Zone], now: datetime) -> list[NewRevision]:
    """Move locked zones to the trash, and return each zone's last revision.

    Remove the operations on these zones from all drafts. Store the last serials, so that a later zone with the same
    name begins above them. `append_publication` must follow in the same transaction.
    """
    by_id = {zone.pk: zone for zone in zones}
    Operation.objects.filter(zone__in=list(by_id)).delete()
    Zone.objects.filter(pk__in=list(by_id)).update(deleted_at=now)
    note_last_serials(zone_ids=by_id)
    return [
        NewRevision(zone.pk, zone.name, RevisionKind.DELETE, zone.revision + 1, zone.serial, zone.rrset_count)
        for zone in by_id.values()
    ]


def undo_zone_changes(
    *, sequence: int, acting: Acting, in_transaction: InTransaction = nothing, under: SystemRight | None = None
) -> tuple[Publication | None, list[tuple[str, str, int]]]:
    """Undo the changes of the publication `sequence` in one new publication, except RRsets that changed since.

    Also return the skipped RRsets as (zone name, name, type). Skipped are RRsets that changed since then, RRsets at
    names where a CNAME would be next to other data, and RRsets at locked names. DS that would break a zone of this
    panel, and values that some node can't read now, are skipped too. All RRsets of a zone are skipped if an approval
    rule, a freeze, a publish hook or a quota rejects the undo. The same applies to presigned and deleted zones, and,
    unless the panel is the author, to catalogs and zones with a primary elsewhere. A second undo changes nothing. Zones
    that the publication created, restored or deleted are ignored.
    """

    def undo(left: Mapping[int, str]) -> tuple[Publication | None, list[tuple[str, str, int]]]:
        with transaction.atomic(durable=True):
            prefer_indexes()
            published = _published_by(sequence)
            zones = _lock_zones(published)
            unedited = [id for id, zone in zones.items() if not zone.is_edited_here]
            for id in {*presigned_zones(list(zones)), *(unedited if acting.author is not None else [])}:
                del zones[id]
            current = _at_names(zones, {id: [change.key for change in published[id].changes] for id in zones})
            inverse: dict[int, dict[Key, RRset | None]] = {}
            kept: list[tuple[str, str, int]] = []
            for id, of_zone in published.items():
                if id in zones:
                    inverse[id], stay = of_zone.taken_back(current[id])
                    kept_here = set() if passes_rules(under) else kept_from(acting.author, zones[id], inverse[id])
                    locked_names = {name for name, _ in kept_here}
                    stay += [key for key in inverse[id] if key[0] in locked_names]
                    inverse[id] = {key: rrset for key, rrset in inverse[id].items() if key[0] not in locked_names}
                else:
                    stay = [change.key for change in of_zone.changes]
                kept += [(of_zone.name, *key) for key in stay]
            refused_keys = _breaking(inverse, current)
            if not passes_rules(under):
                refused_keys += _unreadable(zones, inverse)
            for id, key in refused_keys:
                if inverse[id].pop(key, None) is not None:
                    kept.append((zones[id].name, *key))
            moves = _moves(zones, current, inverse, acting.now)
            refused = _refused_by_rules(moves, acting.author, acting.reason, acting.now, under).union(left)
            refused |= zone_quotas.growing_too_large(acting.author, [(move.zone, move.growth) for move in moves]).keys()
            kept += [(zones[id].name, *key) for id in refused for key in inverse.get(id, ())]
            moves = [move for move in moves if move.zone.pk not in refused]
            publication = _carry_out(moves, acting, in_transaction, under)
        return publication, kept

    return leaving_refused(undo)


def leaving_refused(act: Callable[[Mapping[int, str]], R]) -> R:
    """Query the publish hooks, then run `act` without the zones that a hook rejected. Return the result of `act`.

    The argument of `act` maps the ids of rejected zones to the hooks' messages.
    """
    left: dict[int, str] = {}
    with_hooks = after_hooks(act)
    while True:
        try:
            return with_hooks(left)
        except HookRefused as refusal:
            if left.keys() >= refusal.zones.keys():
                raise
            left |= dict.fromkeys(refusal.zones, str(refusal))


def _refused_by_rules(
    moves: Sequence[_Move], author: Author, reason: str, now: datetime, under: SystemRight | None
) -> set[int]:
    parts = {move.zone.pk: Part(move.zone.pk, RevisionKind.CHANGE, move.changes) for move in moves}
    return refused_zones([move.zone for move in moves], parts, author=author, reason=reason, now=now, under=under)


def _breaking(decided: Mapping[int, Changes], current: Mapping[int, Mapping[Key, RRset]]) -> list[tuple[int, Key]]:
    """Return the zone ids and keys of DS RRsets that would make a currently valid zone of this panel bogus."""
    at = {
        key: (id, rrset)
        for id, changes in decided.items()
        for key, rrset in changes.items()
        if key[1] == rdtypes.DS and rrset is not None
    }
    before = {name: found.served for (name, type), (id, _) in at.items() if (found := current[id].get((name, type)))}
    broken = newly_broken(before, {name: rrset.served for (name, _), (_, rrset) in at.items()}) if at else {}
    return [(id, key) for key, (id, _) in at.items() if key[0] in broken]


def _unreadable(zones: Mapping[int, Zone], decided: Mapping[int, Changes]) -> list[tuple[int, Key]]:
    """Return the zone ids and keys of new RRsets with values that some node can't read."""
    coming = (
        (id, zones[id].name, rrset)
        for id, changes in decided.items()
        for rrset in changes.values()
        if rrset is not None
    )
    return [(id, (violation.name, violation.type)) for id, violation in unreadable_in(coming)]


def _lock_zones(zone_ids: Collection[int]) -> dict[int, Zone]:
    """Lock the zones with these ids, except deleted zones, and return them keyed by id."""
    return {zone.pk: zone for zone in find_zones.lock_zones(zone_ids)}


def _at_names(zones: Mapping[int, Zone], keys: Mapping[int, Iterable[Key]]) -> dict[int, dict[Key, RRset]]:
    """Return each zone's RRsets at the apex and at the names in the given keys."""
    return store_rrsets.rrsets_at_names(
        {id: (zone.name, {zone.name, *(name for name, _ in keys[id])}) for id, zone in zones.items()}
    )


def _moves(
    zones: Mapping[int, Zone],
    current: Mapping[int, Mapping[Key, RRset]],
    decided: Mapping[int, Changes],
    now: datetime,
    fixed: Collection[int] = (),
) -> list[_Move]:
    """Return the next revision of each zone whose RRsets differ from the decided ones, or that nodes don't have yet.

    For zones (by id) in `fixed`, the SOA is exactly the decided one, including its serial.
    """
    moves = []
    for id, afters in decided.items():
        zone, of_zone = zones[id], current[id]
        apex = zone.name, rdtypes.SOA
        before, after = of_zone[apex], afters.get(apex) or of_zone[apex]
        new_soa = after if id in fixed else soa.next_soa(before, after, zone.soa_edits, now)
        assert new_soa is not None
        changes = [
            Change(*key, found, rrset)
            for key, rrset in afters.items()
            if key != apex and (found := of_zone.get(key)) != rrset
        ]
        if changes or not soa.same(before, after) or (before != new_soa and id in fixed) or zone.waits_for_nodes:
            moves.append(_Move(zone, changes, before, new_soa))
    return moves


def _carry_out(
    moves: Sequence[_Move], acting: Acting, in_transaction: InTransaction, under: SystemRight | None
) -> Publication | None:
    """Write the RRsets, log the publication, and call `in_transaction`. Return None if nothing changes."""
    if not moves:
        return None
    revisions = [move.revision() for move in moves]
    if coming := [move.zone.pk for move in moves if move.zone.waits_for_nodes]:
        Zone.objects.filter(pk__in=coming).update(is_served=True)
    store_rrsets.write_changes((each.zone_id, each.zone_name, each.changes) for each in revisions)
    publication = append_publication(revisions=revisions, acting=acting, under=under)
    in_transaction(publication)
    return publication


def _names_with_cname_and_more(rrsets: Mapping[Key, RRset | None]) -> set[str]:
    present = [key for key, rrset in rrsets.items() if rrset is not None]
    aliases = {name for name, type in present if type == rdtypes.CNAME}
    return {name for name, type in present if type not in (rdtypes.CNAME, rdtypes.RRSIG) and name in aliases}


def _published_by(sequence: int) -> dict[int, _Published]:
    """Return the changes of a publication, keyed by zone id. Only revisions of the kind CHANGE count."""
    rows = StoredChange.objects.filter(revision__publication=sequence, revision__kind=RevisionKind.CHANGE)
    published: dict[int, _Published] = {}
    for row in rows.select_related("revision__zone").order_by("revision__zone_id", "owner_key", "type"):
        zone, change = row.revision.zone, change_of(row)
        of_zone = published.setdefault(zone.pk, _Published(zone.name, []))
        if not soa.same(change.before, change.after):
            of_zone.changes.append(change)
    return published
