"""Queries about rollovers, for pages and APIs."""

from collections.abc import Collection

from dnspanel.accounts.actors.actors import Person
from dnspanel.zones.dnssec.rollover import Refused, keys_to_replace
from dnspanel.zones.dnssec.rollover_stages import BACK, EMERGENCY, STAGES, Kind, Step
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import Rollover, Zone
from dnspanel.zones.rights import access


def newest(zone: Zone) -> Rollover | None:
    """Return the zone's current rollover, or else its last one. Return None if it never had one."""
    return Rollover.objects.filter(zone=zone).select_related("started_by", "zone").order_by("-pk").first()


def rolling_zones(zone_ids: Collection[int]) -> set[int]:
    """Return the ids in `zone_ids` that belong to zones with a rollover in progress."""
    return {*Rollover.objects.filter(zone__in=zone_ids, ended_at=None).values_list("zone_id", flat=True)}


def under_way(person: Person, *, after: int = 0, limit: int) -> tuple[list[Rollover], bool]:
    """Return unfinished rollovers in visible zones after the id `after`, oldest first, and whether more follow."""
    visible = access.zones_visible_to(person).values("pk")
    found = Rollover.objects.filter(ended_at=None, pk__gt=after, zone__in=visible)
    rows = list(found.select_related("zone", "started_by").order_by("pk")[: limit + 1])
    return rows[:limit], len(rows) > limit


def of_zone(zone: Zone, *, before: int | None = None, limit: int) -> tuple[list[Rollover], bool]:
    """Return the zone's rollovers with ids below `before`, newest first, and whether more follow."""
    found = Rollover.objects.filter(zone=zone).select_related("zone", "started_by").order_by("-pk")
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found[: limit + 1])
    return rows[:limit], len(rows) > limit


def steps_of(row: Rollover) -> list[tuple[Step, str]]:
    """Return the steps of the rollover's path, each with "done", "current" or "to come"."""
    kind, step = Kind(row.kind), Step(row.step)
    paths = [EMERGENCY.get(kind, ())] if row.is_emergency else [STAGES[kind], BACK[kind]]
    path = [stage.step for each in paths if step in [stage.step for stage in each] for stage in each]
    at = path.index(step)
    if row.ended_at is not None:
        return [(each, "done") for each in path]
    return [(each, "done" if n < at else "current" if n == at else "to come") for n, each in enumerate(path)]


def kinds_of(state: SigningState) -> dict[Kind, str]:
    """Return, for each kind of rollover, why the zone's keys don't allow it, or "" if they do."""
    found: dict[Kind, str] = {}
    for kind in Kind:
        old = keys_to_replace(kind, state)
        found[kind] = old.message if isinstance(old, Refused) else ""
    return found


def stuck(person: Person, *, limit: int) -> list[Rollover]:
    """Return the stuck rollovers in zones that this user can see. The one that has waited longest comes first."""
    visible = access.zones_visible_to(person).values("pk")
    found = Rollover.objects.filter(ended_at=None, is_stuck=True, zone__in=visible)
    return list(found.select_related("zone").order_by("waits_since", "pk")[:limit])
