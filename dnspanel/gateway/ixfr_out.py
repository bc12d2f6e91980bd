"""Build outgoing IXFR (RFC 1995): all changes of a zone since a serial, combined into one difference.

A changed RRset is sent in its state at that serial and in its current state. Changes that were reverted are left out.
As the RFC allows, the whole zone is sent if no revision has the serial, the zone's signing has changed, or the transfer
is too long. A producer catalog with a changed member PTR is also sent whole.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction

from dnspanel.database.sql import fetch_all
from dnspanel.gateway import axfr_out
from dnspanel.secondaries import secondary_catalog
from dnspanel.secondaries.models import Secondary
from dnspanel.zones.models import Revision, SigningChange, Zone
from dnspanel.zones.rights.access import Visibility
from replication.dns import rdtypes
from replication.dns.rrset import RRset, Serial

AXFR, IXFR, NOTHING = "AXFR", "IXFR", ""
# The most RRsets whose difference is kept in memory. Larger changes of a zone aren't sent as a difference.
MOST_CHANGES = 20_000
# A difference can have this many more records than the zone has RRsets, because it is short in a small zone.
_LEEWAY = 16
_TIMERS_SIZE = 20  # serial, refresh, retry, expire and minimum, at the end of a SOA

# Only the current state of each RRset is looked up: a join of all would read a million rows for one change.
_CHANGED = """
SELECT c.name, c.type, c.before, r.ttl, r.rdata, r.disabled
FROM (
    SELECT DISTINCT ON (c.owner_key, c.type) c.name, c.owner_key, c.type, c.before
    FROM zones_revision v JOIN zones_change c ON c.revision_id = v.id
    WHERE v.zone_id = %(zone)s AND v.number > %(number)s
    ORDER BY c.owner_key, c.type, v.number
    LIMIT %(most)s
) c
LEFT JOIN LATERAL (
    SELECT r.ttl, r.rdata, r.disabled FROM zones_rrset r
    WHERE r.zone_id = %(zone)s AND r.owner_key = c.owner_key AND r.type = c.type LIMIT 1
) r ON TRUE
ORDER BY c.owner_key, c.type"""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The records of a transfer. `how` is AXFR, IXFR, or NOTHING if the client is up to date and gets only the SOA."""

    how: str
    serial: int
    records: Iterable[bytes]


@dataclass(frozen=True, slots=True)
class _Difference:
    deleted: list[bytes]
    added: list[bytes]


@contextmanager
def transfer_of(zone: Zone, *, since: int | None, sees: Visibility | None = None) -> Iterator[Transfer]:
    """Yield the transfer from the serial `since` (None: of everything) to the current state, inside a transaction.

    If the zone's serial isn't newer than `since`, send only the SOA. If `sees` limits the client to a part of the zone,
    send that part as a whole, because a difference could contain hidden records. Raise Unknown for a deleted zone.
    """
    with transaction.atomic():
        axfr_out.read_one_state()
        soa = axfr_out.soa_records(zone)[0]
        serial = serial_in(soa)
        if since is not None and not Serial(since) < Serial(serial):
            yield Transfer(NOTHING, serial, [soa])
            return
        found = None if since is None or sees is not None else _since(zone, since, soa)
        if found is None:
            yield Transfer(AXFR, serial, axfr_out.records_after_soa(zone, sees, soa))
        else:
            yield Transfer(IXFR, serial, found)


@contextmanager
def transfer_of_catalog(secondary: Secondary, *, since: int | None) -> Iterator[Transfer]:
    """Yield the transfer of a secondary's catalog, inside a transaction. `since` is the client's serial or None.

    If `since` is the current serial, send only the SOA. If the changes are unknown or too many, send the whole catalog.
    """
    with transaction.atomic():
        axfr_out.read_one_state()
        secondary = Secondary.objects.get(pk=secondary.pk)
        name, serial = secondary_catalog.catalog_name(secondary), secondary.catalog_serial
        (soa,) = _records(secondary_catalog.soa_of(secondary, serial), name)
        if since is not None and since == serial:
            yield Transfer(NOTHING, serial, [soa])
            return
        found = None if since is None else secondary_catalog.changes_since(secondary, since, most=MOST_CHANGES)
        if since is None or found is None:
            yield Transfer(AXFR, serial, _full_catalog(secondary, name, soa))
            return
        (old,) = _records(secondary_catalog.soa_of(secondary, since), name)
        deleted, added = ([record for rrset in rrsets for record in _records(rrset, name)] for rrsets in found)
        yield Transfer(IXFR, serial, _in_order(soa, old, _Difference(deleted, added)))


def serial_in(soa: bytes) -> int:
    """Return the serial of an SOA record in wire form: the first of the five numbers at its end."""
    return int.from_bytes(soa[-_TIMERS_SIZE : 4 - _TIMERS_SIZE], "big")


def _since(zone: Zone, serial: int, soa: bytes) -> list[bytes] | None:
    """Return the records of an incremental transfer since this serial, or None if the whole zone has to be sent."""
    revision = Revision.objects.filter(zone=zone, serial=serial).order_by("-number").values_list("number").first()
    if revision is None or _is_signed_otherwise(zone, revision[0]):
        return None
    rows = fetch_all(_CHANGED, {"zone": zone.pk, "number": revision[0], "most": MOST_CHANGES + 1})
    if len(rows) > MOST_CHANGES:
        return None
    old_soa: bytes | None = None
    difference = _Difference([], [])
    for name, type_, before, *after in rows:
        was = _records_before(name, type_, before, zone.name)
        if type_ == rdtypes.SOA:
            old_soa = next(iter(was), None)
            continue
        now = [] if after[0] is None else list(axfr_out.records_of((name, type_, *after), zone.name))
        if zone.is_producer and type_ == rdtypes.PTR and was and now and was != now:
            return None  # a re-published member: Knot DNS ignores a change of its TTL (`ownership_change`)
        difference.deleted.extend(record for record in was if record not in now)
        difference.added.extend(record for record in now if record not in was)
    # Without a SOA of that serial, these revisions don't begin at the secondary's state.
    if old_soa is None or serial_in(old_soa) != serial:
        return None
    if len(difference.deleted) + len(difference.added) > zone.rrset_count + _LEEWAY:
        return None
    return _in_order(soa, old_soa, difference)


def _is_signed_otherwise(zone: Zone, number: int) -> bool:
    """Return True if the zone's signing changed after revision `number`.

    The secondary may still have the signatures, keys and denial chain of that revision. The panel doesn't store them as
    RRsets of the zone, so an incremental transfer can't delete them.
    """
    return SigningChange.objects.filter(zone=zone, revision_number__gt=number).exists()


def _records_before(name: str, type_: int, before: str | None, zone_name: str) -> list[bytes]:
    if before is None:
        return []
    return _records(RRset.from_json(name, type_, json.loads(before)), zone_name)


def _in_order(soa: bytes, old: bytes, difference: _Difference) -> list[bytes]:
    """Return the records in the order of RFC 1995 section 4, with the new SOA first and last."""
    return [soa, old, *difference.deleted, soa, *difference.added, soa]


def _full_catalog(secondary: Secondary, name: str, soa: bytes) -> Iterator[bytes]:
    yield soa
    for rrset in secondary_catalog.head_of(secondary):
        yield from _records(rrset, name)
    for rrset in secondary_catalog.members_of(secondary):
        yield from _records(rrset, name)
    yield soa


def _records(rrset: RRset, zone_name: str) -> list[bytes]:
    row = (rrset.name, rrset.type, rrset.ttl, list(rrset.rdata), list(rrset.disabled))
    return list(axfr_out.records_of(row, zone_name))
