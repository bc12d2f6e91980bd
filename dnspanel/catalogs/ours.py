"""Reads about catalogs of ours: how each stands, and its members page by page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from dnspanel.accounts.actors import Person
from dnspanel.catalogs.access import produced_visible_to, producers_visible_to
from dnspanel.catalogs.models import Produced, Producer
from dnspanel.zones.models import Zone


@dataclass(frozen=True, slots=True)
class ProducerRow:
    """A catalog of ours, how many zones are in it, and whether it says so already."""

    producer: Producer
    members: int
    in_trash: int  # zones that come back into it with their zone
    is_followed: bool

    @property
    def zone(self) -> Zone:
        return self.producer.zone


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A zone that is in a catalog of ours, and its group there; "" for none."""

    produced: Produced
    group: str

    @property
    def zone(self) -> Zone:
        return self.produced.zone


def producer_rows(person: Person) -> list[ProducerRow]:
    """Every one that the person may know of, by name, by two queries: they are few."""
    return rows_of_ours(list(producers_visible_to(person).order_by("zone__name")))


def rows_of_ours(producers: Sequence[Producer]) -> list[ProducerRow]:
    """Each of these, by one query."""
    living = Q(zone__deleted_at=None)
    counted = (
        Produced.objects.filter(catalog__in=[each.pk for each in producers])
        .order_by()
        .values("catalog")
        .annotate(
            living=Count("pk", filter=living),
            gone=Count("pk", filter=~living),
            waiting=Count("pk", filter=Q(moved=True)),
        )
    )
    by_id = {row["catalog"]: (row["living"], row["gone"], row["waiting"]) for row in counted}
    found = []
    for each in producers:
        members, in_trash, waiting = by_id.get(each.pk, (0, 0, 0))
        found.append(ProducerRow(each, members, in_trash, each.followed == each.moves and not waiting))
    return found


def member_rows(
    person: Person, producer: Producer, *, search: str = "", after: str = "", limit: int = 50
) -> list[MemberRow]:
    """What is in it that the person may know of, by name, with names after `after` that begin with `search`."""
    found = produced_visible_to(person, producer).order_by("zone__name", "pk")
    if search:
        found = found.filter(zone__name__startswith=search)
    return [member_row(producer, each) for each in (found.filter(zone__name__gt=after) if after else found)[:limit]]


def member_row(producer: Producer, produced: Produced) -> MemberRow:
    """One of them."""
    group = next((tag for tag in producer.group_tags if tag in produced.zone.tags), "")
    return MemberRow(produced, group)
