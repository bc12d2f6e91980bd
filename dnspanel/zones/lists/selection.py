"""Select RRsets of a zone one by one or with a filter, and compute the result of an action on them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dnspanel.accounts.models import User
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.lists.rrset_pages import RRsetFilter, RRsetRow, rrset_page, rrset_rows
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.many_rrsets import Act, Refused, try_act
from dnspanel.zones.rights.access import refuse_changes
from replication.dns.rrset import Change, Key, RRset

# With this number of changes, a draft is still reviewed and published within seconds.
MOST_SELECTED = 20_000
_PAGE = 1_000


class TooMany(Exception):
    """The selection contains more RRsets than can be changed at once."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected RRsets of a zone, as an author sees them: `keys`, or all RRsets that match `filters`."""

    keys: tuple[Key, ...] = ()
    filters: RRsetFilter | None = None

    def rows(self, *, zone: Zone, author: User) -> Iterator[RRsetRow]:
        """Yield the rows in the order of `rrset_page`, without RRsets that the author's draft deletes.

        Raise TooMany if more RRsets are selected than can be changed at once.
        """
        if len(self.keys) > MOST_SELECTED:
            raise TooMany
        count = 0
        for row in self._rows(zone, author):
            if row.change.after is not None:
                count += 1
                if count > MOST_SELECTED:
                    raise TooMany
                yield row

    def _rows(self, zone: Zone, author: User) -> Iterator[RRsetRow]:
        if self.filters is None:
            yield from rrset_rows(zone=zone, author=author, keys=self.keys)
            return
        after = ""
        while True:
            page = rrset_page(zone=zone, author=author, filters=self.filters, after=after, limit=_PAGE)
            yield from page.rows
            if not (after := page.next_after):
                return


@dataclass(slots=True)
class Outcome:
    """The result of an action on selected RRsets, before anything is written."""

    changes: list[Change] = field(default_factory=list)
    unchanged: int = 0
    refused: list[Refused] = field(default_factory=list)

    @property
    def afters(self) -> Mapping[Key, RRset | None]:
        """The new RRset for each changed key. None means that the RRset is deleted."""
        return {change.key: change.after for change in self.changes}


def outcome_of(*, act: Act, selection: Selection, zone: Zone, author: User) -> Outcome:
    """Return the result of the action for all selected RRsets.

    RRsets that the author isn't allowed to change are listed as refused. Raise the errors of `Selection.rows`.
    """
    outcome = Outcome()
    for row in selection.rows(zone=zone, author=author):
        now = row.change.after
        assert now is not None
        after = try_act(act, now, zone.name)
        if isinstance(after, Refused):
            outcome.refused.append(after)
        elif after == now:
            outcome.unchanged += 1
        else:
            try:
                refuse_changes(author, zone, [Change(*row.change.key, row.change.before, after)])
            except RightMissing as exc:
                outcome.refused.append(Refused(now, str(exc)))
            else:
                outcome.changes.append(Change(*row.change.key, now, after))
    return outcome
