"""Store complaints about published RRsets for searches, and keep them up to date. Verbs.

After a publication, its zones are checked. Small zones are checked completely. In a large zone, the check covers
changed RRsets, RRsets that point at them, and RRsets with complaints. RRsets of other zones that point at changed names
are checked too. A daily walk over all RRsets finds complaints with other causes. After an upgrade,
`search.warned_zones` refuses to answer until the first walk has ended.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.zones.complaints.complaints import Piece, against
from dnspanel.zones.models import Change, Complaint, ComplaintProgress, LogHead, Revision, RevisionKind, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.search.texts_upkeep import is_busy
from dnspanel.zones.store import store_rrsets, waiting_entries
from replication.codec.keys import APEX, name_from_relative_key, relative_key
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from replication.message_texts import format_text

RRSETS_AT_A_TIME = 2_000
RRSETS_OF_A_TURN = 20_000  # a few seconds
REVISIONS_AT_A_TIME = 500
# If a zone has more RRsets than this, a change does not cause a check of all of them.
SMALL_ZONE = 1_000
# Per batch of publications: the number of names that pointers are searched for, and of pointers for each name.
MOST_POINTED_AT = 1_000
_MOST_POINTERS = 20
_MOST_BELOW = 100  # names below a new or removed delegation or DNAME
_MOST_COMPLAINTS = 1_000  # complaints that are checked again, in a large zone or about a zone
# One walk a day, in small steps that use a hundredth of a processor.
WALK_EVERY = timedelta(days=1)
STEP = 500  # RRsets per turn without other work

_CUTS = (rdtypes.NS, rdtypes.DNAME)

_INSERT = """
INSERT INTO zones_complaint (zone_id, owner_key, type, "into", message)
SELECT * FROM unnest(%s::int[], %s::bytea[], %s::int[], %s::int[], %s::text[])
ON CONFLICT (zone_id, owner_key, type, "into") DO UPDATE SET message = excluded.message"""

_DELETE = """
DELETE FROM zones_complaint c
USING unnest(%s::int[], %s::bytea[], %s::int[], %s::int[]) AS gone (zone, owner, type, "into")
WHERE c.zone_id = gone.zone AND c.owner_key = gone.owner AND c.type = gone.type AND c."into" = gone."into\""""

StoredKey = tuple[int, bytes, int, int]  # zone, owner key, type, the other zone or OWN

logger = logging.getLogger(__name__)


def catch_up(*, now: datetime) -> int:
    """Check the RRsets that new publications affect, then those of the first walk. Return the number of RRsets checked.

    A turn ends after about RRSETS_OF_A_TURN RRsets. If nothing was checked and the first walk has ended, take a step of
    the daily walk and return 0. Only one worker checks at a time. Very large publications stop all checks except the
    daily walk. Interrupted turns are repeated.
    """
    looked_at = 0
    with hold_lock(Lock.COMPLAINTS) as is_mine:
        at = _progress(now) if is_mine else None
        while at is not None and looked_at < RRSETS_OF_A_TURN and not is_busy(at.sequence, now):
            found = _follow(at, now)
            if found is None and not at.is_complete:
                found = _walk(at, now, RRSETS_AT_A_TIME)
            if found is None:
                break
            looked_at += found
        if at is not None and looked_at == 0 and at.is_complete:
            if at.zone_id is None and now - at.walk_began_at >= WALK_EVERY:
                at.zone_id, at.owner_key, at.walk_began_at = 0, b"", now
            if at.zone_id is not None:
                _walk(at, now, STEP)
    if looked_at:
        logger.info("complaints rrsets=%d", looked_at)
    return looked_at


def _progress(now: datetime) -> ComplaintProgress:
    """Return the progress of the checks. The first call creates it, with a walk over everything published so far."""
    found = ComplaintProgress.objects.first()
    if found is None:
        head = LogHead.objects.values_list("sequence", flat=True).get()
        found = ComplaintProgress.objects.create(sequence=head, walk_began_at=now)
    return found


def _walk(at: ComplaintProgress, now: datetime, most: int) -> int | None:
    """Check the next RRsets of the walk. Return the number of RRsets checked, or None if no walk is in progress."""
    if at.zone_id is None:
        return None
    place = at.zone_id, bytes(at.owner_key)
    rows, is_end = _full_names(*place, most)
    last = (2**31 - 1, b"") if is_end else rows[-1][:2]
    by_zone: dict[int, list[RRset]] = {}
    for zone_id, _, rrset in rows:
        by_zone.setdefault(zone_id, []).append(rrset)
    alive = Zone.objects.filter(deleted_at=None).in_bulk(by_zone)
    pieces = [Piece(alive[zone_id], rrsets) for zone_id, rrsets in by_zone.items() if zone_id in alive]
    between = Q(zone__gt=place[0]) | Q(zone=place[0], owner_key__gt=place[1])
    between &= Q(zone__lt=last[0]) | Q(zone=last[0], owner_key__lte=last[1])
    at.zone_id, at.owner_key = (None, b"") if is_end else last
    at.is_complete = at.is_complete or is_end
    with transaction.atomic():
        _write(pieces, Complaint.objects.filter(between), now)
        at.save()
    return len(rows)


