"""Check, before a range of the log is encoded, that zones stay valid with the DS in their parent zones on this panel.

Edits that would break the chain of trust between two zones of this panel are already refused. This check stops changes
that bypassed the edits' checks (SQL, an older release), because nodes would otherwise get zones that don't validate. It
considers only changes of keys and of DS RRsets in the range.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnspanel.publish.errors import ChainBroken
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import Connection
from dnspanel.publish.reading.zone_signing import Signings, signings_at
from dnspanel.zones.dnssec.other_keys import keys_in
from dnspanel.zones.dnssec.signing_state import UNSIGNED
from dnspanel.zones.dnssec.trust import reason_against
from dnspanel.zones.rules.neighbourhood import ancestors_within
from replication.dns import names, rdtypes

_LIVE = "SELECT name, id FROM zones_zone WHERE name = ANY(%s) AND deleted_at IS NULL"

_SERVED = """
    SELECT zone_id FROM (
        SELECT DISTINCT ON (zone_id) zone_id, kind FROM zones_revision
        WHERE zone_id = ANY(%s) AND publication_id <= %s ORDER BY zone_id, number DESC
    ) AS newest WHERE kind <> 'delete'"""

_PUBLIC = "SELECT id, public FROM zones_zonekey WHERE id = ANY(%s)"

# A person accepted the break, or an emergency rollover began, which breaks validation for a while.
_ACCEPTED = """
    SELECT EXISTS (SELECT FROM zones_acceptedbreak WHERE publication_id BETWEEN %(first)s AND %(last)s)
    OR EXISTS (
        SELECT FROM zones_rollover r JOIN zones_publication p ON p.at = r.started_at
        WHERE r.zone_id = %(zone)s AND r.is_emergency AND p.sequence BETWEEN %(first)s AND %(last)s
    )"""


@dataclass(frozen=True, slots=True)
class _Link:
    """A zone and its closest parent zone in this panel, each with id and name."""

    zone_id: int
    zone_name: str
    parent_id: int
    parent_name: str


def refuse_broken(
    conn: Connection,
    span: publication_log.Range,
    steps: Sequence[publication_log.ZoneStep],
    changed: Mapping[int, publication_log.Changes],
    signings: Signings,
) -> None:
    """Raise ChainBroken if the range makes a valid zone bogus, unless a person accepted this.

    Starting an emergency rollover also counts as acceptance. Must run in a REPEATABLE READ transaction. If the range
    doesn't change keys or DS RRsets, nothing is read. Otherwise a small, constant number of queries is made.
    """
    suspects = {*_signed_anew(steps, signings), *_delegated_anew(changed)}
    links = _links(conn, span.last, suspects) if suspects else []
    broken = _find_broken_links(conn, span.last, links) if links else {}
    if not broken:
        return
    already = _find_broken_links(conn, span.first - 1, list(broken))
    for link, reason in broken.items():
        if link not in already and not _is_accepted(conn, span, link.zone_id):
            raise ChainBroken(zone_name=link.zone_name, sequence=span.last, reason=reason)


def _signed_anew(steps: Sequence[publication_log.ZoneStep], signings: Signings) -> Iterator[str]:
    """Yield the names of signed zones that are newly served, or whose keys or `presigned` change in the range."""
    known = signings.before.keys() | signings.after.keys()
    for step in steps:
        if step.serial is not None and step.zone_id in known:
            before, after = signings.of(step.zone_id)
            if step.is_full or before.keys != after.keys or before.presigned != after.presigned:
                yield step.name


def _delegated_anew(changed: Mapping[int, publication_log.Changes]) -> Iterator[str]:
    for changes in changed.values():
        for (name, type), rrset in changes.items():
            if type == rdtypes.DS and rrset is not None and rrset.served:
                yield name


def _links(conn: Connection, sequence: int, zone_names: Collection[str]) -> list[_Link]:
    """Return a link for each given zone that is served at this sequence and has a served parent zone in this panel."""
    above = {name: list(ancestors_within(name, names.ROOT)) for name in zone_names}
    around = {*zone_names, *(each for chain in above.values() for each in chain)}
    ids: dict[str, int] = dict(conn.execute(_LIVE, (list(around),)).fetchall())
    served = {id for (id,) in conn.execute(_SERVED, (list(ids.values()), sequence))}
    there = {name: id for name, id in ids.items() if id in served}
    found = []
    for name in sorted(there.keys() & above.keys()):
        parent = next((each for each in above[name] if each in there), None)
        if parent is not None:
            found.append(_Link(there[name], name, there[parent], parent))
    return found


def _find_broken_links(conn: Connection, sequence: int, links: Sequence[_Link]) -> dict[_Link, str]:
    """Return the links that are broken at this sequence, with reasons. Skip links with a zone that isn't served."""
    ids = {id for link in links for id in (link.zone_id, link.parent_id)}
    served = {id for (id,) in conn.execute(_SERVED, (list(ids), sequence))}
    at = {(link.parent_id, link.parent_name, link.zone_name, rdtypes.DS) for link in links}
    at |= {(link.zone_id, link.zone_name, link.zone_name, rdtypes.DNSKEY) for link in links}
    rrsets = publication_log.some_rrsets_at(conn, sequence, at)
    states = signings_at(conn, sequence, [link.zone_id for link in links])
    key_ids = [key.id for state in states.values() for key in state.keys]
    public = {id: bytes(key) for id, key in conn.execute(_PUBLIC, (key_ids,))} if key_ids else {}
    broken = {}
    for link in links:
        ds = rrsets.get((link.parent_id, link.zone_name, rdtypes.DS))
        if ds is None or not {link.zone_id, link.parent_id} <= served:
            continue
        others = keys_in(rrsets.get((link.zone_id, link.zone_name, rdtypes.DNSKEY)))
        reason = reason_against(link.zone_name, states.get(link.zone_id, UNSIGNED), ds.served, public, others)
        if reason:
            broken[link] = reason
    return broken


def _is_accepted(conn: Connection, span: publication_log.Range, zone_id: int) -> bool:
    row = conn.execute(_ACCEPTED, {"first": span.first, "last": span.last, "zone": zone_id}).fetchone()
    return bool(row and row[0])
