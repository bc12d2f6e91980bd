"""Merge RRsets three ways: the value when the edit began, the current value, and the author's new value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key, RRset, with_spellings_of

Changes = Mapping[Key, RRset | None]  # the new RRsets; None: deleted


@dataclass(frozen=True, slots=True)
class Edit:
    """A requested change. `change.before` is the RRset when the edit began. `operation_id` is None outside a draft."""

    change: Change
    operation_id: int | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """An RRset in an edit that has been changed to `theirs` in the zone since the edit began."""

    zone_name: str
    change: Change
    theirs: RRset | None
    operation_id: int | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge: changes to apply, changes that others have already published, and conflicts."""

    apply: tuple[Change, ...]
    already_so: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]


def merge(zone_name: str, edits: Iterable[Edit], current: Mapping[Key, RRset]) -> Merged:
    """Merge each edit with the zone's current content. Return the changes to the current content, and the conflicts.

    The author's version is used if only the SOA serial, or the case of names in rdata, differs.
    """
    apply, already_so, conflicts = [], [], []
    for edit in edits:
        change = edit.change
        found = current.get(change.key)
        if found is not None and found.notes.spellings and change.after is not None:
            change = replace(change, after=with_spellings_of(change.after, found))
        if is_already_so(found, change.after):
            already_so.append(Change(change.name, change.type, found, change.after))
        elif change.before == found:
            apply.append(change)
        elif soa.same_to_dns(change.before, found) or soa.same_to_dns(found, change.after):
            apply.append(Change(change.name, change.type, found, change.after))
        else:
            conflicts.append(Conflict(zone_name, change, found, edit.operation_id))
    return Merged(tuple(apply), tuple(already_so), tuple(conflicts))


def is_already_so(current: RRset | None, after: RRset | None) -> bool:
    """Return True if `after` changes nothing in the current RRset. An SOA with a higher serial is a change."""
    if current is None or after is None:
        return current is after
    if after.type == rdtypes.SOA:
        return soa.same(current, after) and not soa.serial_of(current) < soa.serial_of(after)
    return current == with_spellings_of(after, current)