def _follow(at: ComplaintProgress, now: datetime) -> int | None:
    """Check the next publications. Return the number of RRsets checked, or None if no publication is left."""
    behind = Revision.objects.filter(publication__gt=at.sequence)
    last = list(behind.order_by("publication").values_list("publication_id", flat=True)[:REVISIONS_AT_A_TIME])
    if not last:
        return None
    # Publications are processed as a whole, and more revisions of the last one may follow.
    upto = last[-1] if len(last) < REVISIONS_AT_A_TIME or last[0] == last[-1] else last[-1] - 1
    revisions = behind.filter(publication__lte=upto)
    found = 0
    zone_ids = sorted(set(revisions.values_list("zone_id", flat=True)))
    for start in range(0, len(zone_ids), REVISIONS_AT_A_TIME):
        found += _look_at(revisions, zone_ids[start : start + REVISIONS_AT_A_TIME], now)
    at.sequence = upto
    at.save(update_fields=["sequence"])
    return found


def _look_at(revisions: "QuerySet[Revision]", zone_ids: Sequence[int], now: datetime) -> int:
    """Check all RRsets that these zones' revisions affect, even in other zones. Return the number checked.

    Delete the complaints about RRsets of deleted zones.
    """
    every = Zone.objects.in_bulk(zone_ids)
    zones = {pk: zone for pk, zone in every.items() if zone.deleted_at is None}
    of_zones = revisions.filter(zone__in=zone_ids)
    other = set(of_zones.exclude(kind=RevisionKind.CHANGE).values_list("zone_id", flat=True))
    large = {pk for pk, zone in zones.items() if zone.rrset_count > SMALL_ZONE}
    changed: dict[int, dict[bytes, set[int]]] = {}
    rows = Change.objects.filter(revision__in=of_zones).values_list("revision__zone_id", "owner_key", "type")
    for zone_id, owner_key, type in rows:
        changed.setdefault(zone_id, {}).setdefault(bytes(owner_key), set()).add(type)
    Complaint.objects.filter(zone__in=set(zone_ids) - zones.keys()).delete()
    found = _look_at_all([zone for pk, zone in sorted(zones.items()) if pk not in large], now)
    for zone_id in sorted(large & other):
        found += _look_at_large(zones[zone_id], now)
    again = _Again()
    for zone_id in sorted(large - other):
        again.add_changes(zones[zone_id], changed.get(zone_id, {}))
    targets = {
        name_from_relative_key(key, every[zone_id].name)
        for zone_id, keys in changed.items()
        if zone_id in every
        for key in keys
    }
    came_or_went = StoredRRset.objects.filter(zone__in=other).values_list("name", flat=True)
    targets.update(came_or_went[: MOST_POINTED_AT + 1] if other else ())
    again.add_pointers(targets)
    again.add_leading_into(zone_ids)
    again.leave_out(set(zone_ids) - (large - other))
    return found + _look_at_names(again.names, now)


@dataclass(slots=True)
class _Again:
    """The owner keys that need another check, by zone id."""

    names: dict[int, set[bytes]] = field(default_factory=dict)

    def add_changes(self, zone: Zone, changed: Mapping[bytes, Set[int]]) -> None:
        """Add a large zone's changed names, names below a changed delegation or DNAME, and names with complaints."""
        keys = self.names.setdefault(zone.pk, set())
        keys.update(changed)
        cuts = [
            (zone.pk, zone.name, name_from_relative_key(key, zone.name), _MOST_BELOW)
            for key, types in changed.items()
            if key != APEX and not types.isdisjoint(_CUTS)
        ]
        for below in store_rrsets.rrsets_below(cuts):
            keys.update(relative_key(rrset.name, zone.name) for rrset in below)
        before = Complaint.objects.filter(zone=zone).values_list("owner_key", flat=True)
        keys.update(map(bytes, before[:_MOST_COMPLAINTS]))

    def add_pointers(self, targets: Collection[str]) -> None:
        """Add RRsets that point at these names, _MOST_POINTERS for each. Skip more than MOST_POINTED_AT names."""
        if not 0 < len(targets) <= MOST_POINTED_AT:
            return
        waiting_entries.sort_in(waiting_entries.RDATA)  # otherwise each of these names would read all waiting entries
        rows = store_rrsets.rrsets_pointing_at(targets, _MOST_POINTERS)
        names = dict(Zone.objects.filter(pk__in={pk for _, pk, _ in rows}).values_list("pk", "name"))
        for _, zone_id, rrset in rows:
            self.names.setdefault(zone_id, set()).add(relative_key(rrset.name, names[zone_id]))

    def add_leading_into(self, zone_ids: Collection[int]) -> None:
        """Add RRsets of other zones whose complaints refer to these zones, at most _MOST_COMPLAINTS."""
        rows = Complaint.objects.filter(into__in=zone_ids).exclude(into=0).values_list("zone_id", "owner_key")
        for zone_id, key in rows[:_MOST_COMPLAINTS]:
            self.names.setdefault(zone_id, set()).add(bytes(key))

    def leave_out(self, zone_ids: Collection[int]) -> None:
        """Remove zones that were checked completely."""
        for zone_id in zone_ids:
            self.names.pop(zone_id, None)


