"""Reads for the faces: lists, search, and the editor's view of a zone merged with a draft.

Every list pages by keyset: a page says with which cursor the next one starts.
What concerns the past is in `history`, and offered from here too.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import Person, actor_of
from dnspanel.accounts.actors.grants import Right
from dnspanel.accounts.models import User
from dnspanel.zones.drafts.draft import edit_of
from dnspanel.zones.lists import find_rrsets
from dnspanel.zones.lists.by_name import Found, Places, in_order, keys_of
from dnspanel.zones.lists.find_rrsets import BEFORE_ALL, StoredKey, display_key, in_display_order, last_compared
from dnspanel.zones.lists.rrset_order import (
    MOST_SORTED,
    RRsetColumn,
    RRsetOrder,
    SortedKey,
    TooManyToSort,
    first_drafted,
    first_stored,
    merged,
    naturally_merged,
    sorted_cursor,
    sorted_place,
)
from dnspanel.zones.log.history import EVERY_REVISION, HistoryFilters, revisions_below
from dnspanel.zones.log.history import HistoryRow as HistoryRow
from dnspanel.zones.log.history import Mark as Mark
from dnspanel.zones.log.history import RecordDiff as RecordDiff
from dnspanel.zones.log.history import RRsetDiff as RRsetDiff
from dnspanel.zones.log.history import diff as diff
from dnspanel.zones.log.history import revision_changes as revision_changes
from dnspanel.zones.log.history import rrset_history as rrset_history
from dnspanel.zones.log.history import rrsets_at as rrsets_at
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.order import display_order
from dnspanel.zones.order.zone_order import BY_NAME, ZoneColumn, ZoneOrder, named_before, ordered
from dnspanel.zones.plan.merge import is_already_so
from dnspanel.zones.rights.access import trash_visible_to, zones_visible_to
from dnspanel.zones.search import rrset_conditions, texts, zone_conditions
from dnspanel.zones.search.terms import Filter, Search, Term, parse
from dnspanel.zones.search.zones_by_name import zones_fitting
from dnspanel.zones.store.store_rrsets import rrset_of
from dnspanel.zones.values import soa
from replication.codec.keys import name_from_relative_key, relative_key
from replication.dns import names
from replication.dns.rrset import Change, Key

COUNTED_RRSETS = 10_000  # a zone larger than this is not counted by type
MOST_REVISIONS_LOOKED_THROUGH = 5_000
_BEFORE_ALL_TYPES, _BEHIND_ALL_TYPES = -3, 65_536  # as an editor ranks them
_CANONICAL = "~"  # before a cursor of that order of names

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows of a list, and the cursor of the rows after them (empty: there are no more)."""

    rows: tuple[Row, ...]
    next_after: str


@dataclass(frozen=True, slots=True)
class ZoneRow:
    """A zone in a list."""

    id: int
    name: str
    serial: int
    revision: int
    rrset_count: int
    sequence: int
    changed_at: datetime
    changed_by: str  # username, or nothing
    deleted_at: datetime | None
    team: str  # name, or nothing
    tags: tuple[str, ...]
    is_signed: bool


@dataclass(frozen=True, slots=True)
class ZonePage(Page[ZoneRow]):
    """Some zones of a list; `looked_to`: the name up to which a search looked, if that is not the end."""

    looked_to: str = ""


@dataclass(frozen=True, slots=True)
class RRsetFilter:
    """Which RRsets an editor shows: those that a search finds; of these types (none: all); only those in the draft."""

    text: str = ""
    types: frozenset[int] = frozenset()
    in_draft: bool = False

    @property
    def search(self) -> Search:
        """What the text means."""
        return parse(self.text)

    @property
    def fits_all(self) -> bool:
        """Whether every RRset fits it, as published or as drafted."""
        return not self.search and not self.types


EVERYTHING = RRsetFilter()


@dataclass(frozen=True, slots=True)
class RRsetRow:
    """An RRset as published and as it is after the author's draft; `conflict`: published moved since the edit began."""

    change: Change  # from published to the draft's, which is the published one where the draft says nothing
    mark: Mark | None
    conflict: bool
    operation_id: int | None
    changed_in: int = 0  # the number of the revision that changed it last; 0: it is not published


