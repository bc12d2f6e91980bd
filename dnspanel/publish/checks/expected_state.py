"""Compute the expected contents of every LMDB from PostgreSQL, independently of the code that writes LMDBs.

No code is shared with `publication_log`, `compile` or `codec`. This module reads the current zones and RRsets with its
own SQL. dnspython converts rdata to wire form, and the bytes are laid out as in PowerDNS's source. An error in the code
that makes segments, or in this module, therefore shows up as a difference. The module processes a few thousand records
per second, which is fast enough.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from uuid import UUID

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype

from dnspanel.publish.checks.expected_signing import (
    Chain,
    ExpectedSigning,
    attached_rows,
    expected_signings,
    has_flag,
    helper_bodies,
    names_in_chain,
)
from dnspanel.publish.reading.publisher_session import Connection
from dnspanel.small_cache import small_cache

_HEAD = "SELECT cluster, epoch, sequence FROM zones_loghead"

_ZONES = """
    SELECT id, name, serial FROM zones_zone
    WHERE deleted_at IS NULL AND is_served AND (%(only)s::bigint[] IS NULL OR id = ANY(%(only)s)) ORDER BY id"""

_RRSETS = """
    SELECT r.zone_id, r.name, r.type, r.ttl, r.rdata, r.disabled
    FROM zones_rrset r JOIN zones_zone z ON z.id = r.zone_id
    WHERE z.deleted_at IS NULL AND z.is_served AND (%(only)s::bigint[] IS NULL OR z.id = ANY(%(only)s))
    ORDER BY r.zone_id"""

_TYPE_NS, _TYPE_DS, _TYPE_RRSIG, _TYPE_NSEC3, _TYPE_ENT = 2, 43, 46, 50, 0
# Types that only PowerDNS has, or that dnspython does not parse. Their rdata is names only, or is handled below.
_OF_NAMES = frozenset((7, 8, 9, 14, 65401))  # MB MG MR MINFO ALIAS
_RKEY, _LUA = 57, 65402
# The positions of names in rdata that PowerDNS lowercases before it signs, while validators do not: IPSECKEY SVCB HTTPS
# LP HIP DSYNC AMTRELAY.
_NAMES_AT = {45: (3, 4), 64: (1, 2), 65: (1, 2), 107: (1, 2), 55: (3, None), 66: (3, 4), 260: (3, 4)}
_TABLE_RECORDS, _TABLE_ZONES, _TABLE_NAMES = 0, 1, 2

RRsetRow = tuple[int, str, int, int, Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class ExpectedZone:
    name: str
    serial: int
    rows: int
    digest: int


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """The expected contents of all or some zones at one position of the log."""

    cluster: UUID
    epoch: UUID
    sequence: int
    zones: dict[int, ExpectedZone]
    signings: dict[int, ExpectedSigning] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(zone.rows for zone in self.zones.values())

    def zones_digests(self) -> dict[int, tuple[str, bytes]]:
        """Return each zone's name and digest, keyed by zone id."""
        return {zone_id: (zone.name, as_digest(zone.digest)) for zone_id, zone in self.zones.items()}

    @property
    def records_digest(self) -> bytes:
        """The digest of a records file with exactly these zones."""
        return as_digest(sum(zone.digest for zone in self.zones.values()))

    def main_digest(self, schema: int) -> bytes:
        """Return the digest of a main file with exactly these zones."""
        listed = sum(_digest_of_zone_rows(schema, zone_id, zone.name) for zone_id, zone in self.zones.items())
        attached = sum(
            digest_of(*row)
            for zone_id, signing in self.signings.items()
            for row in attached_rows(schema, self.zones[zone_id].name, signing)
        )
        return as_digest(listed + attached)


