"""Which other zones' answers a change shows up in: those with a CNAME that leads to a changed name.

PowerDNS up to 4.9 follows a CNAME into another zone that it serves, and keeps
the whole answer under the name that was asked. Purging the changed zone does
not reach it, so the segment marks the zone of the CNAME too: the node purges
it, and asks it for its serial.

Not found are CNAMEs that lead to a name which only a wildcard answers, and
names beyond MOST_NAMES of a publication; there the node's `cache-ttl` bounds
how long an old answer lives.
"""

from collections.abc import Collection

from dnspanel.publish.log import Range
from dnspanel.publish.session import Connection
from dnspanel.zones.models import RevisionKind
from replication import rdtypes
from replication.segment import ZoneMark

# Beyond this a publication is bulk work; a node purges everything for so many zones anyway.
MOST_NAMES = 2_000
MOST_ZONES = 256
# As many CNAMEs as PowerDNS follows in one answer.
LONGEST_CHAIN = 10

_NAMES = """
    SELECT DISTINCT name FROM zones_rrset WHERE zone_id = ANY(%s) LIMIT %s"""

_CNAMES = """
    SELECT zone_id, name FROM zones_rrset WHERE rdata && %s AND type = %s LIMIT %s"""

_MARKS = """
    SELECT DISTINCT ON (v.zone_id) v.zone_id, z.name, v.serial, v.kind
    FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id
    WHERE v.zone_id = ANY(%s) AND v.publication_id <= %s ORDER BY v.zone_id, v.number DESC"""


def names_of_zones(conn: Connection, zone_ids: Collection[int]) -> list[str]:
    """Return names of zones that came or went as a whole, at most MOST_NAMES."""
    if not zone_ids:
        return []
    return [row[0] for row in conn.execute(_NAMES, (list(zone_ids), MOST_NAMES))]


def referring_marks(
    conn: Connection, range: Range, names: Collection[str], *, touched: Collection[int]
) -> list[ZoneMark]:
    """Return the marks of other zones whose CNAMEs lead to one of these names; serials are those at the range's end."""
    zone_ids = _zones_leading_to(conn, names, touched=touched)
    if not zone_ids:
        return []
    rows = conn.execute(_MARKS, (sorted(zone_ids), range.last)).fetchall()
    return [ZoneMark(zone_id, name, serial) for zone_id, name, serial, kind in rows if kind != RevisionKind.DELETE]


def _zones_leading_to(conn: Connection, names: Collection[str], *, touched: Collection[int]) -> set[int]:
    """Return the zones, without those touched, that a chain of CNAMEs leads out of to one of these names."""
    if len(names) > MOST_NAMES:
        return set()
    found: set[int] = set()
    seen = set(names)
    frontier = list(names)
    hops = 0
    while frontier and hops < LONGEST_CHAIN:
        hops += 1
        rows = conn.execute(_CNAMES, (frontier, rdtypes.CNAME, MOST_ZONES)).fetchall()
        found.update(zone_id for zone_id, _ in rows)
        frontier = [name for _, name in rows if name not in seen]
        seen.update(frontier)
    return found - set(touched)
