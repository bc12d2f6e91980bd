"""Queries for pages and APIs: lists and searches of zones, the trash, counts of drafted changes, and histories.

All lists use keyset pagination: a page contains the next page's cursor. Names of `history` are also exported here.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import Person, Right, actor_of
from dnspanel.accounts.models import User
from dnspanel.database.field_copies import copy_fields
from dnspanel.zones.log.history import EVERY_REVISION, HistoryFilters, HistoryRow, revisions_below
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.order.zone_order import BY_NAME, ZoneColumn, ZoneOrder, ids_in_order, named_before
from dnspanel.zones.rights.access import trash_visible_to, zones_visible_to
from dnspanel.zones.search import zone_conditions
from dnspanel.zones.search.terms import Search, parse
from dnspanel.zones.search.zones_by_name import zones_fitting

MOST_REVISIONS_LOOKED_THROUGH = 5_000
MOST_COUNTED = 10_000  # zones

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows of a list, and the next page's cursor ("" on the last page)."""

    rows: tuple[Row, ...]
    next_after: str


@dataclass(frozen=True, slots=True)
class ZoneRow:
    id: int
    name: str
    serial: int
    revision: int
    rrset_count: int
    sequence: int
    changed_at: datetime
    changed_by: str  # username, or ""
    deleted_at: datetime | None
    team: str  # name, or ""
    tags: tuple[str, ...]
    is_signed: bool
    is_served: bool


@dataclass(frozen=True, slots=True)
class ZonePage(Page[ZoneRow]):
    """A page of zones. `looked_to` is the last examined name if a search reached its limit."""

    looked_to: str = ""


@dataclass(frozen=True, slots=True)
class HistoryPage(Page[HistoryRow]):
    """A page of revisions. `looked_down_to` is the last examined revision if the filters reached their limit."""

    looked_down_to: int | None = None


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """The number of changes of each kind to one zone in a draft."""

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
    """Return zones that match a search (see `search.terms`), in the given order. `part` works as in `zones_fitting`.

    The results of a search in the zones' content are always ordered by name (see `order_for`).
    """
    zones, searched = zones_visible_to(user), parse(search)
    order = order_for(searched, order)
    if order == BY_NAME:
        behind = _storable(after)
        found = zones_fitting(
            _with_list_columns(zones), searched, now=timezone.now(), after=behind, limit=limit + 1, part=part
        )
        rows = [_zone_row(zone) for zone in found.rows]
        if len(rows) > limit:
            return ZonePage(tuple(rows[:limit]), rows[limit - 1].name)
        return ZonePage(tuple(rows), found.looked_to, looked_to=found.looked_to)
    zones = zone_conditions.fitting(zones, searched, now=timezone.now())
    if order.column is ZoneColumn.NAME:
        by_name = _with_list_columns(named_before(zones, _storable(after)))
        rows = [_zone_row(zone) for zone in by_name[: limit + 1]]
        return ZonePage(tuple(rows[:limit]), rows[limit - 1].name if len(rows) > limit else "")
    actor = actor_of(user)
    are_all = not searched and actor is not None and actor.may_everywhere(Right.READ)
    pks, next_after = ids_in_order(zones, order, _storable(after), limit, are_all=are_all)
    listed = _with_list_columns(Zone.objects.all()).in_bulk(pks) if pks else {}
    return ZonePage(tuple(_zone_row(listed[pk]) for pk in pks if pk in listed), next_after)


def zone_total(*, among: QuerySet[Zone], search: str, most: int = MOST_COUNTED) -> int | None:
    """Count the zones that match a search, up to `most` + 1. Return None for a search in the zones' content."""
    if zone_conditions.terms_inside(parse(search)):
        return None
    return found_zones(among, search).order_by()[: most + 1].count()


def order_for(searched: Search, order: ZoneOrder) -> ZoneOrder:
    """Return `order`, or BY_NAME for a search in the zones' content, because such a search can examine all zones."""
    return BY_NAME if zone_conditions.terms_inside(searched) else order


def found_zones(zones: QuerySet[Zone], search: str) -> QuerySet[Zone]:
    """Select the zones that match a search. A search with an error matches none."""
    return zone_conditions.fitting(zones, parse(search), now=timezone.now())


def trash_page(*, user: Person, search: str = "", after: str = "", limit: int = 100) -> Page[ZoneRow]:
    """Return deleted zones, most recently deleted first. `search` works as in `zone_page`."""
    zones = _with_list_columns(found_zones(trash_visible_to(user), search)).order_by("-deleted_at", "-pk")
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
    """Return the cursor of the trash page that starts with this zone."""
    return _trash_cursor(deleted_at, zone_id + 1)


def others_drafting(*, zone: Zone, author: User) -> tuple[tuple[str, int], ...]:
    """Return (username, number of operations) for each other person whose open draft changes this zone."""
    drafted = Operation.objects.filter(zone=zone, draft__author__isnull=False)  # only drafts that are open in an editor
    others = drafted.exclude(draft__author=author).values("draft__author__username")
    counted = others.annotate(n=Count("pk")).order_by("draft__author__username")
    return tuple((row["draft__author__username"], row["n"]) for row in counted)


def draft_summary(*, author: User) -> tuple[DraftCounts, ...]:
    """Count the author's draft changes to each zone, ordered by zone name. Deleted zones are omitted."""
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
    """Return revisions with numbers below `before` (the cursor as an int), newest first.

    If filters are set, only a bounded number of revisions is examined. The page then contains the last examined number.
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
    """Replace NUL with a space. PostgreSQL can't store this character."""
    return text.replace("\0", " ")


def _trash_cursor(deleted_at: datetime, zone_id: int) -> str:
    return f"{deleted_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}~{zone_id}"


def _with_list_columns(zones: QuerySet[Zone]) -> QuerySet[Zone]:
    """Select zones with all columns for a list row, in one query."""
    return zones.select_related("changed_by", "team").annotate(is_signed=F("signing__is_signed"))


def _zone_row(zone: Zone) -> ZoneRow:
    return copy_fields(
        ZoneRow,
        zone,
        changed_by=zone.changed_by.username if zone.changed_by else "",
        team=zone.team.name if zone.team else "",
        is_signed=bool(getattr(zone, "is_signed", False)),  # added by `_with_list_columns`
    )
