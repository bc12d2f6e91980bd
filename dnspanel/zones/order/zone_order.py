"""Sort lists of zones. Each order is total, so that a page can start after any zone.

The order by name is natural. In the other orders, zones with the same value are in alphabetical order. The natural sort
key would be slower: it is the last column in a zone's row, and reading it takes 50% longer.

Only the name has an index. A publication writes the other columns, and can use a HOT update because they have no index.
The first zones by such a column are therefore selected from all zones that the person can see. This takes 65 ms for
263,238 zones, half of it for comparisons. For people who can see all zones, a 1% sample gives a bound at its tenth
zone. Only zones up to this bound are compared, in 41 ms. If they don't fill a page, all zones are compared. In an
ascending list by author or team, if ten sampled zones have no author or team, only such zones are read, by name.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import F, Func, IntegerField, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from dnspanel.accounts.models import Team, User
from dnspanel.database.sql import fetch_one
from dnspanel.zones.models import Zone
from dnspanel.zones.order.sort_order import SortOrder, number_in
from dnspanel.zones.values.natural_order import natural_text


class ZoneColumn(StrEnum):
    """The columns that a list of zones can be sorted by."""

    NAME = "name"
    DNSSEC = "dnssec"
    RRSETS = "rrsets"
    SERIAL = "serial"
    CHANGED = "changed"
    AUTHOR = "author"
    TEAM = "team"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class ZoneOrder(SortOrder[ZoneColumn]):
    """A sort order of zones by one column. Zones with the same value are sorted by name."""

    column: ZoneColumn = ZoneColumn.NAME


BY_NAME = ZoneOrder()


def order_of(text: str) -> ZoneOrder:
    """Parse a sort order from a URL, such as `rrsets`, or `-rrsets` for descending. The default is by name."""
    return ZoneOrder.of_url(text, ZoneColumn, BY_NAME)


def named_before(zones: "QuerySet[Zone]", name: str) -> "QuerySet[Zone]":
    """Return the zones before this name, in descending order of names. An empty name selects all zones."""
    return (zones.filter(sort_name__lt=natural_text(name)) if name else zones).order_by("-sort_name")


def named_behind(name: str) -> Q:
    """Return the condition for zones after this name in natural order. An empty name selects all zones."""
    return Q(sort_name__gt=natural_text(name))


def ids_in_order(
    zones: "QuerySet[Zone]", order: ZoneOrder, after: str, limit: int, *, are_all: bool = False
) -> tuple[list[int], str]:
    """Return the ids of the first zones after a cursor, and the next cursor.

    An empty or invalid cursor means the beginning, and an empty next cursor means the end. `order` can be any column
    except the name. `are_all` means that `zones` excludes only zones in the trash. Needs up to four queries.
    """
    if order.column is ZoneColumn.DNSSEC:
        found = _by_dnssec(zones, order, _place(after, _state), limit + 1)
    else:
        found = _by_key(zones, order, after, limit + 1, are_all=are_all)
    page = found[:limit]
    return [row[0] for row in page], _cursor(page[-1]) if len(found) > limit else ""


_SAMPLE_PERCENT, _OF_SAMPLE = 1, 10

_Row = tuple[int, str, Any]  # id, name, and sort value


def _by_dnssec(zones: "QuerySet[Zone]", order: ZoneOrder, start: tuple[Any, str] | None, limit: int) -> list[_Row]:
    """Return unsigned zones, then signed zones (or the reverse), each group sorted by name. Uses the index on names."""
    found: list[_Row] = []
    signed = Q(signing__is_signed=True)
    unsigned = Q(signing__is_signed=None) | Q(signing__is_signed=False)
    states = ((True, signed), (False, unsigned)) if order.descending else ((False, unsigned), (True, signed))
    for state, condition in states:
        group = zones.filter(condition)
        if start is not None:
            if start[0] is not state:
                continue
            group, start = group.filter(named_behind(start[1])), None
        if len(found) < limit:
            rows = group.order_by("sort_name").values_list("pk", "name")[: limit - len(found)]
            found += [(pk, name, int(state)) for pk, name in rows]
    return found


def _by_key(zones: "QuerySet[Zone]", order: ZoneOrder, after: str, limit: int, *, are_all: bool) -> list[_Row]:
    if order.column in _NAMED:
        ranks = _Ranks.of(*_NAMED[order.column])
        key: Combinable = ranks.expression
        start = _place(after, str)
        start = None if start is None else ranks.place(*start, descending=order.descending)
    else:
        column, read = _KEYS[order.column]
        ranks, key, start = None, F(column), _place(after, read)
    zones = zones.annotate(sort_key=key)
    if start is not None:
        at, name = start
        zones = order.behind(zones, at, Q(name__gt=name))
    elif are_all:
        found = _first_by_sample(zones, order, limit)
        if len(found) == limit:
            return found
    found = _first(zones, order, limit)
    return found if ranks is None else [(pk, name, ranks.names[rank]) for pk, name, rank in found]


def _first(zones: "QuerySet[Zone]", order: ZoneOrder, limit: int) -> list[_Row]:
    return list(order.sort_rows(zones, "name").values_list("pk", "name", "sort_key")[:limit])


def _first_by_sample(zones: "QuerySet[Zone]", order: ZoneOrder, limit: int) -> list[_Row]:
    """Return the first zones without comparing all zones, using a sample. Can return too few zones."""
    if order.column not in _NAMED:
        way = "DESC" if order.descending else "ASC"
        sampled = _tenth_of_sample(_KEYS[order.column][0], f"ORDER BY 1 {way}")
        return [] if sampled is None else _first(order.up_to(zones, sampled[0]), order, limit)
    column_of_id = _NAMED[order.column][0]
    if order.descending or _tenth_of_sample(column_of_id, f"AND {column_of_id} IS NULL") is None:
        return []
    of_nobody = zones.filter(**{column_of_id: None}).order_by("name")
    return [(pk, name, "") for pk, name in of_nobody.values_list("pk", "name")[:limit]]


def _tenth_of_sample(column: str, rest: str) -> tuple[Any] | None:
    """Return the value of the tenth zone in a sample, or None if the sample has fewer zones.

    `rest` is the end of the SQL query: an order or a condition. PostgreSQL reads about 1% of the table's pages, which
    takes a millisecond. If the sample is ordered, about a thousand zones of the table come before the result.
    """
    found: tuple[Any] | None = fetch_one(
        f"SELECT {column} FROM zones_zone TABLESAMPLE SYSTEM (%s) WHERE deleted_at IS NULL {rest} OFFSET %s LIMIT 1",
        [_SAMPLE_PERCENT, _OF_SAMPLE - 1],
    )
    return found


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The alphabetical ranks of usernames or team names. Rank 0 is for zones without a user or team.

    For 263,238 zones, comparing ranks takes half as long as comparing names.
    """

    names: tuple[str, ...]
    expression: Combinable

    @classmethod
    def of(cls, column: str, owners: "QuerySet[Any]") -> "_Ranks":
        """Return the ranks of all users or teams (`owners`). `column` is the zone column that holds their id."""
        by_name = sorted((str(name).lower(), pk) for pk, name in owners.all())
        ranks = [0] * max((pk for _, pk in by_name), default=0)
        for rank, (_, pk) in enumerate(by_name, 1):
            ranks[pk - 1] = rank
        of_zone = Func(
            Cast(Value(ranks), ArrayField(IntegerField())),
            F(column),
            template="COALESCE((%(expressions)s], 0)",
            arg_joiner=")[",
            output_field=IntegerField(),
        )
        return cls(("", *(name for name, _ in by_name)), of_zone)

    def place(self, of: str, zone_name: str, *, descending: bool) -> tuple[int, str]:
        """Return a name's rank, and the zone name to continue after.

        If the user or team was deleted, return a rank and an empty zone name, so that the next name follows.
        """
        rank = bisect_left(self.names, of)
        if rank < len(self.names) and self.names[rank] == of:
            return rank, zone_name
        return (rank - 1 if descending else rank), ""


