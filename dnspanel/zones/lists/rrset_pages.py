"""Return pages of a zone's RRsets as a user sees them: published RRsets merged with the user's draft, sorted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones.drafts.draft import edit_of
from dnspanel.zones.lists import find_rrsets
from dnspanel.zones.lists.by_name import Found, Places, in_order, keys_of
from dnspanel.zones.lists.find_rrsets import BEFORE_ALL, StoredKey, display_key, in_display_order, last_compared
from dnspanel.zones.lists.queries import Page
from dnspanel.zones.lists.rrset_order import (
    MOST_SORTED,
    RRsetColumn,
    RRsetOrder,
    SortedKey,
    TooManyToSort,
    first_drafted,
    first_stored,
    merge_in_order,
    naturally_merged,
    sorted_cursor,
    sorted_place,
)
from dnspanel.zones.log import history
from dnspanel.zones.log.history import Mark
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.order import display_order
from dnspanel.zones.plan.merge import is_already_so
from dnspanel.zones.rights.access import zones_visible_to
from dnspanel.zones.search import rrset_conditions, search_texts, zone_conditions
from dnspanel.zones.search.terms import Filter, Search, Term, parse
from dnspanel.zones.store.store_rrsets import rrset_of
from dnspanel.zones.values import soa
from replication.codec.keys import name_from_relative_key, relative_key
from replication.dns import names
from replication.dns.rrset import Change, Key

_BEFORE_ALL_TYPES, _BEHIND_ALL_TYPES = -3, 65_536  # below and above all display ranks


COUNTED_RRSETS = 10_000  # in a larger zone, RRsets are not counted by type
MOST_CHANGES = 20_000  # after more changes, all RRsets of a large zone are compared, within the time for searches
_CANONICAL = "~"  # prefix of a cursor in canonical order


@dataclass(frozen=True, slots=True)
class RRsetFilter:
    """A filter for RRsets in the editor: search text, types (empty: all), and `in_draft` for only drafted RRsets.

    With `changed_since`, published RRsets match only if their last change isn't older. Drafted RRsets are always newer.
    With `unqueried_days`, only RRsets match that no node was asked for in these days.
    """

    text: str = ""
    types: frozenset[int] = frozenset()
    in_draft: bool = False
    changed_since: datetime | None = None
    unqueried_days: int = 0

    @property
    def search(self) -> Search:
        return parse(f"{self.text} {Filter.QUERIED}:>{self.unqueried_days}d" if self.unqueried_days else self.text)

    @property
    def fits_all(self) -> bool:
        """True if every RRset matches the text, the types and the time."""
        return not self.search and not self.types and self.changed_since is None


EVERYTHING = RRsetFilter()


@dataclass(frozen=True, slots=True)
class RRsetRow:
    """An RRset as published and as in the author's draft.

    `conflict` is True if another change to the RRset was published after the author began to edit it.
    """

    change: Change  # from the published RRset to the drafted one, or to the published one without a draft
    mark: Mark | None = None
    conflict: bool = False
    operation_id: int | None = None
    changed_in: int = 0  # number of the last revision that changed it; 0: not published


@dataclass(frozen=True, slots=True)
class RRsetPage(Page[RRsetRow]):
    """A page of the editor. `stopped_at` is the last examined name if a search reached its limit.

    `is_canonical` is True if this page and the next ones are in canonical order.
    """

    stopped_at: str = ""
    is_canonical: bool = False


def rrset_page(
    *,
    zone: Zone,
    author: User,
    filters: RRsetFilter = EVERYTHING,
    after: str = "",
    limit: int = 100,
    descending: bool = False,
) -> RRsetPage:
    """Return a page of the zone's RRsets in natural order of names, merged with the author's draft.

    At each name, SOA and NS come first. Makes at most 17 queries, or six in a small zone.

    An RRset is shown if it matches the filter as published or as drafted. In a large zone, a search for values that
    many names can have stops after a limited number of names. The page then contains the last examined name, and more
    rows can follow even if the page has few. A large zone whose natural order isn't stored yet is listed in canonical
    order. For such a zone, raise TooManyToSort if `descending` is True.
    """
    if not finds_in(zone, filters.search):
        return RRsetPage((), "")
    start = _cursor_key(after.removeprefix(_CANONICAL))
    published = None
    if filters.in_draft:
        published = Found([])
    elif not after.startswith(_CANONICAL):
        published = _first_published(zone, author, filters, start, limit + 1, descending=descending)
    if published is None:
        if descending:
            raise TooManyToSort
        return _canonical_page(zone, author, filters, start, limit)
    mine = Operation.objects.filter(draft__author=author, zone=zone)
    drafted = keys_of(_apply_filters(mine, author, filters))
    if not drafted and filters.fits_all:
        mine = Operation.objects.none()
    displayed = {*published.keys, *published.up_to(drafted, descending=descending)}
    keys = in_order(displayed, start, descending=descending)
    page = keys[:limit]
    rows = _rows_at(zone, mine, page)
    if len(keys) > limit:
        return RRsetPage(rows, _cursor_of(page[-1]))
    if published.looked_to is None:
        return RRsetPage(rows, "")
    stopped_at = name_from_relative_key(published.looked_to, zone.name)
    return RRsetPage(rows, _cursor_of((published.looked_to, _BEHIND_ALL_TYPES)), stopped_at=stopped_at)


def _first_published(
    zone: Zone, author: User, filters: RRsetFilter, start: StoredKey | None, limit: int, *, descending: bool
) -> Found | None:
    """Return the first matching published RRsets, sorted by name, or None if the zone is too large to sort now."""
    rows = _filtered_rrsets(zone, author, filters)
    if zone.rrset_count <= display_order.LARGE:
        return Found(in_order(keys_of(rows), start, descending=descending)[:limit])
    if (few := _few_of_large_zone(zone, filters, rows)) is not None:
        return Found(in_order(few, start, descending=descending)[:limit])
    places = Places.of(zone)
    if places is not None:
        return places.first(rows, start, limit, are_all=filters.fits_all, descending=descending)
    # A page in the middle of the natural order continues in this order, whatever the cost.
    is_between = start is not None and start[1] != _BEFORE_ALL_TYPES
    if zone.rrset_count <= find_rrsets.MOST_COMPARED or is_between:
        return Found(in_order(keys_of(rows), start, descending=descending)[:limit])
    return None


def _few_of_large_zone(zone: Zone, filters: RRsetFilter, rows: QuerySet[Any]) -> set[StoredKey] | None:
    """Return all RRsets of a large zone that match the filter, or None if there can be many."""
    if filters.fits_all:
        return None
    terms = filters.search.terms
    if filters.types:
        terms = (*terms, Term(Filter.TYPE, filters.types, negated=False, typed=""))
    where = search_texts.in_large_zone(zone, terms, b"") if terms else None
    if where is not None:
        return keys_of(rows.filter(where.among)) if where.end is None else None
    if filters.search:
        return None
    found = keys_of(rows.order_by("owner_key", "type")[: display_order.LARGE + 1])
    return found if len(found) <= display_order.LARGE else None


def _canonical_page(zone: Zone, author: User, filters: RRsetFilter, start: StoredKey | None, limit: int) -> RRsetPage:
    """Return a page like `rrset_page`, but in canonical order, read along the primary key."""
    search = filters.search
    last, where = None, None
    if search and zone.rrset_count > find_rrsets.MOST_COMPARED:
        where = search_texts.in_large_zone(zone, search.terms, start[0] if start else b"")
        if where is None:
            last = last_compared(zone, start or BEFORE_ALL)
    below = Q() if where is None or where.end is None else Q(owner_key__lt=where.end)
    mine = Operation.objects.filter(draft__author=author, zone=zone)
    drafted = in_display_order(_apply_filters(mine, author, filters).filter(below), start, last, limit + 1)
    rrsets = _filtered_rrsets(zone, author, filters)
    rrsets = rrsets if where is None else rrsets.filter(where.among)
    published = in_display_order(rrsets, start, last, limit + 1, are_few=where is not None)
    keys = sorted({*map(_key, drafted), *map(_key, published)}, key=display_key)
    page = keys[:limit]
    rows = _rows_at(zone, mine, page)
    if len(keys) > limit:
        return RRsetPage(rows, _CANONICAL + _cursor_of(page[-1]), is_canonical=True)
    if where is not None and where.end is not None:
        end = (where.end, _BEFORE_ALL_TYPES)
    elif last is not None:
        end = (last[0], _BEHIND_ALL_TYPES)
    else:
        return RRsetPage(rows, "", is_canonical=True)
    stopped_at = name_from_relative_key(end[0], zone.name)
    return RRsetPage(rows, _CANONICAL + _cursor_of(end), stopped_at=stopped_at, is_canonical=True)


def _rows_at(zone: Zone, mine: QuerySet[Operation], page: list[StoredKey]) -> tuple[RRsetRow, ...]:
    """Return the rows for these keys, in this order, with two queries. RRsets that don't exist are omitted."""
    stored = _at(StoredRRset.objects.filter(zone=zone), page)
    operations = _at(mine, page)
    rows = (_rrset_row(stored.get(key), operations.get(key)) for key in page if key in stored or key in operations)
    return tuple(row for row in rows if row.change.before is not None or row.change.after is not None)


