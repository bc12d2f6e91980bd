"""Sort a zone's RRsets by a column other than the name.

RRsets with the same value are sorted by name: in canonical order along the primary key in a large zone, and in natural
order in a small one.

These orders have no index, because each index would slow down publications and imports for all zones. The first RRsets
are selected from all RRsets of the zone. A limit on the zone's size keeps this within 0.2 s. A larger zone is sorted
only if a search selects few of its RRsets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import F, Func, IntegerField, Q, QuerySet, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Collate, Left

from dnspanel.database.sql import fetch_all
from dnspanel.zones.lists.by_name import place_of
from dnspanel.zones.lists.find_rrsets import StoredKey, between
from dnspanel.zones.models import Zone
from dnspanel.zones.order.sort_order import SortOrder, number_in
from dnspanel.zones.search import search_texts

_MOST_COMPARED = 100  # characters of a value or comment
_LONGEST_CURSOR = 4000
_IN_DRAFT = 2**31 - 1  # newer than every revision
_AS_IT_CAME = 1  # the number of the first revision
_CHANGES_LOOKED_AT = 4_000
_FIRST_BLOCKS = 3  # the search-text blocks that fill a page if most RRsets have the value
_MOST_TURNS = 12

# One revision after another: with a plain join, PostgreSQL would read and sort all changes of the zone.
_NEWEST_CHANGES = """
SELECT newest.number, c.owner_key FROM (
    SELECT id, number FROM zones_revision WHERE zone_id = %s AND number <= %s ORDER BY number DESC LIMIT 500
) AS newest
LEFT JOIN LATERAL (SELECT owner_key FROM zones_change WHERE revision_id = newest.id OFFSET 0) AS c ON true
ORDER BY newest.number DESC LIMIT %s"""


class RRsetColumn(StrEnum):
    """The columns that can sort a zone's RRsets."""

    NAME = "name"
    TYPE = "type"
    TTL = "ttl"
    VALUE = "value"
    COMMENT = "comment"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class RRsetOrder(SortOrder[RRsetColumn]):
    """A column and a direction. RRsets with the same value are sorted by name."""

    column: RRsetColumn = RRsetColumn.NAME


AS_EDITED = RRsetOrder()  # natural order of names; at each name, SOA and NS come first (see `by_name`)`
# The largest number of RRsets that may be examined for a page.
MOST_SORTED = {
    RRsetColumn.TYPE: 1_200_000,
    RRsetColumn.TTL: 1_200_000,
    RRsetColumn.VALUE: 300_000,
    RRsetColumn.COMMENT: 1_200_000,
    RRsetColumn.CHANGED: 1_200_000,
}


_VALUES_OF_TEXTS = {RRsetColumn.TYPE: "types", RRsetColumn.TTL: "ttls"}


class TooManyToSort(Exception):
    """The zone has too many RRsets to sort by this column while a user waits."""


def rrset_order_of(text: str) -> RRsetOrder:
    """Parse an order from a URL: `ttl`, or `-ttl` for descending. Anything else is the editor's own order."""
    return RRsetOrder.of_url(text, RRsetColumn, AS_EDITED)


@dataclass(frozen=True, slots=True)
class SortedKey:
    """An RRset's position in an order: its value in the column, and its key."""

    by: Any
    key: StoredKey


def first_stored(
    rows: "QuerySet[Any]",
    order: RRsetOrder,
    start: SortedKey | None,
    limit: int,
    large_zone: Zone | None = None,
    *,
    is_all: bool = False,
) -> list[SortedKey]:
    """Return the first published RRsets after `start` (None: the beginning).

    For a `large_zone`, all RRsets are compared only if necessary. The newest changes are read from the zone's newest
    revisions, and comments from the search texts. Types and TTLs are read from the search texts only if `is_all` is
    True: `rows` are then all RRsets of the zone except those in a draft.
    """
    rows = rows.annotate(sort_key=_STORED[order.column])
    if large_zone is None:
        return _first(rows, order, start, limit)
    if order.column is RRsetColumn.CHANGED and order.descending:
        found, is_complete = _changed_last(rows, large_zone, order, start, limit)
        if len(found) < limit and is_complete:
            at = start.key if start is not None and start.by <= _AS_IT_CAME else None
            found += _of_one_value(rows, _AS_IT_CAME, at, limit - len(found))
        if len(found) == limit or is_complete:
            return found
    if order.column in _VALUES_OF_TEXTS and is_all:
        blocks = search_texts.blocks_by_value(large_zone, _VALUES_OF_TEXTS[order.column])
        if blocks is not None and (by_blocks := _in_blocks(rows, blocks, order, start, limit)) is not None:
            return by_blocks
    if order.column is RRsetColumn.COMMENT and (commented := search_texts.blocks_with_comments(large_zone)) is not None:
        return _commented_first(rows, rows.filter(search_texts.within(commented)), order, start, limit)
    return _first(rows, order, start, limit)


