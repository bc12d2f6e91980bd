"""Return pages of a zone's RRsets, sorted by name in natural order.

At each name, SOA and NS come first. A small zone is sorted completely. In a large zone, names are read in their stored
order (`display_order`), and names that changed since the order was stored are merged in. If a filter selects few
RRsets, these are sorted. If it selects many, it is applied to a bounded number of names for each page.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func, QuerySet

from dnspanel.zones.lists.find_rrsets import MOST_COMPARED, StoredKey, display_rank
from dnspanel.zones.models import Change, NamePlace, Revision, RevisionKind, SearchProgress, Zone
from dnspanel.zones.values.natural_order import natural_key

MOST_NEW_NAMES = 2_000  # changed since the places were written
_MORE = 8  # the factor for reading more names if the first ones had too few RRsets


class Place(NamedTuple):
    """An RRset's sort key in its zone."""

    name: bytes
    owner_key: bytes
    rank: int


@dataclass(frozen=True, slots=True)
class Found:
    """The first RRsets after a position. `looked_to` is the last examined name, or None if all names were examined."""

    keys: list[StoredKey]
    looked_to: bytes | None = None

    def up_to(self, keys: Iterable[StoredKey], *, descending: bool) -> list[StoredKey]:
        """Return the given keys whose names were examined."""
        if self.looked_to is None:
            return list(keys)
        end = place_of((self.looked_to, 0))[:2]
        at = [(place_of(key)[:2], key) for key in keys]
        return [key for name, key in at if (name >= end if descending else name <= end)]


def place_of(key: StoredKey) -> Place:
    """Return an RRset's sort key in the editor's order."""
    owner_key, type_ = key
    return Place(natural_key(owner_key), owner_key, display_rank(type_))


def keys_of(rows: "QuerySet[Any]") -> set[StoredKey]:
    """Return the keys of RRsets or of draft operations."""
    return {(bytes(owner_key), type_) for owner_key, type_ in rows.values_list("owner_key", "type")}


def in_order(keys: Iterable[StoredKey], start: StoredKey | None, *, descending: bool = False) -> list[StoredKey]:
    """Sort the keys, and return those after `start` (None: all).

    If `descending` is True, names come in reverse order. The types at each name keep their order.
    """
    placed = [(place_of(key), key) for key in keys]
    if start is not None:
        begin = place_of(start)
        placed = [
            (place, key)
            for place, key in placed
            if (place.rank > begin.rank if place[:2] == begin[:2] else (place > begin) is not descending)
        ]
    placed.sort(key=lambda each: each[0].rank)
    placed.sort(key=lambda each: each[0][:2], reverse=descending)
    return [key for _, key in placed]


@dataclass(frozen=True, slots=True)
class Places:
    """The stored order of a large zone's names. `changed` contains names that can be missing from the order."""

    zone: Zone
    changed: frozenset[bytes]

    @classmethod
    def of(cls, zone: Zone) -> "Places | None":
        """Return the zone's stored order, or None if it is missing or too old. Makes up to four queries."""
        at = SearchProgress.objects.values_list("sequence", flat=True).first()
        if at is None or not NamePlace.objects.filter(zone=zone).exists():
            return None
        if zone.sequence <= at:
            return cls(zone, frozenset())
        newer = Revision.objects.filter(zone=zone, publication__gt=at)
        if newer.exclude(kind=RevisionKind.CHANGE).exists():
            return None
        changed = Change.objects.filter(revision__in=newer.values("pk")).values_list("owner_key", flat=True).distinct()
        keys = [bytes(key) for key in changed[: MOST_NEW_NAMES + 1]]
        return cls(zone, frozenset(keys)) if len(keys) <= MOST_NEW_NAMES else None

    def first(
        self, rows: "QuerySet[Any]", start: StoredKey | None, limit: int, *, are_all: bool, descending: bool = False
    ) -> Found:
        """Return up to `limit` of the zone's `rows` after `start`, in order. `are_all` means that nothing is filtered.

        Otherwise, fewer can be returned, because at most about MOST_COMPARED names are examined.
        """
        begin = None if start is None else place_of(start)
        names = _Names(self.zone, None if begin is None else begin[:2], begins_with=True, descending=descending)
        found: list[StoredKey] = []
        compared, count = 0, limit
        while True:
            end = names.nth(count)
            keys = keys_of(rows.filter(names.are_up_to(end)))
            if changed := [key for key in self.changed if names.has(key, end)]:
                keys = {*keys, *keys_of(rows.filter(owner_key__in=changed))}
            found += in_order(keys, start, descending=descending)
            compared += count
            if end is None or len(found) >= limit:
                return Found(found[:limit])
            if compared >= MOST_COMPARED and not are_all:
                return Found(found, end[1])
            names = _Names(self.zone, end, begins_with=False, descending=descending)
            count = max(limit, min(count * _MORE, MOST_COMPARED - compared))


@dataclass(frozen=True, slots=True)
class _Names:
    """A zone's names after `begin` (None: all names). If `begins_with` is True, `begin` itself is included."""

    zone: Zone
    begin: tuple[bytes, bytes] | None
    begins_with: bool
    descending: bool

    def nth(self, count: int) -> tuple[bytes, bytes] | None:
        """Return the `count`-th name, or None if there are fewer names."""
        order = ("-place", "-owner_key") if self.descending else ("place", "owner_key")
        names = self._rows().order_by(*order).values_list("place", "owner_key")
        found = names[count - 1 : count].first()
        return None if found is None else (bytes(found[0]), bytes(found[1]))

    def are_up_to(self, end: tuple[bytes, bytes] | None) -> Func:
        """Return a condition for RRsets at the names up to `end` (None: all names).

        The names are passed as an array, which PostgreSQL looks up in the primary key.
        """
        rows = (
            self._rows()
            if end is None
            else _rows_before_or_after(self._rows(), end, before=not self.descending, itself=True)
        )
        among = ArraySubquery(rows.values("owner_key"))
        return Func(
            F("owner_key"), among, template="(%(expressions)s))", arg_joiner=" = ANY(", output_field=BooleanField()
        )

    def has(self, owner_key: bytes, end: tuple[bytes, bytes] | None) -> bool:
        """Return True if `owner_key` is one of these names and doesn't come after `end`."""
        name = place_of((owner_key, 0))[:2]
        if self.begin is not None and name == self.begin:
            return self.begins_with
        is_behind = self.begin is None or (name > self.begin) is not self.descending
        return is_behind and (end is None or name == end or (name < end) is not self.descending)

    def _rows(self) -> "QuerySet[NamePlace]":
        rows = NamePlace.objects.filter(zone=self.zone)
        return (
            rows
            if self.begin is None
            else _rows_before_or_after(rows, self.begin, before=self.descending, itself=self.begins_with)
        )


def _rows_before_or_after(
    rows: "QuerySet[NamePlace]", at: tuple[bytes, bytes], *, before: bool, itself: bool
) -> "QuerySet[NamePlace]":
    """Select the rows before or after `at`, and the row `at` if `itself` is True. The first filter uses the index."""
    place, owner_key = at
    rows = rows.filter(**{f"place__{'lte' if before else 'gte'}": place})
    other_way = f"owner_key__{'gt' if before else 'lt'}{'' if itself else 'e'}"
    return rows.exclude(**{"place": place, other_way: owner_key})