def expected_state(conn: Connection, only: Iterable[int] | None = None) -> ExpectedState | None:
    """Return the expected state of all zones, or only of the given zones. Return None if the log doesn't exist yet.

    Must run in a REPEATABLE READ transaction.
    """
    head = conn.execute(_HEAD).fetchone()
    if head is None:
        return None
    parameters = {"only": None if only is None else list(only)}
    listed = conn.execute(_ZONES, parameters).fetchall()
    zones = {zone_id: ExpectedZone(name, serial, 0, 0) for zone_id, name, serial in listed}
    signings = expected_signings(conn, parameters["only"])
    with conn.cursor(name="expected_state") as cursor:
        cursor.itersize = 2_000
        cursor.execute(_RRSETS, parameters)
        for zone_id, rrsets in groupby(cursor, key=itemgetter(0)):
            zone = zones[zone_id]
            chain = signings[zone_id].chain if zone_id in signings else None
            rows = list(zone_rows(zone_id, zone.name, rrsets, chain))
            digest = sum(digest_of(_TABLE_RECORDS, key, body) for key, body in rows)
            zones[zone_id] = ExpectedZone(zone.name, zone.serial, len(rows), digest)
    return ExpectedState(head[0], head[1], head[2], zones, signings)


def digest_of(table: int, key: bytes, body: bytes) -> int:
    """Return the BLAKE2b-128 of table, key length, key and body, as in the segment format."""
    hashed = hashlib.blake2b(digest_size=16)
    hashed.update(struct.pack(">BH", table, len(key)))
    hashed.update(key)
    hashed.update(body)
    return int.from_bytes(hashed.digest(), "big")


def as_digest(total: int) -> bytes:
    return (total % 2**128).to_bytes(16, "big")


def zone_rows(
    zone_id: int, zone: str, rrsets: Iterable[RRsetRow], chain: Chain | None = None
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the key and body of each row of a zone, in any order. `chain` is None for NSEC and unsigned zones."""
    apex = dns.name.from_text(zone)
    content: dict[dns.name.Name, dict[int, tuple[int, list[bytes]]]] = {}
    rows = list(rrsets)
    signed = {owner for _, owner, type, *_ in rows if type == _TYPE_RRSIG}
    for _, owner, type, ttl, rdata, disabled in rows:
        served = [text for text in rdata if text not in disabled]
        if type in _NAMES_AT and owner not in signed:
            served = [_in_lower_case(type, text) for text in served]
        if served:
            types = content.setdefault(dns.name.from_text(owner), {})
            types[type] = ttl, sorted({wire_of(type, text) for text in served})
    authority = {name: _has_authority(name, apex, content) for name in content}
    cuts = {name for name, types in content.items() if name != apex and _TYPE_NS in types}
    occluded = {
        name: not authority[name] and not (name in cuts and _is_reachable(name, apex, cuts)) for name in content
    }
    existing = {name: types for name, types in content.items() if types.keys() - {_TYPE_RRSIG}}
    hashed = names_in_chain(apex, existing, occluded, chain) if chain else set()
    for name, types in content.items():
        for type, (ttl, wires) in types.items():
            flag = chain is not None and name in hashed and has_flag(chain, types, type, at_cut=name in cuts)
            body = _body(wires, ttl, has_authority=authority[name] or type == _TYPE_DS, has_hash=flag)
            yield _key(zone_id, name, apex, type), body
    for name, has_authority in _empty_names(apex, {name: authority[name] for name in existing}).items():
        of_chain = chain is not None and name in hashed
        full_auth = has_authority or (of_chain and chain is not None and not chain.opt_out)
        flag = of_chain and chain is not None and not chain.narrow
        yield _key(zone_id, name, apex, _TYPE_ENT), _body([b""], 0, has_authority=full_auth, has_hash=flag)
    if chain is not None and not chain.narrow:
        for name in hashed:
            for label, body in helper_bodies(apex, name, chain):
                at = name if label is None else dns.name.Name((label, *apex.labels))
                yield _key(zone_id, at, apex, _TYPE_NSEC3), body


def _is_reachable(cut: dns.name.Name, apex: dns.name.Name, cuts: set[dns.name.Name]) -> bool:
    """Return True if this delegation isn't below another delegation."""
    name = cut.parent()
    while name != apex:
        if name in cuts:
            return False
        name = name.parent()
    return True


def _has_authority(
    name: dns.name.Name, apex: dns.name.Name, content: dict[dns.name.Name, dict[int, tuple[int, list[bytes]]]]
) -> bool:
    """Return True if no name from this one up to the apex is delegated. The apex itself never is."""
    while name != apex:
        if _TYPE_NS in content.get(name, ()):
            return False
        name = name.parent()
    return True


def _empty_names(apex: dns.name.Name, authority: dict[dns.name.Name, bool]) -> dict[dns.name.Name, bool]:
    """Return the empty non-terminals, each mapped to True if a name below it is authoritative."""
    found: dict[dns.name.Name, bool] = {}
    for name, has_authority in authority.items():
        while name != apex:
            name = name.parent()
            if name != apex and name not in authority:
                found[name] = found.get(name, False) or has_authority
    return found


def _key(zone_id: int, name: dns.name.Name, apex: dns.name.Name, type: int) -> bytes:
    """Return the key of a record's row in the records file.

    The key consists of the zone id, the labels below the apex in reverse order (each with a final zero byte), another
    zero byte, and the type.
    """
    labels = name.relativize(apex).labels
    below = b"".join(label.lower() + b"\0" for label in reversed(labels)) or b"\0"
    return struct.pack(">I", zone_id) + below + b"\0" + struct.pack(">H", type)


def _body(wires: Iterable[bytes], ttl: int, *, has_authority: bool, has_hash: bool = False) -> bytes:
    """Return a row's body: for each record its length, rdata, TTL, and the flags auth, disabled and ordername."""
    return b"".join(
        struct.pack("<H", len(wire)) + wire + struct.pack("<I???", ttl, has_authority, 0, has_hash) for wire in wires
    )


def _in_lower_case(type: int, text: str) -> str:
    """Convert the names in rdata of a type in `_NAMES_AT` to lowercase, because PowerDNS signs them in lowercase."""
    start, end = _NAMES_AT[type]
    words = text.split(" ")
    return " ".join([*words[:start], *map(str.lower, words[start:end]), *words[end:]])


@small_cache(entries=65_536, longest=256)
def wire_of(type: int, text: str) -> bytes:
    """Return the wire form of rdata."""
    if type in _OF_NAMES:
        return b"".join(dns.name.from_text(word).to_wire() or b"" for word in text.split())
    if type == _RKEY:
        return wire_of(dns.rdatatype.DNSKEY, text)  # the same fields
    if type == _LUA:
        returned, code = text.split(None, 1)
        return struct.pack(">H", dns.rdatatype.from_text(returned)) + wire_of(dns.rdatatype.TXT, code)
    return dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.RdataType.make(type), text).to_wire() or b""


