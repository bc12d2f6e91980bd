"""What is known of rollovers, for pages and APIs."""

from collections.abc import Collection

from dnspanel.accounts.actors.actors import Person
from dnspanel.zones.dnssec.rollover import Refused, keys_to_replace
from dnspanel.zones.dnssec.rollover_stages import BACK, EMERGENCY, STAGES, Kind, Step
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import Rollover, Zone
from dnspanel.zones.rights import access


def newest(zone: Zone) -> Rollover | None:
    """The zone's rollover that is under way, or the last one that was."""
    return Rollover.objects.filter(zone=zone).select_related("started_by", "zone").order_by("-pk").first()


def rolling_zones(zone_ids: Collection[int]) -> set[int]:
    """Those of these zones (ids) that have a rollover under way."""
    return {*Rollover.objects.filter(zone__in=zone_ids, ended_at=None).values_list("zone_id", flat=True)}


def under_way(person: Person, *, after: int = 0, limit: int) -> tuple[list[Rollover], bool]:
    """The rollovers of zones that this person may know of, oldest first, beyond this id; whether there are more."""
    visible = access.zones_visible_to(person).values("pk")
    found = Rollover.objects.filter(ended_at=None, pk__gt=after, zone__in=visible)
    rows = list(found.select_related("zone", "started_by").order_by("pk")[: limit + 1])
    return rows[:limit], len(rows) > limit


def of_zone(zone: Zone, *, before: int | None = None, limit: int) -> tuple[list[Rollover], bool]:
    """The zone's rollovers, the newest first, before this id; whether there are more."""
    found = Rollover.objects.filter(zone=zone).select_related("zone", "started_by").order_by("-pk")
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found[: limit + 1])
    return rows[:limit], len(rows) > limit


def steps_of(row: Rollover) -> list[tuple[Step, str]]:
    """The steps of the way that the rollover is on, each "done", "current" or "to come"."""
    kind, step = Kind(row.kind), Step(row.step)
    paths = [EMERGENCY.get(kind, ())] if row.is_emergency else [STAGES[kind], BACK[kind]]
    path = [stage.step for each in paths if step in [stage.step for stage in each] for stage in each]
    at = path.index(step)
    if row.ended_at is not None:
        return [(each, "done") for each in path]
    return [(each, "done" if n < at else "current" if n == at else "to come") for n, each in enumerate(path)]


def kinds_of(state: SigningState) -> dict[Kind, str]:
    """Every kind of rollover, with the reason that the zone's keys allow none such; "" where they do."""
    found: dict[Kind, str] = {}
    for kind in Kind:
        old = keys_to_replace(kind, state)
        found[kind] = old.message if isinstance(old, Refused) else ""
    return found


def stuck(person: Person, *, limit: int) -> list[Rollover]:
    """The rollovers under way that stand still, of zones that this person may know of, the oldest first."""
    visible = access.zones_visible_to(person).values("pk")
    found = Rollover.objects.filter(ended_at=None, is_stuck=True, zone__in=visible)
    return list(found.select_related("zone").order_by("waits_since", "pk")[:limit])
