"""Implement the search `has:warning` in a zone's records table: find records with complaints.

Complaints about a record depend on other records. Therefore they aren't stored with the record. For each page, the
review's checks run on a limited number of records, in table order, as if these records had just been added. This way, a
page costs the same in a zone of any size. The page also contains the name of the last checked record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from dnspanel.accounts.models import User
from dnspanel.zones.complaints.complaints import edits_adding, violations_of, worst_messages
from dnspanel.zones.lists.rrset_pages import RRsetFilter, RRsetPage, RRsetRow, place_behind, rrset_page
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.plan.plan import names_near
from dnspanel.zones.rules.violations import Violation
from dnspanel.zones.store import store_rrsets
from replication.dns.rrset import Key, RRset

MOST_CHECKED = 500  # RRsets, for one page


@dataclass(frozen=True, slots=True)
class WarnedPage:
    """A page of editor rows, with the complaint about each RRset."""

    rows: RRsetPage
    messages: Mapping[Key, str] = field(default_factory=dict)


def warned_rrset_page(
    *, zone: Zone, author: User, filters: RRsetFilter, now: datetime, after: str = "", limit: int = 100
) -> WarnedPage:
    """Return up to `limit` rows that match all search terms, including `has:warning` or `-has:warning`.

    Makes at most 25 queries and checks at most MOST_CHECKED RRsets. If the page ends because of the latter limit, it
    contains the last checked name.
    """
    search = filters.search
    rest = replace(filters, text=" ".join(term.typed for term in search.terms if not term.is_warning))
    page = rrset_page(zone=zone, author=author, filters=rest, after=after, limit=MOST_CHECKED)
    present = [row.change.after for row in page.rows if row.change.after is not None]
    messages = worst_messages(complaints(zone=zone, rrsets=present, author=author, now=now))
    rows = [row for row in page.rows if all(_fits(row, messages, negated=term.negated) for term in search.warnings)]
    if len(rows) > limit:
        behind = place_behind(zone, rows[limit - 1].change.key, is_canonical=page.is_canonical)
        return WarnedPage(RRsetPage(tuple(rows[:limit]), behind), messages)
    stopped_at = page.stopped_at or (page.rows[-1].change.name if page.next_after else "")
    return WarnedPage(RRsetPage(tuple(rows), page.next_after, stopped_at=stopped_at), messages)


def complaints(*, zone: Zone, rrsets: Sequence[RRset], author: User, now: datetime) -> list[Violation]:
    """Return the complaints about RRsets, given the author's draft and the zones that the author can see."""
    if not rrsets:
        return []
    edits = edits_adding(rrsets)
    near = names_near(zone, edits)
    around = store_rrsets.rrsets_at_names({zone.pk: (zone.name, near)})[zone.pk]
    around = _with_draft(around, Operation.objects.filter(draft__author=author, zone=zone, name__in=near))
    return violations_of({zone.pk: (zone, edits)}, {zone.pk: around}, now=now, author=author)[zone.pk]


def _fits(row: RRsetRow, messages: Mapping[Key, str], *, negated: bool) -> bool:
    return row.change.after is not None and (row.change.key in messages) != negated


def _with_draft(stored: dict[Key, RRset], operations: Iterable[Operation]) -> dict[Key, RRset]:
    found = dict(stored)
    for operation in operations:
        key = (operation.name, operation.type)
        if operation.wanted is None:
            found.pop(key, None)
        else:
            found[key] = RRset.from_json(*key, operation.wanted)
    return found
