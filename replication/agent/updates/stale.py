"""The names whose answers a change of a zone's rows may alter: only these names must be forgotten by PowerDNS.

Forgetting `zone$`, a zone with all below it, is always enough, and expensive: PowerDNS then walks every shard of both
its caches, 2 ms of processor time for each zone whatever it holds, and forgets the settings of *all* zones. Forgetting
a name costs microseconds. In a zone of moderate size, purging single names is enough for nearly every change:

- PowerDNS caches an answer under the name asked. An answer to an existing name is made of rows of names in the zone
  (CNAMEs that it follows, addresses that it adds) and of the SOA: all names of the zone are forgotten.
- A missing name is answered from the SOA only, while no wildcard, DNAME or delegation is above it. The change gives it
  another answer only by making it exist; then it is among the changed names, or above one.

So single names are enough unless

- the zone has, had or gets a DNAME, a delegation, or rows of its own signing: these answer for names without a row;
- a wildcard comes, goes or changes. An unchanged one answers as before while its rows name no other name
  (_SELF_CONTAINED) and the same names exist: a name that comes or goes takes names below it from a wildcard, or gives
  them to it;
- its SOA changes in more than the serial. The serial itself is forgotten at the apex. It is also in negative answers to
  names without rows, and may be the previous one there for `cache-ttl` (5 or 20 s in our `pdns.conf`): no one
  transfers, compares or caches by it, and all else in that answer is right;
- the zone appears or goes, or its settings change: the segment then has operations on the main file;
- it has DNSSEC keys: the denial of a name has its neighbours, and changes when they come or go;
- it has more names than MAX_NAMES.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from replication.codec import keys, values
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.store.store import Store
from replication.wire.operations import OpKind, ZoneMark
from replication.wire.segment import Segment

# Beyond this, forgetting every name costs what forgetting the zone costs.
MAX_NAMES = 100
# A segment with more operations on records is bulk work.
MAX_OPERATIONS = 1_000

_MAX_ROWS = 4 * MAX_NAMES
_WILDCARD = b"*\0"
_SIGNING = frozenset((46, 47, 50, 51))  # RRSIG, NSEC, NSEC3, NSEC3PARAM
_CUTS = frozenset((rdtypes.NS, rdtypes.DS))
# Of these PowerDNS makes an answer without reading any other name.
_SELF_CONTAINED = frozenset((rdtypes.A, rdtypes.AAAA, rdtypes.TXT, rdtypes.CAA))


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """What one push changes in one zone that stays: the rows, and the body of the SOA's row before the first change."""

    zone_id: int
    name: str
    soa_before: bytes | None
    rows: set[tuple[bytes, int]] = field(default_factory=set)  # relative key and type
    absent: set[bytes] = field(default_factory=set)  # of those keys, the ones that had no row before one of the changes

    def followed_by(self, later: "ZoneChange") -> "ZoneChange":
        """Combine both changes."""
        rows, absent = self.rows | later.rows, self.absent | later.absent
        return ZoneChange(self.zone_id, self.name, self.soa_before, rows, absent)

    def stale_names(self, store: Store) -> list[str] | None:
        """Return the names to forget after the commit, or None if the zone and all below it must be forgotten."""
        if store.has_keys(self.name):
            return None
        zone = store.rows(self.zone_id)
        apex = dict(zone.at(keys.APEX))
        below = islice(((rel, type) for rel, type, _ in zone.below(keys.APEX)), _MAX_ROWS + 1)
        present = [*((keys.APEX, type) for type in apex), *below]
        if len(present) > _MAX_ROWS or any(_answers_for_others(*row) for row in self.rows):
            return None
        if not _differ_in_serial_alone(self.soa_before, apex.get(rdtypes.SOA)):
            return None
        names = {keys.APEX, *(rel for rel, _ in present)}
        same_names = not self.absent and all(rel in names for rel, _ in self.rows)
        if any(_answers_for_others(*row) and not (same_names and _is_harmless(*row)) for row in present):
            return None
        for rel, _ in self.rows:
            names.update(_with_those_above(rel))
        if len(names) > MAX_NAMES:
            return None
        return sorted(keys.name_from_relative_key(rel, self.name) for rel in names)


def changes_in(segment: Segment, marks: Iterable[ZoneMark], store: Store) -> list[ZoneChange]:
    """Return the changes in the segment's zones before it is applied; empty if single names are not enough.

    `marks` are all of the segment's.
    """
    if segment.main_op_count or segment.record_op_count > MAX_OPERATIONS:
        return []
    changes = {
        keys.zone_prefix(mark.zone_id): ZoneChange(
            mark.zone_id, mark.name, store.rows(mark.zone_id).get(keys.APEX, rdtypes.SOA)
        )
        for mark in marks
    }
    for op in segment.ops():
        change = changes.get(op.key[:4])
        if op.dbi is not Dbi.RECORDS or op.kind is OpKind.DELETE_PREFIX or change is None:
            return []
        change.rows.add((op.key[4:-3], int.from_bytes(op.key[-2:], "big")))
    for change in changes.values():
        rows = store.rows(change.zone_id)
        change.absent.update(rel for rel in {rel for rel, _ in change.rows} if not rows.at(rel))
    return list(changes.values())


def _answers_for_others(rel: bytes, type: int) -> bool:
    """Return True if a row of this name and type makes answers to names without a row."""
    if _is_wildcard(rel) or type == rdtypes.DNAME or type in _SIGNING:
        return True
    return type in _CUTS and rel != keys.APEX


def _is_harmless(rel: bytes, type: int) -> bool:
    """Return True if a row's answers to other names do not change while the row and the existing names do not."""
    return _is_wildcard(rel) and type in _SELF_CONTAINED


def _is_wildcard(rel: bytes) -> bool:
    return rel == _WILDCARD or rel.endswith(b"\0" + _WILDCARD)


def _differ_in_serial_alone(before: bytes | None, after: bytes | None) -> bool:
    """Return True if both are rows of an SOA, equal except the serial, which is 20 bytes before the rdata's end."""
    if before is None or after is None:
        return False
    one, other = values.decode_records(before), values.decode_records(after)
    return len(one) == len(other) == 1 and _without_serial(one[0]) == _without_serial(other[0])


def _without_serial(soa: values.StoredRecord) -> tuple[bytes, bytes, int]:
    return soa.content[:-20], soa.content[-16:], soa.ttl


def _with_those_above(rel: bytes) -> Iterator[bytes]:
    """Yield the name, and every name between it and the apex: those without rows exist with it, and go with it."""
    while rel != keys.APEX:
        yield rel
        rel = keys.parent_key(rel)
