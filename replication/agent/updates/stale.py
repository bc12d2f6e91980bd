"""Find the names whose answers a change to a zone's rows can alter. Only these must be purged from PowerDNS.

Purging `zone$` (a zone with all names below it) is always enough, but expensive. PowerDNS then walks every shard of
both caches (2 ms of processor time for each zone of any size), and drops the cached settings of *all* zones. Purging a
name costs microseconds. In a zone of moderate size, purging single names is enough for nearly every change:

- PowerDNS caches an answer under the queried name. An answer to an existing name is made of rows of names in the zone
  (CNAMEs that it follows, addresses that it adds) and of the SOA: all names of the zone are purged.
- A missing name is answered only from the SOA, as long as no wildcard, DNAME or delegation is above it. A change alters
  that answer only if it creates the name. Then the name is among the changed names, or above one of them.

Single names are therefore enough unless

- the zone has, had or gets a DNAME, a delegation, or its own signing rows: these answer for names without a row;
- a wildcard is added, deleted or changed. The answers of an unchanged wildcard are the same as long as its rows name no
  other name (_SELF_CONTAINED) and the same names exist, because a wildcard doesn't answer for an existing name or for
  names below it;
- its SOA changes in more than the serial. The serial is purged at the apex. It is also in negative answers to names
  without rows, and can be the previous one there for `cache-ttl` (5 or 20 s in our `pdns.conf`). Nothing transfers,
  compares or caches by that serial, and the rest of the answer is right;
- the zone is created or deleted, or its settings change: the segment then has operations on the main file;
- it has DNSSEC keys: the denial of a name contains its neighbors, and changes when they are added or deleted;
- it has more names than MAX_NAMES.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from replication.codec import keys, values
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.store.store import Store
from replication.wire.operations import OpKind, ZoneMark
from replication.wire.segment import Segment

# Beyond this, purging every name costs as much as purging the zone.
MAX_NAMES = 100
# A segment with more operations on records is a bulk change.
MAX_OPERATIONS = 1_000

_MAX_ROWS = 4 * MAX_NAMES
_WILDCARD = b"*\0"
_SIGNING = frozenset((46, 47, 50, 51))  # RRSIG, NSEC, NSEC3, NSEC3PARAM
_CUTS = frozenset((rdtypes.NS, rdtypes.DS))
# For these types PowerDNS answers without reading any other name.
_SELF_CONTAINED = frozenset((rdtypes.A, rdtypes.AAAA, rdtypes.TXT, rdtypes.CAA))


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """One push's change to an existing zone: the rows, and the body of the SOA row before the change."""

    zone_id: int
    name: str
    soa_before: bytes | None
    rows: set[tuple[bytes, int]] = field(default_factory=set)  # relative key and type
    absent: set[bytes] = field(default_factory=set)  # the keys among them that had no row before one of the changes

    def followed_by(self, later: "ZoneChange") -> "ZoneChange":
        """Return this change combined with a later change to the same zone."""
        rows, absent = self.rows | later.rows, self.absent | later.absent
        return ZoneChange(self.zone_id, self.name, self.soa_before, rows, absent)

    def stale_names(self, store: Store) -> list[str] | None:
        """Return the names to purge after the commit, or None to purge the zone and all names below it."""
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
            # A change can also have created the names between the apex and its own.
            names.update(each for each in (rel, *keys.ancestors(rel)) if each != keys.APEX)
        if len(names) > MAX_NAMES:
            return None
        return sorted(keys.name_from_relative_key(rel, self.name) for rel in names)


def changes_in(segment: Segment, marks: Iterable[ZoneMark], store: Store) -> list[ZoneChange]:
    """Return the segment's changes to its zones, or an empty list if whole zones must be purged anyway.

    Call this before applying the segment. `marks` are all marks of the segment.
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
    """Return True if a row of this name and type affects answers for names without a row."""
    if _is_wildcard(rel) or type == rdtypes.DNAME or type in _SIGNING:
        return True
    return type in _CUTS and rel != keys.APEX


def _is_harmless(rel: bytes, type: int) -> bool:
    """Return True if the row affects other names only through its content and the set of existing names."""
    return _is_wildcard(rel) and type in _SELF_CONTAINED


def _is_wildcard(rel: bytes) -> bool:
    return rel == _WILDCARD or rel.endswith(b"\0" + _WILDCARD)


def _differ_in_serial_alone(before: bytes | None, after: bytes | None) -> bool:
    """Return True if both are SOA rows that differ at most in the serial, 20 bytes before the rdata's end."""
    if before is None or after is None:
        return False
    one, other = values.decode_records(before), values.decode_records(after)
    return len(one) == len(other) == 1 and _without_serial(one[0]) == _without_serial(other[0])


def _without_serial(soa: values.StoredRecord) -> tuple[bytes, bytes, int]:
    return soa.content[:-20], soa.content[-16:], soa.ttl