def sorted_rrset_page(
    *, zone: Zone, author: User, order: RRsetOrder, filters: RRsetFilter = EVERYTHING, after: str = "", limit: int = 100
) -> RRsetPage:
    """Return a page like `rrset_page`, but sorted by `order`, based on drafted values. Makes at most 15 queries.

    Raise TooManyToSort if the zone has too many RRsets to search, or to sort by this column. This limit doesn't apply
    if few RRsets match or only drafted ones are shown.
    """
    if order.column is RRsetColumn.NAME:
        return rrset_page(
            zone=zone, author=author, filters=filters, after=after, limit=limit, descending=order.descending
        )
    search = filters.search
    if not finds_in(zone, search):
        return RRsetPage((), "")
    rrsets = _filtered_rrsets(zone, author, filters)
    if not filters.in_draft and zone.rrset_count > find_rrsets.MOST_COMPARED:
        where = search_texts.in_large_zone(zone, search.terms, b"") if search else None
        if where is not None and where.end is None:
            rrsets = rrsets.filter(where.among)
        elif search or zone.rrset_count > MOST_SORTED[order.column]:
            raise TooManyToSort
    start = sorted_place(after, order)
    is_small = zone.rrset_count <= display_order.LARGE  # all rows are sorted then
    begin, most = (None, 2**31) if is_small else (start, limit + 1)
    mine = Operation.objects.filter(draft__author=author, zone=zone)
    drafted: list[SortedKey] = []
    published: list[SortedKey] = []
    if mine.exists():
        here = {"owner_key": OuterRef("owner_key"), "type": OuterRef("type")}
        displayed = Q(pk__in=_apply_filters(mine, author, filters))
        if not filters.in_draft:
            displayed |= Q(Exists(rrsets.filter(**here)))
            rrsets = rrsets.exclude(Exists(mine.filter(**here)))
        drafted = first_drafted(mine.filter(displayed), order, begin, most)
    if not filters.in_draft:
        large = zone if zone.rrset_count > find_rrsets.MOST_COMPARED else None
        published = first_stored(rrsets, order, begin, most, large, is_all=filters.fits_all)
    keys = naturally_merged(drafted, published, order, start) if is_small else merge_in_order(drafted, published, order)
    rows = _rows_at(zone, mine, [place.key for place in keys[:limit]])
    return RRsetPage(rows, sorted_cursor(keys[limit - 1]) if len(keys) > limit else "")