@dataclass(frozen=True, slots=True)
class RRsetPage(Page[RRsetRow]):
    """Some rows of an editor; `stopped_at`: the name up to which a text was looked for, if that is not the end.

    `is_canonical`: they come in canonical order of names, and so does what follows.
    """

    stopped_at: str = ""
    is_canonical: bool = False


@dataclass(frozen=True, slots=True)
class HistoryPage(Page[HistoryRow]):
    """Some revisions; `looked_down_to`: the number of the last one that was looked at, if that is not the first."""

    looked_down_to: int | None = None


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """What a draft holds for one zone."""

    zone_id: int
    zone_name: str
    added: int
    changed: int
    removed: int
    draft_name: str

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


def zone_page(
    *, user: Person, search: str = "", order: ZoneOrder = BY_NAME, after: str = "", limit: int = 100, part: int = 1
) -> ZonePage:
    """Zones in this order, those that a search finds (see `search.terms`); `part` is that of `zones_fitting`.

    A search that looks into zones is answered by name, whatever the order: see `order_for`.
    """
    zones, searched = zones_visible_to(user), parse(search)
    order = order_for(searched, order)
    if order == BY_NAME:
        behind = _storable(after)
        found = zones_fitting(_listed(zones), searched, now=timezone.now(), after=behind, limit=limit + 1, part=part)
        rows = [_zone_row(zone) for zone in found.rows]
        if len(rows) > limit:
            return ZonePage(tuple(rows[:limit]), rows[limit - 1].name)
        return ZonePage(tuple(rows), found.looked_to, looked_to=found.looked_to)
    zones = zone_conditions.fitting(zones, searched, now=timezone.now())
    if order.column is ZoneColumn.NAME:
        by_name = _listed(named_before(zones, _storable(after)))
        rows = [_zone_row(zone) for zone in by_name[: limit + 1]]
        return ZonePage(tuple(rows[:limit]), rows[limit - 1].name if len(rows) > limit else "")
    actor = actor_of(user)
    are_all = not searched and actor is not None and actor.may_everywhere(Right.READ)
    pks, next_after = ordered(zones, order, _storable(after), limit, are_all=are_all)
    listed = _listed(Zone.objects.all()).in_bulk(pks) if pks else {}
    return ZonePage(tuple(_zone_row(listed[pk]) for pk in pks if pk in listed), next_after)


def order_for(searched: Search, order: ZoneOrder) -> ZoneOrder:
    """The order in which the zones that fit a search can be listed: nobody knows beforehand how many have to be looked
    into, so that these come by name, as far as they were looked at."""
    return BY_NAME if zone_conditions.terms_inside(searched) else order


def found_zones(zones: QuerySet[Zone], search: str) -> QuerySet[Zone]:
    """Those of `zones` that a search finds; with a fault in it, none."""
    return zone_conditions.fitting(zones, parse(search), now=timezone.now())


def trash_page(*, user: Person, search: str = "", after: str = "", limit: int = 100) -> Page[ZoneRow]:
    """Deleted zones, the newest first; `search` is that of `zone_page`."""
    zones = _listed(found_zones(trash_visible_to(user), search)).order_by("-deleted_at", "-pk")
    at, _, pk = after.partition("~")
    if pk.isdecimal():
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            return Page((), "")
        zones = zones.filter(Q(deleted_at__lt=moment) | Q(deleted_at=moment, pk__lt=int(pk)))
    rows = [_zone_row(zone) for zone in zones[: limit + 1]]
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(tuple(rows[:limit]), _trash_cursor(last.deleted_at, last.id) if last and last.deleted_at else "")


def trash_place(deleted_at: datetime, zone_id: int) -> str:
    """The cursor of the page of the trash that begins with this zone."""
    return _trash_cursor(deleted_at, zone_id + 1)


