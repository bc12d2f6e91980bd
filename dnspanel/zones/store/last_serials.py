"""Store the last serials of deleted zones. A new zone with a deleted zone's name begins above that serial. Verbs.

A secondary that doesn't notice the deletion keeps its copy until the copy expires. If a new zone begins with the same
or a smaller serial (RFC 1982), the secondary ignores the zone and keeps answering with deleted records.
"""

from collections.abc import Collection, Mapping, Sequence

from dnspanel.database.sql import execute, fetch_all
from dnspanel.zones.models import RevisionKind
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, Serial

# No one has seen the serial of a zone that waits for its first transfer. Of two serials, the greater one is kept, or
# the newer one if they cannot be compared (a distance of exactly 2^31).
_NOTE = f"""
INSERT INTO zones_lastserial (name, serial)
SELECT DISTINCT ON (z.name) z.name, z.serial FROM zones_zone z
WHERE z.id = ANY(%s) AND (z.is_served OR z.transferred_from = '' OR EXISTS (
    SELECT FROM zones_revision r WHERE r.zone_id = z.id AND r.kind <> '{RevisionKind.AWAIT}'
))
ORDER BY z.name
ON CONFLICT (name) DO UPDATE SET serial = EXCLUDED.serial
WHERE (EXCLUDED.serial - zones_lastserial.serial + (2::bigint ^ 32)::bigint) %% (2::bigint ^ 32)::bigint
    BETWEEN 1 AND (2::bigint ^ 31)::bigint"""
# Name by name: with an `ANY` of many names, PostgreSQL would scan the whole table.
_KNOWN = """
SELECT l.name, l.serial FROM unnest(%s::text[]) AS wanted (name)
CROSS JOIN LATERAL (SELECT * FROM zones_lastserial WHERE name = wanted.name LIMIT 1) AS l"""


def note_last_serials(*, zone_ids: Collection[int]) -> None:
    """Store the serials of these zones, which this transaction deletes, unless a greater one is already stored.

    Zones that have waited for their first transfer until now are skipped.
    """
    execute(_NOTE, [sorted(zone_ids)])


def last_serials(zone_names: Collection[str]) -> dict[str, Serial]:
    """Return the last serials of deleted zones with these names, keyed by name. Omit names that no deleted zone had."""
    return {name: Serial(serial) for name, serial in fetch_all(_KNOWN, [list(zone_names)])}


def raise_serials(*, zones: Mapping[str, tuple[int, int]]) -> dict[int, Serial]:
    """Raise the serials of new zones above the last serials of deleted zones with the same names.

    Return the changed serials, keyed by zone id. `zones` is {name: (id, serial)}. The zones' rows must already be
    written, so that a concurrent deletion has ended. A zone with imported signatures keeps its serial, because its SOA
    is signed. `append_publication` must follow, with the new serials.
    """
    behind = {
        id: (name, soa.beyond(Serial(serial), last))
        for name, last in last_serials(zones).items()
        for id, serial in [zones[name]]
        if not Serial(serial) > last
    }
    if not behind:
        return {}
    changes: list[tuple[int, str, Sequence[Change]]] = []
    moved = {}
    for id, at_apex in store_rrsets.rrsets_at_names({id: (name, {name}) for id, (name, _) in behind.items()}).items():
        name, serial = behind[id]
        if (name, rdtypes.RRSIG) in at_apex:
            continue
        before = at_apex[name, rdtypes.SOA]
        changes.append((id, name, [Change(name, rdtypes.SOA, before, soa.with_serial(before, serial))]))
        moved[id] = serial
    store_rrsets.write_changes(changes)
    return moved
