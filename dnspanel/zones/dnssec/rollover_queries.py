"""What is known of rollovers, for pages and APIs."""

from dnspanel.accounts.actors import Person
from dnspanel.zones import access
from dnspanel.zones.models import Rollover, Zone


def newest(zone: Zone) -> Rollover | None:
    """The zone's rollover that is under way, or the last one that was."""
    return Rollover.objects.filter(zone=zone).select_related("started_by", "zone").order_by("-pk").first()


def under_way(person: Person, *, after: int = 0, limit: int) -> tuple[list[Rollover], bool]:
    """The rollovers of zones that this person may know of, oldest first, beyond this id; whether there are more."""
    visible = access.zones_visible_to(person).values("pk")
    found = Rollover.objects.filter(ended_at=None, pk__gt=after, zone__in=visible)
    rows = list(found.select_related("zone", "started_by").order_by("pk")[: limit + 1])
    return rows[:limit], len(rows) > limit
