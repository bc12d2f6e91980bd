"""Read the state and the members of producer catalogs, for pages and the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q
from django.db.models.functions import Coalesce, Now

from dnspanel.accounts.actors.actors import Person
from dnspanel.catalogs.access import produced_visible_to, producers_visible_to
from dnspanel.catalogs.models import LeaveStep, Produced, Producer
from dnspanel.catalogs.ownership_change import still_named
from dnspanel.secondaries.members import SAYS_WHERE
from dnspanel.zones.models import Zone


@dataclass(frozen=True, slots=True)
class ProducerRow:
    """A producer catalog and its number of members. `is_followed` is True if the zone already lists all members."""

    producer: Producer
    members: int
    in_trash: int  # zones in the trash that are members again when restored
    is_followed: bool
    coming: int  # members not listed yet, because their old catalog must announce the move first
    leaving: int  # zones still listed that moved to another catalog
    leaving_until: datetime | None  # time when the last of them is no longer listed, at the latest

    @property
    def zone(self) -> Zone:
        return self.producer.zone


@dataclass(frozen=True, slots=True)
class _Way:
    """The number of zones at one step of a move, and the time of their last announcement (now if one is missing)."""

    catalog: int
    entered: int
    way: int
    zones: int
    told_at: datetime


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of a producer catalog, and the member's group, or "" if it doesn't have one."""

    produced: Produced
    group: str

    @property
    def zone(self) -> Zone:
        return self.produced.zone


def producer_rows(person: Person) -> list[ProducerRow]:
    """Return the producer catalogs that the person is allowed to see, sorted by name. This takes three queries."""
    return rows_of_ours(list(producers_visible_to(person).order_by("zone__name")))


def rows_of_ours(producers: Sequence[Producer]) -> list[ProducerRow]:
    """Return a row for each of these producer catalogs, with two queries."""
    ids = [each.pk for each in producers]
    living = Q(zone__deleted_at=None)
    counted = (
        Produced.objects.filter(catalog__in=ids)
        .order_by()
        .values("catalog")
        .annotate(
            living=Count("pk", filter=living),
            gone=Count("pk", filter=~living),
            waiting=Count("pk", filter=Q(moved=True)),
        )
    )
    by_id = {row["catalog"]: (row["living"], row["gone"], row["waiting"]) for row in counted}
    ways = _ways(ids)
    found = []
    for each in producers:
        members, in_trash, waiting = by_id.get(each.pk, (0, 0, 0))
        coming = sum(way.zones for way in ways if way.entered == each.pk and way.way == LeaveStep.SAID)
        went = [way for way in ways if way.catalog == each.pk]
        found.append(
            ProducerRow(
                each,
                members,
                in_trash,
                is_followed=each.followed == each.moves and not waiting and not coming,
                coming=coming,
                leaving=sum(way.zones for way in went),
                leaving_until=max((way.told_at + SAYS_WHERE for way in went), default=None),
            )
        )
    return found


def _ways(ids: Sequence[int]) -> list[_Way]:
    """Return the number of zones that move from or to these catalogs, for each pair of catalogs and each step."""
    found = still_named().filter(Q(catalog__in=ids) | Q(entered__in=ids, way=LeaveStep.SAID)).order_by()
    pairs = found.values("catalog", "entered", "way")
    return [_Way(**row) for row in pairs.annotate(zones=Count("pk"), told_at=Max(Coalesce("told_at", Now())))]


def member_rows(
    person: Person, producer: Producer, *, search: str = "", after: str = "", limit: int = 50
) -> list[MemberRow]:
    """Return the catalog's members that the person is allowed to see, sorted by name.

    At most `limit` members are returned: those whose names begin with `search` and come after `after`.
    """
    found = produced_visible_to(person, producer).order_by("zone__name", "pk")
    if search:
        found = found.filter(zone__name__startswith=search)
    return [member_row(producer, each) for each in (found.filter(zone__name__gt=after) if after else found)[:limit]]


def member_row(producer: Producer, produced: Produced) -> MemberRow:
    """Return the row of one member, with its group."""
    group = next((tag for tag in producer.group_tags if tag in produced.zone.tags), "")
    return MemberRow(produced, group)
