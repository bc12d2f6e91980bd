"""AXFR (RFC 5936): write a whole zone from PostgreSQL to DNS messages, in its state at one point in time.

The records are written without dnspython, which takes minutes for a zone with a million records. Each owner name ends
with a pointer to the question, which every message repeats.
"""

import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import dns.flags
import dns.opcode
import dns.rcode
from django.db import connection

from dnspanel.database.sql import execute, fetch_all
from dnspanel.gateway.errors import MessageRefused
from dnspanel.texts import gettext
from dnspanel.zones.errors import Unknown
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.access import Visibility
from replication.dns import names, rdata, rdtypes

MAX_AT_ONCE = 4
# A message can have 65,535 bytes, but with smaller ones the reader can begin sooner.
MESSAGE_SIZE = 32_000
_FETCH = 2000
_HEADER = struct.Struct(">HHHHHH")
_QUESTION = struct.Struct(">HH")
_TO_QUESTION = b"\xc0\x0c"
RECORD = struct.Struct(">HHIH")  # after the owner: type, class, TTL, length of the rdata
IN = 1

_SELECT = "SELECT name, type, ttl, rdata, disabled FROM zones_rrset WHERE zone_id = %s"
_SOA = f"{_SELECT} AND name = %s AND type = {rdtypes.SOA}"
_OTHERS = f"{_SELECT} AND type <> {rdtypes.SOA} ORDER BY owner_key, type"

_at_once = threading.BoundedSemaphore(MAX_AT_ONCE)

Row = tuple[str, int, int, list[str], list[str]]  # name, type, TTL, rdata, disabled


@contextmanager
def a_turn() -> Iterator[None]:
    """Occupy one of the limited transfer slots during the block. Raise MessageRefused if all are taken."""
    if not _at_once.acquire(blocking=False):
        raise MessageRefused(dns.rcode.SERVFAIL, gettext("too many concurrent transfers"))
    try:
        yield
    finally:
        _at_once.release()


def pack_messages(records: Iterable[bytes], zone_name: str, *, id: int, qtype: int) -> Iterator[bytes]:
    """Pack records into messages without TSIG. Each message repeats the question, because owner names point to it."""
    question = names.to_wire(zone_name) + _QUESTION.pack(qtype, IN)
    flags = dns.flags.QR | dns.flags.AA | dns.opcode.to_flags(dns.opcode.QUERY)
    waiting: list[bytes] = []
    size = 0
    for record in records:
        if waiting and size + len(record) > MESSAGE_SIZE:
            yield _HEADER.pack(id, flags, 1, len(waiting), 0, 0) + question + b"".join(waiting)
            waiting, size = [], 0
        waiting.append(record)
        size += len(record)
    yield _HEADER.pack(id, flags, 1, len(waiting), 0, 0) + question + b"".join(waiting)


def read_one_state() -> None:
    """Make all queries of this new transaction read the same state, even if other users publish during it."""
    execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def soa_records(zone: Zone) -> list[bytes]:
    """Return the zone's served SOA records. Raise Unknown if there are none. Call `read_one_state` first."""
    soa = [record for row in fetch_all(_SOA, [zone.pk, zone.name]) for record in records_of(row, zone.name)]
    if not soa:
        raise Unknown(zone.name)
    return soa


def records_after_soa(zone: Zone, sees: Visibility | None, soa: bytes) -> Iterator[bytes]:
    """Yield the records of an AXFR that `sees` allows, with the SOA first and last.

    Run this in the transaction that read the SOA. If `sees` is None, all records are sent.
    """
    yield soa
    with connection.chunked_cursor() as cursor:
        cursor.execute(_OTHERS, [zone.pk])
        while rows := cursor.fetchmany(_FETCH):
            for row in rows:
                if sees is None or sees(row[0], row[1]):
                    yield from records_of(row, zone.name)
    yield soa


def records_of(row: Row, zone_name: str) -> Iterator[bytes]:
    """Yield the served records of a database row in wire form."""
    name, type_, ttl, texts, disabled = row
    owner = owner_of(name, zone_name)
    for text in texts:
        if text not in disabled:
            wire = rdata.to_wire(type_, text)
            yield owner + RECORD.pack(type_, IN, ttl, len(wire)) + wire


def owner_of(name: str, zone_name: str) -> bytes:
    """Encode an owner name for `pack_messages`. It ends with a pointer to the question."""
    return names.to_wire(name)[: -len(names.to_wire(zone_name))] + _TO_QUESTION