def first_drafted(rows: "QuerySet[Any]", order: RRsetOrder, start: SortedKey | None, limit: int) -> list[SortedKey]:
    """Return the first draft operations after `start`, sorted by the displayed value."""
    return _first(rows.annotate(sort_key=_DRAFTED[order.column]), order, start, limit)


def merge_in_order(first: Iterable[SortedKey], second: Iterable[SortedKey], order: RRsetOrder) -> list[SortedKey]:
    """Merge two lists in the given order. In the order by comment, RRsets without a comment always come last."""
    return _by_column(sorted((*first, *second), key=lambda place: place.key), order)


def naturally_merged(
    first: Iterable[SortedKey], second: Iterable[SortedKey], order: RRsetOrder, start: SortedKey | None
) -> list[SortedKey]:
    """Merge two lists, sort equal values by name in natural order, and return the part after `start`."""
    places = {*first, *second} if start is None else {*first, *second, start}
    found = _by_column(sorted(places, key=lambda place: place_of(place.key)), order)
    return found if start is None else found[found.index(start) + 1 :]


def _by_column(by_name: Iterable[SortedKey], order: RRsetOrder) -> list[SortedKey]:
    found = sorted(by_name, key=lambda place: place.by, reverse=order.descending)
    if order.column is RRsetColumn.COMMENT:
        found.sort(key=lambda place: place.by == "")
    return found


def sorted_cursor(place: SortedKey) -> str:
    """Return the cursor of the page that starts after this position."""
    by, (owner_key, type_) = place.by, place.key
    return f"{str(by).encode().hex()}.{owner_key.hex()}-{type_}"


def sorted_place(after: str, order: RRsetOrder) -> SortedKey | None:
    """Parse a cursor. Return None (the beginning) if the cursor is invalid."""
    by, point, key = after[:_LONGEST_CURSOR].partition(".")
    owner_key, dash, type_ = key.partition("-")
    if not (point and dash):
        return None
    try:
        return SortedKey(_READ[order.column](bytes.fromhex(by)), (bytes.fromhex(owner_key), _number(type_.encode())))
    except ValueError:
        return None


def _first(rows: "QuerySet[Any]", order: RRsetOrder, start: SortedKey | None, limit: int) -> list[SortedKey]:
    if order.column is RRsetColumn.CHANGED:
        return _by_change(rows, order, start, limit)
    if order.column in {RRsetColumn.TYPE, RRsetColumn.TTL}:
        return _of_few_values(rows, order, start, limit)
    if order.column is not RRsetColumn.COMMENT:
        return _of_many_values(rows, order, start, limit)
    return _commented_first(rows, rows, order, start, limit)


def _commented_first(
    rows: "QuerySet[Any]", commented: "QuerySet[Any]", order: RRsetOrder, start: SortedKey | None, limit: int
) -> list[SortedKey]:
    """Return RRsets with a comment, in order, then those without. `commented` selects rows that can have a comment."""
    without = start is not None and not start.by
    found = [] if without else _of_many_values(commented.filter(sort_key__gt=""), order, start, limit)
    if len(found) == limit:
        return found
    return found + _of_one_value(rows, "", start.key if start and without else None, limit - len(found))


