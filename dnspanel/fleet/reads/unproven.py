"""Query zones that fail validation on a node for a reason other than a publication, for pages and APIs."""

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Person
from dnspanel.fleet.models import Node, UnprovenZone
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access

MOST = 20


def unproven_on(zone: Zone) -> "QuerySet[UnprovenZone]":
    """Return a query for the nodes on which the zone fails validation, ordered by name, at most MOST."""
    return UnprovenZone.objects.filter(zone=zone).select_related("node").order_by("node__name")[:MOST]


def unproven_of(node: Node, zones: "QuerySet[Zone]") -> "QuerySet[UnprovenZone]":
    """Return a query for the zones in `zones` that fail validation on the node, oldest failure first, at most MOST."""
    found = UnprovenZone.objects.filter(node=node, zone__in=zones.values("pk"))
    return found.select_related("zone").order_by("since", "zone__name")[:MOST]


def unproven_for(person: Person, *, after: int = 0, limit: int) -> tuple[list[UnprovenZone], bool]:
    """Return entries of zones that fail validation on a node, and True if there are more.

    Only zones that this person is allowed to know, and entries with an id above `after`, are included.
    """
    visible = access.zones_visible_to(person).values("pk")
    found = UnprovenZone.objects.filter(pk__gt=after, zone__in=visible)
    rows = list(found.select_related("zone", "node").order_by("pk")[: limit + 1])
    return rows[:limit], len(rows) > limit
