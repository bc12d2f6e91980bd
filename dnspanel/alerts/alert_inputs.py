"""Read the current inputs of all alert subjects, with a constant number of queries."""

from datetime import datetime

from dnspanel.alerts.models import DiskMark
from dnspanel.conditions import NamedZones, Reading, subjects
from dnspanel.database.sql import fetch_all
from dnspanel.fleet.conditions.condition_inputs import DiskMarks

MOST_ZONES_NAMED = 20

_ZONES = """
    SELECT kind, name, since, total FROM (
        SELECT c.kind, z.name || coalesce(' on ' || c.nodes, '') AS name, c.since,
            count(*) OVER (PARTITION BY c.kind) AS total,
            row_number() OVER (PARTITION BY c.kind ORDER BY c.since, z.name) AS place
        FROM ({selects}) c JOIN zones_zone z ON z.id = c.zone_id AND z.deleted_at IS NULL
    ) ranked WHERE place <= %(most)s ORDER BY kind, place"""


def read(now: datetime) -> Reading:
    """Read the current inputs of all subjects and check Redis, with a constant number of queries."""
    reading = Reading(_disk_marks(), zones=_zones(now))
    for subject in subjects():
        reading.add(subject.read(now, reading))
    return reading


def _zones(now: datetime) -> dict[str, NamedZones]:
    """Return the zones that need attention, keyed by problem. Uses one query for all subjects."""
    parameters: dict[str, datetime | int] = {"most": MOST_ZONES_NAMED}
    for subject in subjects():
        parameters |= subject.times(now)
    selects = " UNION ALL ".join(subject.zones for subject in subjects() if subject.zones)
    found: dict[str, NamedZones] = {}
    for kind, name, since, total in fetch_all(_ZONES.replace("{selects}", selects), parameters):
        before = found.get(kind, NamedZones())
        found[kind] = NamedZones(total, (*before.first, (name, since)))
    return found


def _disk_marks() -> DiskMarks:
    oldest = DiskMark.objects.order_by("node", "at").distinct("node").values_list("node", "at", "free_bytes")
    return DiskMarks({node_id: (at, free) for node_id, at, free in oldest})
