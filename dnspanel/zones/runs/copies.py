"""Compute the effect of copying RRsets to another zone that may already have them. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dnspanel.accounts.models import User
from dnspanel.texts import gettext
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.lists.selection import Selection
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.many_rrsets import Refused
from dnspanel.zones.publishing.clone import is_of_one_name, move_to_zone
from dnspanel.zones.rights.access import refuse_changes
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset, make
from replication.errors import ReplicationError

_OF_ONE_VALUE = frozenset({rdtypes.CNAME, rdtypes.DNAME})
_OF_THE_APEX = frozenset({rdtypes.SOA, rdtypes.NS})


class Existing(StrEnum):
    """The action for an RRset that the target zone already has: keep it, replace it, or add the copy's values."""

    SKIP = "skip"
    REPLACE = "replace"
    MERGE = "merge"


@dataclass(slots=True)
class Copies:
    """The effect of copying RRsets to the target zone.

    `kept` counts RRsets that the target already has and keeps. `left_out` counts RRsets that are never copied.
    """

    changes: list[Change] = field(default_factory=list)
    unchanged: int = 0
    kept: int = 0
    left_out: int = 0
    refused: list[Refused] = field(default_factory=list)

    @property
    def afters(self) -> Mapping[Key, RRset | None]:
        """The target's RRsets after the changes, keyed by name and type."""
        return {change.key: change.after for change in self.changes}


def copies_of(*, selection: Selection, source: Zone, target: Zone, author: User, existing: Existing) -> Copies:
    """Return the effect of copying the selected RRsets to the target. Raise TooMany if too many are selected.

    The author's draft is included in both zones. Names in the source zone become names in the target zone. The source's
    own SOA and NS are omitted, and so are keys, signatures and DS. Copies that are impossible or that the author isn't
    allowed to make in the target are rejected.
    """
    copies = Copies()
    made: dict[Key, RRset] = {}
    for row in selection.rows(zone=source, author=author):
        rrset = row.change.after
        assert rrset is not None  # selections contain no deleted RRsets
        if is_of_one_name(rrset, source.name) or (rrset.name == source.name and rrset.type in _OF_THE_APEX):
            copies.left_out += 1
            continue
        try:
            copy = move_to_zone(rrset, source.name, target.name)
        except ReplicationError as exc:
            copies.refused.append(Refused(rrset, str(exc)))
        else:
            made[copy.name, copy.type] = copy
    current = {row.change.key: row.change for row in rrset_pages.rrset_rows(zone=target, author=author, keys=made)}
    for key, copy in made.items():
        here = current.get(key)
        now = here.after if here else None
        if now == copy:
            copies.unchanged += 1
        elif now is not None and existing is Existing.SKIP:
            copies.kept += 1
        else:
            _change(copies, target, author, here.before if here else None, now, copy, existing)
    return copies


def _change(  # noqa: PLR0913  # the two sides of a copy
    copies: Copies, target: Zone, author: User, published: RRset | None, now: RRset | None, copy: RRset, how: Existing
) -> None:
    try:
        after = _merge_rrsets(now, copy) if now is not None and how is Existing.MERGE else copy
        if after == now:
            copies.unchanged += 1
            return
        refuse_changes(author, target, [Change(copy.name, copy.type, published, after)])
    except (RightMissing, ReplicationError, ValueError) as exc:
        copies.refused.append(Refused(copy, str(exc)))
    else:
        copies.changes.append(Change(copy.name, copy.type, now, after))


def _merge_rrsets(now: RRset, copy: RRset) -> RRset:
    """Return an RRset with the values and notes of both RRsets, and the TTL of the existing one.

    The copy's comment is used only if the existing RRset has none. Raise ValueError for single-value types.
    """
    if now.type in _OF_ONE_VALUE:
        raise ValueError(gettext("this record type can only have one value, so the values can’t be merged"))
    disabled = (*now.disabled, *rdata.not_among(now.type, copy.disabled, now.rdata))
    comment, notes = now.comment or copy.comment, now.notes.merge_with(copy.notes)
    return make(now.name, now.type, now.ttl, (*now.rdata, *copy.rdata), disabled, comment, notes=notes)