def rrset_page(
    *,
    zone: Zone,
    author: User,
    filters: RRsetFilter = EVERYTHING,
    after: str = "",
    limit: int = 100,
    descending: bool = False,
) -> RRsetPage:
    """The zone's RRsets by name as people sort names, at each SOA and NS first, merged with the author's draft.

    In at most 17 queries, six in a small zone.

    An RRset is shown when the filter finds it as published or as drafted. In a large zone what many names may have is
    looked for at a bounded number of them: the page says how far, and there may be more behind it though it has few
    rows. In canonical order comes a large zone whose names have no places yet. Raises TooManyToSort for it where it is
    `descending`.
    """
    if not finds_in(zone, filters.search):
        return RRsetPage((), "")
    start = _cursor_key(after.removeprefix(_CANONICAL))
    published = None
    if filters.in_draft:
        published = Found([])
    elif not after.startswith(_CANONICAL):
        published = _published(zone, author, filters, start, limit + 1, descending=descending)
    if published is None:
        if descending:
            raise TooManyToSort
        return _canonical_page(zone, author, filters, start, limit)
    mine = Operation.objects.filter(draft__author=author, zone=zone)
    drafted = keys_of(_filtered(mine, author, filters))
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


def _published(
    zone: Zone, author: User, filters: RRsetFilter, start: StoredKey | None, limit: int, *, descending: bool
) -> Found | None:
    """The first RRsets that the filter finds as published, by name; None if the zone is too large to sort them now."""
    rows = _filtered_rrsets(zone, author, filters)
    if zone.rrset_count <= display_order.LARGE:
        return Found(in_order(keys_of(rows), start, descending=descending)[:limit])
    if (few := _few_of_large_zone(zone, filters, rows)) is not None:
        return Found(in_order(few, start, descending=descending)[:limit])
    places = Places.of(zone)
    if places is not None:
        return places.first(rows, start, limit, are_all=filters.fits_all, descending=descending)
    # Who is somewhere in this order goes on in it, whatever it costs.
    is_between = start is not None and start[1] != _BEFORE_ALL_TYPES
    if zone.rrset_count <= find_rrsets.MOST_COMPARED or is_between:
        return Found(in_order(keys_of(rows), start, descending=descending)[:limit])
    return None


def _few_of_large_zone(zone: Zone, filters: RRsetFilter, rows: QuerySet[Any]) -> set[StoredKey] | None:
    """All RRsets of a large zone that the filter finds, if they are known to be among few."""
    if filters.fits_all:
        return None
    terms = filters.search.terms
    if filters.types:
        terms = (*terms, Term(Filter.TYPE, filters.types, negated=False, typed=""))
    where = texts.in_large_zone(zone, terms, b"")
    if where is not None:
        return keys_of(rows.filter(where.among)) if where.end is None else None
    if filters.search:
        return None
    found = keys_of(rows.order_by("owner_key", "type")[: display_order.LARGE + 1])
    return found if len(found) <= display_order.LARGE else None


def _canonical_page(zone: Zone, author: User, filters: RRsetFilter, start: StoredKey | None, limit: int) -> RRsetPage:
    """A page of `rrset_page` by canonical order of names, along the primary key."""
    search = filters.search
    last, where = None, None
    if search and zone.rrset_count > find_rrsets.MOST_COMPARED:
        where = texts.in_large_zone(zone, search.terms, start[0] if start else b"")
        if where is None:
            last = last_compared(zone, start or BEFORE_ALL)
    below = Q() if where is None or where.end is None else Q(owner_key__lt=where.end)
    mine = Operation.objects.filter(draft__author=author, zone=zone)
    drafted = in_display_order(_filtered(mine, author, filters).filter(below), start, last, limit + 1)
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
    """The rows of these RRsets, in this order, without those that are nowhere by now; in two queries."""
    stored = _at(StoredRRset.objects.filter(zone=zone), page)
    operations = _at(mine, page)
    rows = (_rrset_row(stored.get(key), operations.get(key)) for key in page if key in stored or key in operations)
    return tuple(row for row in rows if row.change.before is not None or row.change.after is not None)