def _look_at_all(zones: Sequence[Zone], now: datetime) -> int:
    """Check all RRsets of small zones. Return the number of RRsets checked."""
    found = 0
    for some in _batches(zones):
        rrsets = store_rrsets.rrsets_of_zones([zone.pk for zone in some])
        pieces = [Piece(zone, list(rrsets[zone.pk].values())) for zone in some]
        with transaction.atomic():
            _write(pieces, Complaint.objects.filter(zone__in=some), now)
        found += sum(len(piece.rrsets) for piece in pieces)
    return found


def _batches(zones: Sequence[Zone]) -> Iterator[list[Zone]]:
    """Yield the zones in batches of about RRSETS_AT_A_TIME RRsets."""
    batch: list[Zone] = []
    count = 0
    for zone in zones:
        batch.append(zone)
        count += zone.rrset_count
        if count >= RRSETS_AT_A_TIME:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def _look_at_large(zone: Zone, now: datetime) -> int:
    """Check all RRsets of a large zone in portions. Return the number of RRsets checked."""
    found, place = 0, (zone.pk - 1, store_rrsets.BEHIND_ALL_KEYS)
    is_end = False
    while not is_end:
        rows, is_end = _full_names(*place, RRSETS_AT_A_TIME)
        keys = {key for zone_id, key, _ in rows if zone_id == zone.pk}
        if not keys:
            break
        found += _look_at_names({zone.pk: keys}, now)
        place = rows[-1][:2]
    return found


def _full_names(zone_id: int, owner_key: bytes, most: int) -> tuple[list[tuple[int, bytes, RRset]], bool]:
    """Return about `most` RRsets after a name, with zone ids and owner keys, and whether these are the last ones.

    If more RRsets follow, the last name is omitted (unless it is the only one), because it can be incomplete.
    """
    rows = store_rrsets.rrsets_behind(zone_id, owner_key, most)
    if len(rows) < most:
        return rows, True
    last = rows[-1][:2]
    before = [row for row in rows if row[:2] != last]
    return before or rows, False


def _look_at_names(names: Mapping[int, Collection[bytes]], now: datetime) -> int:
    """Check all RRsets at these names ({zone id: owner keys}). Return the number of RRsets checked."""
    zones = Zone.objects.filter(deleted_at=None).in_bulk(names)
    found = 0
    for some in _some_names(names):
        here = {pk: (zones[pk].name, some[pk]) for pk in some if pk in zones}
        wanted = {pk: (name, [name_from_relative_key(key, name) for key in keys]) for pk, (name, keys) in here.items()}
        rrsets = store_rrsets.rrsets_at_names(wanted) if wanted else {}
        pieces = [Piece(zones[pk], list(of_zone.values())) for pk, of_zone in rrsets.items()]
        among = Q(pk__in=[])
        for pk, keys in some.items():
            among |= Q(zone=pk, owner_key__in=keys)
        with transaction.atomic():
            _write(pieces, Complaint.objects.filter(among), now)
        found += sum(len(piece.rrsets) for piece in pieces)
    return found


def _some_names(names: Mapping[int, Collection[bytes]]) -> Iterator[dict[int, list[bytes]]]:
    some: dict[int, list[bytes]] = {}
    count = 0
    for zone_id, keys in names.items():
        for key in sorted(keys):
            some.setdefault(zone_id, []).append(key)
            count += 1
            if count == RRSETS_AT_A_TIME:
                yield some
                some, count = {}, 0
    if some:
        yield some


def _write(pieces: Sequence[Piece], before: "QuerySet[Complaint]", now: datetime) -> None:
    """Replace the stored complaints `before` with the current complaints about `pieces`."""
    wanted: dict[StoredKey, str] = {}
    names = {piece.zone.pk: piece.zone.name for piece in pieces}
    for zone_id, said in against([piece for piece in pieces if piece.rrsets], now).items():
        for ((name, type), into), message in said.items():
            wanted[zone_id, relative_key(name, names[zone_id]), type, into] = format_text(message)
    # Messages in their stored form: formatting and parsing them again would take most of the time.
    rows = before.values_list("zone_id", "owner_key", "type", "into", Cast("message", TextField()))
    present = {(zone, bytes(key), type, into): message for zone, key, type, into, message in rows}
    gone = [key for key in present if key not in wanted]
    new = [(*key, message) for key, message in wanted.items() if present.get(key) != message]
    with connection.cursor() as cursor:
        if gone:
            cursor.execute(_DELETE, _columns(gone))
        if new:
            cursor.execute(_INSERT, _columns(new))


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [list(column) for column in zip(*rows, strict=True)]