def _in_blocks(
    rows: "QuerySet[Any]",
    blocks: Mapping[int, Sequence[search_texts.Block]],
    order: RRsetOrder,
    start: SortedKey | None,
    limit: int,
) -> list[SortedKey] | None:
    """Return rows value by value, reading only each value's blocks. Return None if that needs too many queries.

    Each of a value's blocks contains an RRset with the value, unless that RRset is in a draft.
    """
    found: list[SortedKey] = []
    values = sorted(blocks, reverse=order.descending)
    if start is not None:
        if start.by in blocks:
            ahead = [block for block in blocks[start.by] if block.end is None or block.end > start.key[0]]
            found = _of_value_in_blocks(rows, start.by, ahead, start.key, limit)
        values = [value for value in values if value != start.by and (value > start.by) is not order.descending]
    for turn, group in enumerate(_groups(values, blocks)):
        if len(found) >= limit:
            break
        if turn == _MOST_TURNS:
            return None
        if len(group) == 1:
            found += _of_value_in_blocks(rows, group[0], blocks[group[0]], None, limit - len(found))
        else:
            among = {block for value in group for block in blocks[value]}
            some = rows.filter(search_texts.within(sorted(among)), sort_key__in=group)
            found += _of_many_values(some, order, None, limit - len(found))
    return found


def _groups(values: Iterable[int], blocks: Mapping[int, Sequence[search_texts.Block]]) -> Iterator[list[int]]:
    """Yield the values in order, in groups. A group of several values covers at most MOST_BLOCKS blocks."""
    group: list[int] = []
    size = 0
    for value in values:
        if group and size + len(blocks[value]) > search_texts.MOST_BLOCKS:
            yield group
            group, size = [], 0
        group.append(value)
        size += len(blocks[value])
    if group:
        yield group


def _of_value_in_blocks(
    rows: "QuerySet[Any]", value: int, blocks: Sequence[search_texts.Block], behind: StoredKey | None, limit: int
) -> list[SortedKey]:
    """Return the rows with this value in the given blocks. A few blocks are read first, then more."""
    found: list[SortedKey] = []
    at, count = 0, _FIRST_BLOCKS
    while at < len(blocks) and len(found) < limit:
        among = rows.filter(search_texts.within(blocks[at : at + count]))
        found += _of_one_value(among, value, behind, limit - len(found))
        at, count = at + count, search_texts.MOST_BLOCKS
    return found


def _by_change(rows: "QuerySet[Any]", order: RRsetOrder, start: SortedKey | None, limit: int) -> list[SortedKey]:
    """Return the rows sorted by their last change.

    Most RRsets have never changed, and are read along the primary key. Only the few changed RRsets are sorted.
    """
    changed = rows.filter(sort_key__gt=_AS_IT_CAME)
    is_among_others = start is not None and start.by <= _AS_IT_CAME
    at = start.key if start is not None and is_among_others else None
    if order.descending:
        found = [] if is_among_others else _of_many_values(changed, order, start, limit)
        return found if len(found) == limit else found + _of_one_value(rows, _AS_IT_CAME, at, limit - len(found))
    if start is not None and not is_among_others:
        return _of_many_values(changed, order, start, limit)
    found = _of_one_value(rows, _AS_IT_CAME, at, limit)
    return found if len(found) == limit else found + _of_many_values(changed, order, None, limit - len(found))


def _changed_last(
    rows: "QuerySet[Any]", large_zone: Zone, order: RRsetOrder, start: SortedKey | None, limit: int
) -> tuple[list[SortedKey], bool]:
    """Return the rows changed by the zone's newest revisions, and whether older revisions changed none of the rows.

    At most _CHANGES_LOOKED_AT changes in 500 revisions are read. A row has its last revision's number.
    """
    newest = _IN_DRAFT if start is None else start.by
    found = fetch_all(_NEWEST_CHANGES, [large_zone.pk, newest, _CHANGES_LOOKED_AT + 1])
    if not found:
        return [], False
    oldest = found[-1][0]
    is_complete = oldest == _AS_IT_CAME and len(found) <= _CHANGES_LOOKED_AT
    if oldest == _AS_IT_CAME or len(found) > _CHANGES_LOOKED_AT:  # the last revision may have more changes
        oldest += 1
    keys = {bytes(owner_key) for number, owner_key in found if number >= oldest}
    some = rows.filter(sort_key__gte=oldest, owner_key__in=keys)
    return _of_many_values(some, order, start, limit), is_complete