def place_before(zone: Zone, name: str) -> str:
    """Return the cursor of the editor page that starts at this name, or at the next name if the zone lacks it."""
    return _cursor_of((relative_key(name, zone.name), _BEFORE_ALL_TYPES))


def place_behind(zone: Zone, key: Key, *, is_canonical: bool = False) -> str:
    """Return the cursor of the editor page after this RRset. `is_canonical` is the current page's attribute."""
    return f"{_CANONICAL if is_canonical else ''}{_cursor_of((relative_key(key[0], zone.name), key[1]))}"


def finds_in(zone: Zone, search: Search) -> bool:
    """Return True if the zone matches the search terms about zones. Return False if the search has an error."""
    if search.faults:
        return False
    about_zones = Search(search.about_zones_alone)
    zones = Zone.objects.filter(pk=zone.pk)
    return not about_zones or zone_conditions.fitting(zones, about_zones, now=timezone.now()).exists()


def rrset_row(*, zone: Zone, author: User, name: str, type: int) -> RRsetRow:
    """Return one RRset's row. If the RRset doesn't exist, its published and drafted states are both None."""
    key = {"owner_key": relative_key(name, zone.name), "type": type}
    stored = StoredRRset.objects.filter(zone=zone, **key).first()
    operation = Operation.objects.filter(draft__author=author, zone=zone, **key).first()
    if stored is None and operation is None:
        return RRsetRow(Change(name, type, None, None))
    return _rrset_row(stored, operation)


