"""Find zones whose CNAMEs lead to a changed name, because their answers contain the change.

PowerDNS up to 4.9 follows a CNAME into another zone that it serves, and caches the whole answer under the queried name.
Purging the changed zone does not purge that answer. The segment therefore also marks the CNAME's zone. The node then
purges that zone and queries its serial.

CNAMEs to a name that only a wildcard answers are not found. If a range changes more than MOST_NAMES names or MOST_ZONES
zones, no CNAMEs are found. The node's `cache-ttl` then limits how long an old answer is cached.
"""

from collections.abc import Collection
from itertools import repeat

from dnspanel.publish.reading.publication_log import Range
from dnspanel.publish.reading.publisher_session import Connection, planned_once
from dnspanel.zones.models import NOT_SERVED
from replication.dns import rdtypes
from replication.wire.operations import ZoneMark

# A publication that touches more zones makes every node purge its whole cache, so no search is needed.
MOST_ZONES = 200
# A publication with more names is bulk work inside a few zones.
MOST_NAMES = 2_000
# PowerDNS follows this number of CNAMEs in one answer.
LONGEST_CHAIN = 10

_NAMES = """
    SELECT DISTINCT name FROM zones_rrset WHERE zone_id = ANY(%s) LIMIT %s"""

# Uses the two indexes of CNAME targets. All records of a CNAME but one are disabled, so most CNAMEs have just one.
# Targets with capitals are found in lower case, by the index of the few RRsets that have any. Each name is looked up
# separately, so that PostgreSQL uses the indexes even if its statistics about tables that just grew are wrong.
_LEADING = f"""
    SELECT r.zone_id, r.name FROM unnest(%(names)s::text[]) AS wanted (name) CROSS JOIN LATERAL (
        SELECT zone_id, name FROM zones_rrset WHERE type = {rdtypes.CNAME} AND rdata[1] = wanted.name
        UNION ALL
        SELECT zone_id, name FROM zones_rrset
        WHERE type = {rdtypes.CNAME} AND cardinality(rdata) > 1 AND rdata && ARRAY[wanted.name]
            AND rdata[1] <> wanted.name
        UNION ALL
        SELECT zone_id, name FROM zones_rrset
        WHERE type = {rdtypes.CNAME} AND folded && ARRAY[wanted.name] AND folded IS NOT NULL
            AND NOT rdata && ARRAY[wanted.name]
    ) AS r"""

# CNAMEs of other zones first, so that many CNAMEs inside the zone do not crowd them out.
_CNAMES = f"""
    ({_LEADING} WHERE r.zone_id <> ALL(%(touched)s) LIMIT %(most)s)
    UNION ALL
    ({_LEADING} WHERE r.zone_id = ANY(%(touched)s) LIMIT %(most)s)"""

_ZONES = f"""
    SELECT DISTINCT zone_id FROM ({_LEADING}) AS found WHERE zone_id <> ALL(%(touched)s) LIMIT %(zones)s"""

_MARKS = """
    SELECT DISTINCT ON (v.zone_id) v.zone_id, z.name, v.serial, v.kind
    FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id
    WHERE v.zone_id = ANY(%s) AND v.publication_id <= %s ORDER BY v.zone_id, v.number DESC"""


def referring_marks(
    conn: Connection, span: Range, names: Collection[str], *, touched: Collection[int], full: Collection[int]
) -> list[ZoneMark]:
    """Return the marks of zones outside `touched` whose CNAMEs lead to one of these names.

    `full` contains the touched zones that were created, restored or removed. All names in them are included. The marks
    have the serials at the end of the range. If more than MOST_ZONES zones are touched, or more than MOST_NAMES names
    are concerned, the list is empty.
    """
    if len(touched) > MOST_ZONES:
        return []
    zone_ids = _zones_leading_to(conn, {*names, *_names_of_zones(conn, full)}, touched=list(touched))
    if not zone_ids:
        return []
    rows = conn.execute(_MARKS, (sorted(zone_ids), span.last)).fetchall()
    return [ZoneMark(zone_id, name, serial) for zone_id, name, serial, kind in rows if kind not in NOT_SERVED]


def _names_of_zones(conn: Connection, zone_ids: Collection[int]) -> list[str]:
    if not zone_ids:
        return []
    return [row[0] for row in conn.execute(_NAMES, (list(zone_ids), MOST_NAMES))]


def _zones_leading_to(conn: Connection, names: set[str], *, touched: list[int]) -> set[int]:
    """Return the zones outside `touched` that have a chain of CNAMEs to one of these names.

    The result is empty for more than MOST_NAMES names. The search stops after LONGEST_CHAIN steps, or when more than
    MOST_ZONES zones are found.
    """
    if len(names) > MOST_NAMES:
        return set()
    found: set[int] = set()
    frontier = list(names)
    for _ in repeat(None, LONGEST_CHAIN):
        parameters = {"names": frontier, "touched": touched}
        rows = planned_once(conn).execute(_CNAMES, parameters | {"most": MOST_NAMES}).fetchall()
        found.update(zone_id for zone_id, _ in rows)
        if len(rows) >= MOST_NAMES:  # some rows were cut off, and one zone with many rows must not hide other zones
            found.update(row[0] for row in conn.execute(_ZONES, parameters | {"zones": MOST_ZONES + 1}))
        frontier = [name for _, name in rows if name not in names]
        names.update(frontier)
        if not frontier or len(found) > MOST_ZONES:
            break
    return found - set(touched)
