"""Three-way merge, per RRset: what it was when the edit began, what it is now, what the author wants."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dnspanel.zones import soa
from replication.dns import rdtypes
from replication.dns.rrset import RRset

Key = tuple[str, int]  # owner name and type


@dataclass(frozen=True, slots=True)
class Edit:
    """What an author wants of one RRset, and what it was when the edit began; None means absent."""

    operation_id: int | None
    name: str
    type: int
    base: RRset | None
    wanted: RRset | None

    @property
    def key(self) -> Key:
        return self.name, self.type


@dataclass(frozen=True, slots=True)
class Conflict:
    """An RRset that others changed (base → theirs) while the draft changes it too (base → mine); None means absent."""

    operation_id: int | None
    zone_name: str
    name: str
    type: int
    base: RRset | None
    theirs: RRset | None
    mine: RRset | None


@dataclass(frozen=True, slots=True)
class Merged:
    """The edits that apply, those that others have published already, and those that clash."""

    apply: tuple[Edit, ...]
    already_so: tuple[Edit, ...]
    conflicts: tuple[Conflict, ...]


def merge(zone_name: str, edits: Iterable[Edit], now: Mapping[Key, RRset]) -> Merged:
    """Decide about each edit by what the zone holds `now`; the SOA's serial is never a difference."""
    apply, already_so, conflicts = [], [], []
    for edit in edits:
        theirs = now.get(edit.key)
        if is_already_so(theirs, edit.wanted):
            already_so.append(edit)
        elif soa.same(edit.base, theirs):
            apply.append(edit)
        else:
            conflicts.append(
                Conflict(edit.operation_id, zone_name, edit.name, edit.type, edit.base, theirs, edit.wanted)
            )
    return Merged(tuple(apply), tuple(already_so), tuple(conflicts))


def is_already_so(now: RRset | None, wanted: RRset | None) -> bool:
    """True when wanting this changes nothing; a SOA with a greater serial is a change."""
    if now is not None and wanted is not None and wanted.type == rdtypes.SOA:
        return soa.same(now, wanted) and not soa.serial_of(now) < soa.serial_of(wanted)
    return now == wanted
