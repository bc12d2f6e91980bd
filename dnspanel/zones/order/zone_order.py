"""The orders of a list of zones. Each is total, so that a page says at which zone the next one starts.

By name, zones come in natural order. Zones with the same value in another column come by the letters of their names:
the natural sort key is stored after all other columns of a zone, and reading that far in each row takes half as long
again.

Only the name has an index: values that a publication writes into a zone's row are in no index, so PostgreSQL puts the
new row next to the old one and touches no index. The first zones by another column are selected from all that a person
sees, and half of that is comparing: of 263,238 zones, 65 ms. So for people who see all zones, only those are compared
that are as good as ten in a sample of a hundredth, in 41 ms; if these are too few for a page, all are compared. By
author or team, zones without one come by name, if a sample has ten of them.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import F, Func, IntegerField, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from dnspanel.accounts.models import Team, User
from dnspanel.zones.models import Zone
from dnspanel.zones.order.sort_order import SortOrder, number_in
from dnspanel.zones.values.natural_order import natural_text


class ZoneColumn(StrEnum):
    """What a list of zones can be sorted by."""

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
    """By a column, up or down; zones that are the same in it come by name."""

    column: ZoneColumn = ZoneColumn.NAME


BY_NAME = ZoneOrder()


def order_of(text: str) -> ZoneOrder:
    """Parse an order of a URL: `rrsets`, or `-rrsets` for the largest first; by name for anything else."""
    return ZoneOrder.of_url(text, ZoneColumn, BY_NAME)


def named_before(zones: "QuerySet[Zone]", name: str) -> "QuerySet[Zone]":
    """Return the zones before this name ("": all), the last one first, along the index of names."""
    return (zones.filter(sort_name__lt=natural_text(name)) if name else zones).order_by("-sort_name")


def named_behind(name: str) -> Q:
    """Return the condition for zones after this name ("": all) in the order of `sort_name`."""
    return Q(sort_name__gt=natural_text(name))


def ids_in_order(
    zones: "QuerySet[Zone]", order: ZoneOrder, after: str, limit: int, *, are_all: bool = False
) -> tuple[list[int], str]:
    """Return ids of the first of these zones after a cursor ("": of all), and the next cursor ("": none).

    For every column except the name; in up to four queries. An invalid cursor is the beginning. `are_all`: `zones`
    leaves out only those in the trash.
    """
    if order.column is ZoneColumn.DNSSEC:
        found = _by_dnssec(zones, order, _place(after, _state), limit + 1)
    else:
        found = _by_key(zones, order, after, limit + 1, are_all=are_all)
    page = found[:limit]
    return [row[0] for row in page], _cursor(page[-1]) if len(found) > limit else ""


_SAMPLE_PERCENT, _OF_SAMPLE = 1, 10

_Row = tuple[int, str, Any]  # id, name, and what it is sorted by


def _by_dnssec(zones: "QuerySet[Zone]", order: ZoneOrder, start: tuple[Any, str] | None, limit: int) -> list[_Row]:
    """Return the zones of one state by name, then those of the other: each is read along the index of names."""
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
    """Return the first of all zones if a sample bounds them; fewer if it does not, or is not representative."""
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
    """Return the value of the tenth zone of a sample, or None if there are fewer.

    PostgreSQL reads one page of the table in a hundred: a millisecond. About a thousand of all zones come before it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {column} FROM zones_zone TABLESAMPLE SYSTEM (%s)"
            f" WHERE deleted_at IS NULL {rest} OFFSET %s LIMIT 1",
            [_SAMPLE_PERCENT, _OF_SAMPLE - 1],
        )
        found: tuple[Any] | None = cursor.fetchone()
        return found


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Ranks of names in alphabetical order: comparing these for 263,238 zones takes half as long.

    The first name belongs to no one.
    """

    names: tuple[str, ...]
    expression: Combinable

    @classmethod
    def of(cls, column: str, owners: "QuerySet[Any]") -> "_Ranks":
        """Return the ranks of all people or teams, for the zones' column with their id."""
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
        """Return the rank of a name and the zone to continue after. If the name was deleted, its successor."""
        rank = bisect_left(self.names, of)
        if rank < len(self.names) and self.names[rank] == of:
            return rank, zone_name
        return (rank - 1 if descending else rank), ""


def _state(text: str) -> bool:
    return bool(int(text))


def _number(text: str) -> int:
    return number_in(text, 2**63)


# The compared value, and its form in a cursor. The number of nodes with a zone follows from the age of its revision:
# late zones come together, first in descending order.
_KEYS: dict[ZoneColumn, tuple[str, Callable[[str], Any]]] = {
    ZoneColumn.RRSETS: ("rrset_count", _number),
    ZoneColumn.SERIAL: ("serial", _number),
    ZoneColumn.CHANGED: ("changed_at", datetime.fromisoformat),
    ZoneColumn.SYNC: ("sequence", _number),
}

# The zones' column, and ids and names of what it refers to; these are unique whichever case they are written in.
_NAMED: dict[ZoneColumn, tuple[str, QuerySet[Any]]] = {
    ZoneColumn.AUTHOR: ("changed_by_id", User.objects.values_list("pk", "username")),
    ZoneColumn.TEAM: ("team_id", Team.objects.values_list("pk", "name")),
}


def _cursor(row: _Row) -> str:
    """Format a cursor: the sort value, a space, and the name, which has no space."""
    _, name, key = row
    return f"{key.astimezone(UTC).isoformat() if isinstance(key, datetime) else key} {name}"


def _place(after: str, read: Callable[[str], Any]) -> tuple[Any, str] | None:
    """Parse the key and the name of a cursor, or return None."""
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
