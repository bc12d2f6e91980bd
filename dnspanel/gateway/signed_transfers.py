"""Transfer zones that the nodes sign: forward the whole signed zone from ring 0's PowerDNS.

There are no incremental transfers. A client with an older serial receives the whole zone, as RFC 1995 allows.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import dns.rcode

from dnspanel.fleet.models import Node
from dnspanel.fleet.reads.queries import head
from dnspanel.gateway import axfr_out, ixfr_out
from dnspanel.gateway.errors import MessageRefused
from dnspanel.secondaries import signed_zones
from dnspanel.texts import gettext
from dnspanel.transfer.errors import SourceAway
from dnspanel.transfer.signed_chains import SignedChains
from dnspanel.transfer.sources.over_dns.axfr_in import Server
from dnspanel.transfer.sources.over_dns.dns_wire import BadMessage, Record
from dnspanel.transfer.sources.over_dns.transfer_faults import Broken, NotGiven
from dnspanel.zones.dnssec.queries import last_change_of, signing_of
from dnspanel.zones.models import RRset, Zone
from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX, name_from_relative_key, relative_key
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Serial
from replication.dns.signed_ttls import SignedTtls

T = TypeVar("T")

SECONDS = 30.0  # the longest time that ring 0 may be silent
PATIENCE = 5.0  # the longest time that ring 0 may lack the newest publication
_PAUSE = 0.1
_ROWS_AT_ONCE = 2_000
# Each transfer occupies a thread of the gateway.
_waiting = threading.BoundedSemaphore(3)


@contextmanager
def transfer_of(zone: Zone, *, since: int | None) -> Iterator[ixfr_out.Transfer]:
    """Yield the whole signed zone, or only its SOA if the client's serial `since` isn't older than the zone's.

    Ring 0 gets every publication first. Wait a few seconds until ring 0 has the newest one, because a refused client
    retries only much later. Raise MessageRefused (SERVFAIL) if ring 0 still doesn't have it or can't transfer the zone.
    """
    server, records, soa = patiently(lambda: _open_transfer(zone))
    try:
        serial = ixfr_out.serial_in(soa)
        if since is not None and not Serial(since) < Serial(serial):
            yield ixfr_out.Transfer(ixfr_out.NOTHING, serial, [soa])
        else:
            state = signing_of(zone)
            if state.presigned:
                records = _with_ttls_of_signer(records, zone)
            if state.other_nsec3:
                records = with_chains(records, zone.name, tuple(filter(None, (state.nsec3, *state.other_nsec3))))
            yield ixfr_out.Transfer(ixfr_out.AXFR, serial, _all(soa, records, zone))
    finally:
        server.connections.cut()


def patiently(attempt: Callable[[], T]) -> T:
    """Call `attempt` until it no longer raises MessageRefused, for at most PATIENCE seconds. Return its result.

    Raise the last MessageRefused when the time is over. Raise it immediately if several other threads are already
    waiting, so that some threads stay free to answer.
    """
    waits = False
    until = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                return attempt()
            except MessageRefused:
                waits = waits or _waiting.acquire(blocking=False)
                if not waits or time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)
    finally:
        if waits:
            _waiting.release()


def _open_transfer(zone: Zone) -> tuple[Server, Iterator[Record], bytes]:
    node = signed_zones.signer()
    if node is None:
        raise MessageRefused(
            dns.rcode.SERVFAIL,
            gettext("{name} is signed, but the panel doesn’t have a canary to sign the transfer").format(
                name=zone.name
            ),
        )
    server = Server(node.dns_address, node.dns_port, None, SECONDS, lambda host, port: [host])
    with _refusals(zone):
        records = server.all_of(zone.name)
        soa = _wire(next(records), zone.name)
    if reason := _reason_against(zone, ixfr_out.serial_in(soa), node):
        server.connections.cut()
        raise MessageRefused(dns.rcode.SERVFAIL, reason)
    return server, records, soa


def _reason_against(zone: Zone, serial: int, node: Node) -> str:
    """Return the reason why ring 0's copy of the zone must not be forwarded, or "".

    `serial` is the copy's serial, and `node` was read before the request. Ring 0's agent commits records and their
    serial before keys and metadata. In between, PowerDNS signs with old keys or none, which would mislead a rollover.
    """
    if Serial(serial) < Serial(zone.serial):
        return gettext("the canary has serial {serial} for {name} instead of {expected}").format(
            name=zone.name, serial=serial, expected=zone.serial
        )
    change = last_change_of(zone)
    if change is not None and (node.epoch != head().epoch or node.acked < change.publication_id):
        return gettext("the canary hasn’t yet confirmed that {name} is signed").format(name=zone.name)
    return ""


def _with_ttls_of_signer(records: Iterator[Record], zone: Zone) -> Iterator[Record]:
    """Yield the records of a presigned zone with the TTLs that its signer set.

    PowerDNS can serve RRSIG, NSEC, NSEC3 and NSEC3PARAM records with other TTLs. Theirs are read from the signatures.
    """
    ttls = SignedTtls(_signatures_of(zone))
    for record in records:
        yield record._replace(ttl=ttls.ttl_of(*record))


def with_chains(records: Iterator[Record], zone: str, chains: Sequence[Nsec3]) -> Iterator[Record]:
    """Yield a zone's records without NSEC3 and NSEC3PARAM records, followed by the records of these NSEC3 chains.

    PowerDNS serves a single chain, and treats the signatures of other chains as records of ordinary names. The panel
    therefore computes the chains itself.
    """
    made = SignedChains(zone, chains)
    made.add(APEX, rdtypes.SOA)  # the records don't include it
    for record in records:
        if record.type in (rdtypes.NSEC3, rdtypes.NSEC3PARAM):
            continue
        yield record
        if record.type != rdtypes.NSEC:
            owner = relative_key(record.name, zone)
            made.add(owner, record.type)
            if record.type == rdtypes.RRSIG:
                made.add_signature(owner, int.from_bytes(record.rdata[:2]), record.ttl)
    for owner, type, ttl, text in made.records():
        yield Record(name_from_relative_key(owner, zone), type, ttl, rdata.to_wire(type, text))


def _signatures_of(zone: Zone) -> Iterator[tuple[str, Sequence[str]]]:
    rows = RRset.objects.filter(zone=zone, type=rdtypes.RRSIG).values_list("name", "rdata")
    yield from rows.iterator(chunk_size=_ROWS_AT_ONCE)


def _all(soa: bytes, records: Iterator[Record], zone: Zone) -> Iterator[bytes]:
    yield soa
    with _refusals(zone):
        for record in records:
            yield _wire(record, zone.name)
    yield soa


@contextmanager
def _refusals(zone: Zone) -> Iterator[None]:
    """Convert errors of ring 0's transfer to MessageRefused (SERVFAIL).

    An error in the middle of a transfer ends the transfer, and the client discards what it received.
    """
    try:
        yield
    except (NotGiven, Broken, BadMessage, SourceAway) as exc:
        raise MessageRefused(
            dns.rcode.SERVFAIL,
            gettext("the canary can’t transfer {name} with signatures: {exc}").format(name=zone.name, exc=exc),
        ) from exc


def _wire(record: Record, zone_name: str) -> bytes:
    owner = axfr_out.owner_of(record.name, zone_name)
    return owner + axfr_out.RECORD.pack(record.type, axfr_out.IN, record.ttl, len(record.rdata)) + record.rdata