def _of_many_values(rows: "QuerySet[Any]", order: RRsetOrder, start: SortedKey | None, limit: int) -> list[SortedKey]:
    """Return the rows after `start` in order, by sorting all of them. Used for columns with many different values."""
    if start is not None:
        owner_key, type_ = start.key
        rows = order.behind(rows, start.by, Q(owner_key__gt=owner_key) | Q(owner_key=owner_key, type__gt=type_))
    return _places(order.sort_rows(rows, "owner_key", "type"), limit)


def _of_few_values(rows: "QuerySet[Any]", order: RRsetOrder, start: SortedKey | None, limit: int) -> list[SortedKey]:
    """Return the rows in order without comparing names. Used for columns in which many RRsets have the same value.

    1. Rows with the same value as `start` are read along the primary key.
    2. The next rows are selected only by value, without sorting by name. Some rows with the last value can be missing.
    3. The first RRsets with the last value are read along the primary key.
    """
    found: list[SortedKey] = []
    if start is not None:
        found = _of_one_value(rows, start.by, start.key, limit)
        rows = order.beyond(rows, start.by)
    most = limit - len(found)
    if not most:
        return found
    picked = _places(order.sort_rows(rows), most)
    if len(picked) < most:
        return found + merge_in_order(picked, (), order)
    last = picked[-1].by
    complete = [place for place in picked if place.by != last]
    return found + merge_in_order(complete, _of_one_value(rows, last, None, most - len(complete)), order)


def _of_one_value(rows: "QuerySet[Any]", by: Any, behind: StoredKey | None, limit: int) -> list[SortedKey]:
    """Return the rows with the value `by`, read along the primary key."""
    rows = rows.filter(sort_key=by)
    if behind is not None:
        rows = between(rows, behind)
    return _places(rows.order_by("owner_key", "type"), limit)


def _places(rows: "QuerySet[Any]", limit: int) -> list[SortedKey]:
    found = rows.values_list("sort_key", "owner_key", "type")[:limit]
    return [SortedKey(by, (bytes(owner_key), type_)) for by, owner_key, type_ in found]


def _number(text: bytes) -> int:
    return number_in(text, 2**31)


def _text(text: bytes) -> str:
    return text.decode().replace("\0", "")


def _displayed_part(template: str) -> Func:
    """Return the SQL expression `template` for the drafted RRset, or the published one if the draft deletes it."""
    operand = template.replace("%", "COALESCE(%(expressions)s)")
    return Func(F("wanted"), F("base"), template=operand, output_field=TextField())


def _beginning(text: Combinable | str) -> Combinable:
    return Collate(Left(text, _MOST_COMPARED), "C")


_FIRST_VALUE = Func(F("rdata"), template="(%(expressions)s)[1]", output_field=TextField())
_STORED: dict[RRsetColumn, Combinable] = {
    RRsetColumn.TYPE: F("type"),
    RRsetColumn.TTL: F("ttl"),
    RRsetColumn.VALUE: _beginning(_FIRST_VALUE),
    RRsetColumn.COMMENT: _beginning("comment"),
    RRsetColumn.CHANGED: F("changed_in"),
}
_DRAFTED: dict[RRsetColumn, Combinable] = {
    RRsetColumn.TYPE: F("type"),
    RRsetColumn.TTL: Func(_displayed_part("%->>'ttl'"), template="(%(expressions)s)::int", output_field=IntegerField()),
    RRsetColumn.VALUE: _beginning(_displayed_part("%->'rdata'->>0")),
    RRsetColumn.COMMENT: _beginning(_displayed_part("%->>'comment'")),
    RRsetColumn.CHANGED: Value(_IN_DRAFT, IntegerField()),
}
_READ: dict[RRsetColumn, Callable[[bytes], Any]] = {
    RRsetColumn.TYPE: _number,
    RRsetColumn.TTL: _number,
    RRsetColumn.VALUE: _text,
    RRsetColumn.COMMENT: _text,
    RRsetColumn.CHANGED: _number,
}