def _state(text: str) -> bool:
    return bool(int(text))


def _number(text: str) -> int:
    return number_in(text, 2**63)


# The column to compare, and the parser of its form in a cursor. The number of nodes with a zone follows from the age of
# its revision, so late zones come together, and first in descending order.
_KEYS: dict[ZoneColumn, tuple[str, Callable[[str], Any]]] = {
    ZoneColumn.RRSETS: ("rrset_count", _number),
    ZoneColumn.SERIAL: ("serial", _number),
    ZoneColumn.CHANGED: ("changed_at", datetime.fromisoformat),
    ZoneColumn.SYNC: ("sequence", _number),
}

# The zones' column, and the ids and names that it refers to. Names are unique regardless of case.
_NAMED: dict[ZoneColumn, tuple[str, QuerySet[Any]]] = {
    ZoneColumn.AUTHOR: ("changed_by_id", User.objects.values_list("pk", "username")),
    ZoneColumn.TEAM: ("team_id", Team.objects.values_list("pk", "name")),
}


def _cursor(row: _Row) -> str:
    """Format a cursor: the sort value, a space, and the zone name, which doesn't contain spaces."""
    _, name, key = row
    return f"{key.astimezone(UTC).isoformat() if isinstance(key, datetime) else key} {name}"


def _place(after: str, read: Callable[[str], Any]) -> tuple[Any, str] | None:
    """Parse the sort value and zone name of a cursor. Return None if the cursor is invalid."""
    key, space, name = after.rpartition(" ")
    if not space:
        return None
    try:
        found = read(key)
    except ValueError:
        return None
    if isinstance(found, datetime) and found.tzinfo is None:
        return None
    return found, name
