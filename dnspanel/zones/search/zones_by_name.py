"""Search zones, sorted by name, with a limited amount of work for each page.

It isn't known at first whether many, few or no zones match a search for the content of zones. The search therefore
compares the first zones, which is enough if many match. Then it uses the index on search texts, which is enough if few
match. Then it compares more zones in order, up to a limit, and returns the name of the last one.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db.models import QuerySet

from dnspanel.zones.models import Zone
from dnspanel.zones.order.zone_order import named_behind
from dnspanel.zones.search import search_texts, zone_conditions
from dnspanel.zones.search.terms import Filter, Search

Row = TypeVar("Row")

_FIRST, _MORE = 500, 20_000  # zones examined at a time
MOST_COMPARED = 12_000  # in a tenth of a second
MOST_COMPARED_BY_TYPE = 25_000  # for types and TTLs, which are compared faster in the search texts
_OFTEN = _FIRST // 100  # if the first zones have this number of matches, a page is full sooner without the index
_SOON = frozenset({Filter.TYPE, Filter.TTL})


@dataclass(frozen=True, slots=True)
class Fitting(Generic[Row]):
    """The zones that a search found, and if its limit was reached, the last compared zone's name (`looked_to`)."""

    rows: list[Row]
    looked_to: str = ""


def zones_fitting(
    zones: "QuerySet[Zone, Row]", search: Search, *, now: datetime, after: str, limit: int, part: int = 1
) -> Fitting[Row]:
    """Return at most `limit` matching zones after the name `after`, sorted by name.

    A search with faults finds nothing. Only 1/`part` of the usual work is done, for pages with other results.
    """
    if search.faults:
        return Fitting([])
    zones = zone_conditions.fitting_outside(zones.order_by("sort_name"), search, now=now)
    inside = zone_conditions.terms_inside(search)
    if not inside:
        return Fitting(list(zones.filter(named_behind(after))[:limit]))
    known = search_texts.progress()
    holding = zone_conditions.holding(inside, known)
    most = MOST_COMPARED_BY_TYPE if all(term.filter in _SOON for term in inside) else MOST_COMPARED
    most = max(1, most // part)
    rows: list[Row] = []
    compared, count = 0, _FIRST
    while compared < most:
        behind = named_behind(after)
        until = zones.filter(behind).values_list("name", flat=True)[count - 1 : count].first()
        among = behind if until is None else behind & ~named_behind(until)
        rows += zones.filter(among, holding)[: limit - len(rows)]
        if until is None or len(rows) >= limit:
            return Fitting(rows)
        if compared == 0 and len(rows) < _OFTEN and (few := zone_conditions.few_with(inside, known)) is not None:
            return Fitting([*rows, *zones.filter(holding, named_behind(until), pk__in=few)[: limit - len(rows)]])
        after, compared, count = until, compared + count, min(_MORE, most - compared - count)
    return Fitting(rows, after)