def rrset_rows(*, zone: Zone, author: User, keys: Iterable[Key]) -> list[RRsetRow]:
    """Return the rows of these RRsets in the order of `rrset_page`, with two queries. Omit missing RRsets."""
    stored_keys = [(relative_key(name, zone.name), type_) for name, type_ in keys if names.is_within(name, zone.name)]
    stored = _at(StoredRRset.objects.filter(zone=zone), stored_keys)
    operations = _at(Operation.objects.filter(draft__author=author, zone=zone), stored_keys)
    found = in_order(stored.keys() | operations.keys(), None)
    return [_rrset_row(stored.get(key), operations.get(key)) for key in found]


def type_counts(*, zone: Zone, author: User | None = None) -> tuple[tuple[int, int], ...]:
    """Count the zone's RRsets by type, plus those that the draft adds. Return () if the zone is too large to count."""
    if zone.rrset_count > COUNTED_RRSETS:
        return ()
    found = _by_type(StoredRRset.objects.filter(zone=zone))
    if author is not None:
        found += _by_type(
            Operation.objects.filter(draft__author=author, zone=zone, base__isnull=True, wanted__isnull=False)
        )
    return tuple(sorted(found.items()))


def _by_type(rows: QuerySet[Any]) -> Counter[int]:
    return Counter({row["type"]: row["n"] for row in rows.values("type").annotate(n=Count("*"))})


def _filtered_rrsets(zone: Zone, author: User, filters: RRsetFilter) -> QuerySet[StoredRRset]:
    rows = _apply_filters(StoredRRset.objects.filter(zone=zone), author, filters)
    if filters.changed_since is None or (first := history.first_number_since(zone, filters.changed_since)) <= 1:
        return rows
    rows = rows.filter(changed_in__gte=first)
    if zone.rrset_count <= display_order.LARGE:
        return rows
    changes = StoredChange.objects.filter(revision__zone=zone, revision__number__gte=first)
    keys = set(changes.values_list("owner_key", flat=True)[: MOST_CHANGES + 1])
    return rows if len(keys) > MOST_CHANGES else rows.filter(owner_key__in=keys)


def _apply_filters(rows: QuerySet[Any], author: User, filters: RRsetFilter) -> QuerySet[Any]:
    if filters.types:
        rows = rows.filter(type__in=filters.types)
    if not filters.search:
        return rows
    return rrset_conditions.fitting(rows, filters.search, zones_visible_to(author))


def _at(rows: QuerySet[Any], keys: list[StoredKey]) -> dict[StoredKey, Any]:
    if not keys:
        return {}
    among = set(keys)
    found = rows.filter(owner_key__in={owner_key for owner_key, _ in keys})
    return {_key(row): row for row in found if _key(row) in among}


def _key(row: Any) -> StoredKey:
    return bytes(row.owner_key), row.type


def _cursor_of(key: StoredKey) -> str:
    return f"{key[0].hex()}-{key[1]}"


def _cursor_key(after: str) -> StoredKey | None:
    """Parse the key in a cursor. Return None (the beginning) if the cursor is invalid."""
    owner_key, _, type_ = after.partition("-")
    try:
        return bytes.fromhex(owner_key), int(type_)
    except ValueError:
        return None


def _rrset_row(stored: StoredRRset | None, operation: Operation | None) -> RRsetRow:
    before, number = (rrset_of(stored), stored.changed_in) if stored is not None else (None, 0)
    if operation is None:
        assert before is not None
        return RRsetRow(Change(before.name, before.type, before, before), changed_in=number)
    name, type_, drafted = operation.name, operation.type, edit_of(operation).change
    if is_already_so(before, drafted.after):
        return RRsetRow(Change(name, type_, before, before), operation_id=operation.pk, changed_in=number)
    mark: Mark = "added" if before is None else "deleted" if drafted.after is None else "changed"
    conflict = not (soa.same_to_dns(drafted.before, before) or soa.same_to_dns(before, drafted.after))
    return RRsetRow(Change(name, type_, before, drafted.after), mark, conflict, operation.pk, number)
