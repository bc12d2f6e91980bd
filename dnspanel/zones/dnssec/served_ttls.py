"""Compute the TTLs of a zone's recent answers. After a change, caches can keep old answers until these TTLs end."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from dnspanel.database.sql import fetch_all, fetch_one
from dnspanel.zones.models import Zone

# Resolvers keep no answer for longer, whatever its TTL is (BIND: max-cache-ttl; others: a day).
LONGEST_CACHED = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ServedTtls:
    """The largest TTLs, in seconds, of all records and of the DNSKEY RRset, up to a revision of the zone."""

    records: int
    keys: int
    revision: int

    def max_with(self, other: "ServedTtls") -> "ServedTtls":
        return ServedTtls(
            max(self.records, other.records), max(self.keys, other.keys), max(self.revision, other.revision)
        )


# PowerDNS takes the TTL of DNSKEY, NSEC and NSEC3 from the SOA's MINIMUM, in some releases at most the SOA's TTL.
_NOW = """
SELECT coalesce(max(r.ttl), 0), coalesce(max(greatest(r.ttl, split_part(r.rdata[1], ' ', 7)::bigint))
    FILTER (WHERE r.type = 6), 0)
FROM zones_rrset r WHERE r.zone_id = %s"""

_OF_CHANGES = """
SELECT known.id, max(rev.number), bool_or(rev.kind <> 'change'), coalesce(max(side.ttl), 0),
    coalesce(max(greatest(side.ttl, side.minimum)) FILTER (WHERE c.type = 6), 0)
FROM unnest(%(ids)s::bigint[], %(after)s::int[]) AS known (id, after)
JOIN zones_revision rev ON rev.zone_id = known.id AND rev.number > known.after
JOIN zones_publication p ON p.sequence = rev.publication_id AND p.at > %(since)s
LEFT JOIN zones_change c ON c.revision_id = rev.id
LEFT JOIN LATERAL (
    SELECT (v ->> 'ttl')::bigint AS ttl,
        CASE WHEN c.type = 6 THEN split_part(v -> 'rdata' ->> 0, ' ', 7)::bigint END AS minimum
    FROM (VALUES (c.before), (c.after)) AS sides (v) WHERE v IS NOT NULL AND v <> 'null'
) AS side ON true
GROUP BY known.id"""


def served_ttls(zone: Zone, *, now: datetime) -> ServedTtls:
    """Return the largest TTLs of the zone's answers, now and during the last LONGEST_CACHED."""
    lately = _of_changes({zone.pk: 0}, since=now - LONGEST_CACHED).get(zone.pk)
    current = _current(zone.pk, zone.revision)
    return current.max_with(lately[0]) if lately else current


def raised_ttls(known: Mapping[int, ServedTtls], *, now: datetime) -> dict[int, ServedTtls]:
    """Return the known TTLs of zones, raised to the larger TTLs of later changes within LONGEST_CACHED.

    Makes one query, plus one for each zone with a later revision that isn't a plain change, such as a restoration.
    """
    changed = _of_changes({zone_id: each.revision for zone_id, each in known.items()}, since=now - LONGEST_CACHED)
    found = dict(known)
    for zone_id, (ttls, is_restored) in changed.items():
        found[zone_id] = known[zone_id].max_with(ttls)
        if is_restored:
            found[zone_id] = found[zone_id].max_with(_current(zone_id, ttls.revision))
    return found


def _current(zone_id: int, revision: int) -> ServedTtls:
    records, keys = fetch_one(_NOW, [zone_id])
    return ServedTtls(max(records, keys), keys, revision)


def _of_changes(revisions: Mapping[int, int], *, since: datetime) -> dict[int, tuple[ServedTtls, bool]]:
    """Return the largest TTLs before and after newer changes to these zones, keyed by zone id.

    `revisions` maps a zone id to the last known revision. Only revisions published after `since` count. The second
    value of the result is True if a newer revision isn't a plain change, for example a restored zone.
    """
    ids = list(revisions)
    rows = fetch_all(_OF_CHANGES, {"ids": ids, "after": [revisions[id] for id in ids], "since": since})
    return {
        zone_id: (ServedTtls(max(records, keys), keys, newest), is_restored)
        for zone_id, newest, is_restored, records, keys in rows
    }