def sorted_rrset_page(
    *, zone: Zone, author: User, order: RRsetOrder, filters: RRsetFilter = EVERYTHING, after: str = "", limit: int = 100
) -> RRsetPage:
    """What `rrset_page` shows, in another order; each RRset as the author's draft leaves it. In at most 15 queries.

    Raises TooManyToSort where the zone has too many RRsets for this column and no filter finds few among them.
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
        where = texts.in_large_zone(zone, search.terms, b"") if search else None
        if where is not None and where.end is None:
            rrsets = rrsets.filter(where.among)
        elif search or zone.rrset_count > MOST_SORTED[order.column]:
            raise TooManyToSort
    start = sorted_place(after, order)
    is_small = zone.rrset_count <= display_order.LARGE  # then all are sorted
    begin, most = (None, 2**31) if is_small else (start, limit + 1)
    mine = Operation.objects.filter(draft__author=author, zone=zone)
    drafted: list[SortedKey] = []
    published: list[SortedKey] = []
    if mine.exists():
        here = {"owner_key": OuterRef("owner_key"), "type": OuterRef("type")}
        displayed = Q(pk__in=_filtered(mine, author, filters))
        if not filters.in_draft:
            displayed |= Q(Exists(rrsets.filter(**here)))
            rrsets = rrsets.exclude(Exists(mine.filter(**here)))
        drafted = first_drafted(mine.filter(displayed), order, begin, most)
    if not filters.in_draft:
        large = zone if zone.rrset_count > find_rrsets.MOST_COMPARED else None
        published = first_stored(rrsets, order, begin, most, large, is_all=filters.fits_all)
    keys = naturally_merged(drafted, published, order, start) if is_small else merged(drafted, published, order)
    rows = _rows_at(zone, mine, [place.key for place in keys[:limit]])
    return RRsetPage(rows, sorted_cursor(keys[limit - 1]) if len(keys) > limit else "")


def place_before(zone: Zone, name: str) -> str:
    """The cursor of the page of an editor that begins with this name, or with what follows where it would be."""
    return _cursor_of((relative_key(name, zone.name), _BEFORE_ALL_TYPES))


def place_behind(zone: Zone, key: Key, *, is_canonical: bool = False) -> str:
    """The cursor of the page of an editor that begins with what follows this RRset; `is_canonical` as of RRsetPage."""
    return f"{_CANONICAL if is_canonical else ''}{_cursor_of((relative_key(key[0], zone.name), key[1]))}"


def finds_in(zone: Zone, search: Search) -> bool:
    """Whether a search can find anything in this zone: it fits the terms about zones. A query if there are any."""
    if search.faults:
        return False
    about_zones = Search(search.about_zones_alone)
    zones = Zone.objects.filter(pk=zone.pk)
    return not about_zones or zone_conditions.fitting(zones, about_zones, now=timezone.now()).exists()


def rrset_row(*, zone: Zone, author: User, name: str, type: int) -> RRsetRow:
    """One RRset, published and in the author's draft; both sides None where there is none."""
    key = {"owner_key": relative_key(name, zone.name), "type": type}
    stored = StoredRRset.objects.filter(zone=zone, **key).first()
    operation = Operation.objects.filter(draft__author=author, zone=zone, **key).first()
    if stored is None and operation is None:
        return RRsetRow(Change(name, type, None, None), None, False, None)
    return _rrset_row(stored, operation)


def rrset_rows(*, zone: Zone, author: User, keys: Iterable[Key]) -> list[RRsetRow]:
    """These RRsets as `rrset_page` has them, in its order, without those that are nowhere; in two queries."""
    stored_keys = [(relative_key(name, zone.name), type_) for name, type_ in keys if names.is_within(name, zone.name)]
    stored = _at(StoredRRset.objects.filter(zone=zone), stored_keys)
    operations = _at(Operation.objects.filter(draft__author=author, zone=zone), stored_keys)
    found = in_order(stored.keys() | operations.keys(), None)
    return [_rrset_row(stored.get(key), operations.get(key)) for key in found]


def type_counts(*, zone: Zone, author: User | None = None) -> tuple[tuple[int, int], ...]:
    """(type, RRsets of it) in the zone and added by the author's draft; empty for a zone too large to count."""
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


def others_drafting(*, zone: Zone, author: User) -> tuple[tuple[str, int], ...]:
    """(username, operations) of everybody else whose draft changes this zone."""
    drafted = Operation.objects.filter(zone=zone, draft__author__isnull=False)  # not in one that is put aside
    others = drafted.exclude(draft__author=author).values("draft__author__username")
    counted = others.annotate(n=Count("pk")).order_by("draft__author__username")
    return tuple((row["draft__author__username"], row["n"]) for row in counted)