def _digest_of_zone_rows(schema: int, zone_id: int, name: str) -> int:
    """Return the sum of the digests of a zone's two rows in the main file: its object, and its name's index row."""
    apex = dns.name.from_text(name)
    path = b"".join(label.lower() + b"\0" for label in reversed(apex.labels[:-1])) or b"\0"
    if schema == 4:
        id_key = struct.pack("<I", zone_id)
        name_key, name_body = path, id_key
    else:
        id_key = struct.pack(">I", zone_id)
        name_key, name_body = struct.pack(">H", len(path)) + path + id_key, b""
    zone_object = _zone_object(schema, zone_id, apex.to_wire() or b"\0")
    return digest_of(_TABLE_ZONES, id_key, zone_object) + digest_of(_TABLE_NAMES, name_key, name_body)


def _zone_object(schema: int, zone_id: int, wire: bytes) -> bytes:
    """Return PowerDNS's DomainInfo of a native zone as a Boost archive."""

    def text(content: bytes) -> bytes:
        return struct.pack("<Q", len(content)) + content

    def of_class(version: int) -> bytes:
        return struct.pack("<BI", 0, version)

    if schema == 6:  # names are zone names, followed by a variant
        head, catalog = of_class(2) + of_class(1) + of_class(0) + text(wire) + text(b""), text(b"") + text(b"")
    else:
        head, catalog = of_class(1) + of_class(0) + text(wire), text(b"")
    last_check, account, primaries = struct.pack("<q", 0), text(b""), of_class(0) + struct.pack("<Q", 0)
    native = struct.pack("<III", zone_id, 0, 2)  # id, last notified serial, kind
    return head + last_check + account + primaries + native + text(b"") + catalog