def draft_summary(*, author: User) -> tuple[DraftCounts, ...]:
    """What the author's draft holds, per zone by name."""
    counted = (
        Operation.objects.filter(draft__author=author, zone__deleted_at=None)
        .values("zone_id", "zone__name", "draft__name")
        .annotate(
            added=Count("pk", filter=Q(base__isnull=True)),
            changed=Count("pk", filter=Q(base__isnull=False, wanted__isnull=False)),
            deleted=Count("pk", filter=Q(base__isnull=False, wanted__isnull=True)),
        )
        .order_by("zone__name")
    )
    return tuple(
        DraftCounts(row["zone_id"], row["zone__name"], row["added"], row["changed"], row["deleted"], row["draft__name"])
        for row in counted
    )


def history_page(
    *, zone: Zone, before: int | None = None, limit: int = 50, filters: HistoryFilters = EVERY_REVISION
) -> HistoryPage:
    """Revisions, the newest first; `before` is the number below which the page starts (the cursor as an int).

    Where something is left out, a bounded number of them is looked through, and the page says how far.
    """
    top = zone.revision + 1 if before is None else min(before, zone.revision + 1)
    down_to = 1 if filters == EVERY_REVISION else max(1, top - MOST_REVISIONS_LOOKED_THROUGH)
    rows = revisions_below(zone, before, limit + 1, filters, down_to)
    if len(rows) > limit:
        return HistoryPage(tuple(rows[:limit]), str(rows[limit - 1].number))
    if down_to == 1:
        return HistoryPage(tuple(rows), "")
    return HistoryPage(tuple(rows), str(down_to), looked_down_to=down_to)


def _storable(text: str) -> str:
    """Typed text without the one character that PostgreSQL has no place for."""
    return text.replace("\0", " ")


def _trash_cursor(deleted_at: datetime, zone_id: int) -> str:
    return f"{deleted_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}~{zone_id}"


def _listed(zones: QuerySet[Zone]) -> QuerySet[Zone]:
    """With all that a row of a list has, in one query."""
    return zones.select_related("changed_by", "team").annotate(is_signed=F("signing__is_signed"))


def _zone_row(zone: Zone) -> ZoneRow:
    return ZoneRow(
        id=zone.pk,
        name=zone.name,
        serial=zone.serial,
        revision=zone.revision,
        rrset_count=zone.rrset_count,
        sequence=zone.sequence,
        changed_at=zone.changed_at,
        changed_by=zone.changed_by.username if zone.changed_by else "",
        deleted_at=zone.deleted_at,
        team=zone.team.name if zone.team else "",
        tags=tuple(zone.tags),
        is_signed=bool(getattr(zone, "is_signed", False)),  # by `_listed`
    )


def _filtered_rrsets(zone: Zone, author: User, filters: RRsetFilter) -> QuerySet[StoredRRset]:
    return _filtered(StoredRRset.objects.filter(zone=zone), author, filters)


def _filtered(rows: QuerySet[Any], author: User, filters: RRsetFilter) -> QuerySet[Any]:
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
    """The key in a cursor; None, the start, for anything else than a cursor of ours."""
    owner_key, _, type_ = after.partition("-")
    try:
        return bytes.fromhex(owner_key), int(type_)
    except ValueError:
        return None


def _rrset_row(stored: StoredRRset | None, operation: Operation | None) -> RRsetRow:
    before, number = (rrset_of(stored), stored.changed_in) if stored is not None else (None, 0)
    if operation is None:
        assert before is not None
        return RRsetRow(Change(before.name, before.type, before, before), None, False, None, number)
    name, type_, drafted = operation.name, operation.type, edit_of(operation).change
    if is_already_so(before, drafted.after):
        return RRsetRow(Change(name, type_, before, before), None, False, operation.pk, number)
    mark: Mark = "added" if before is None else "deleted" if drafted.after is None else "changed"
    conflict = not (soa.same_to_dns(drafted.before, before) or soa.same_to_dns(before, drafted.after))
    return RRsetRow(Change(name, type_, before, drafted.after), mark, conflict, operation.pk, number)
