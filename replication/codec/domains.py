"""Encode and decode the zone objects of the domains table (DomainInfo in PowerDNS). Pure.

    schema 4, 5 (class version 1)        schema 6 (class version 2)
    class header DomainInfo v1           class header DomainInfo v2
    class header DNSName v0              class header ZoneName v1, class header DNSName v0
    name  zone                           name zone, string variant
    i64   last_check                     same
    string account                       same
    class header of the vector v0        same
    u64   number of primaries            same
    28 bytes each                        same
    u32   id                             same
    u32   notified_serial                same
    u32   kind                           same
    string options                       same
    name  catalog                        name catalog, string variant

Class version 0 (before 4.7) ends after kind. A primary is u16 LE family (2 or 10), u16 BE port, then for IPv4 4 address
bytes and 20 zero bytes, for IPv6 4 flow bytes, 16 address bytes and u32 LE scope.
"""

import ipaddress
import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from replication.codec import boost_archive
from replication.dns import names
from replication.errors import BadBytes, UnknownSchema

_I64 = struct.Struct("<q")
_U64 = struct.Struct("<Q")
_U32 = struct.Struct("<I")
_PRIMARY_HEAD = struct.Struct("<H")
_PORT = struct.Struct(">H")
PRIMARY_SIZE = 28
_FAMILY_4, _FAMILY_6 = 2, 10
MAX_PRIMARIES = 65536  # more can only be damage


class ZoneKind(IntEnum):
    """PowerDNS's zone kinds. The panel uses only native, so that PowerDNS itself never writes to the files."""

    PRIMARY = 0
    SECONDARY = 1
    NATIVE = 2
    PRODUCER = 3
    CONSUMER = 4


@dataclass(frozen=True, slots=True)
class Primary:
    """A server that a secondary zone is transferred from."""

    address: str
    port: int = 53
    scope: int = 0


@dataclass(frozen=True, slots=True)
class ZoneObject:
    """One zone as PowerDNS stores it. `variant` and `catalog_variant` exist from schema 6 on."""

    name: str
    id: int
    kind: ZoneKind = ZoneKind.NATIVE
    account: str = ""
    primaries: tuple[Primary, ...] = ()
    last_check: int = 0
    notified_serial: int = 0
    options: str = ""
    catalog: str = ""
    variant: str = ""
    catalog_variant: str = ""


def encode_domain(obj: ZoneObject, schema: int) -> bytes:
    """Encode the body of a domains row. Raise UnknownSchema if the schema isn't supported."""
    if schema in (4, 5):
        head = boost_archive.encode_class(1) + boost_archive.encode_class(0) + boost_archive.encode_name(obj.name)
        catalog = boost_archive.encode_name(obj.catalog)
    elif schema == 6:
        head = (
            boost_archive.encode_class(2)
            + boost_archive.encode_class(1)
            + boost_archive.encode_class(0)
            + boost_archive.encode_name(obj.name)
            + boost_archive.encode_string(obj.variant.encode())
        )
        catalog = boost_archive.encode_name(obj.catalog) + boost_archive.encode_string(obj.catalog_variant.encode())
    else:
        raise UnknownSchema(schema=schema)
    return b"".join(
        (
            head,
            _I64.pack(obj.last_check),
            boost_archive.encode_string(obj.account.encode()),
            boost_archive.encode_class(0),
            _U64.pack(len(obj.primaries)),
            *map(encode_primary, obj.primaries),
            _U32.pack(obj.id),
            _U32.pack(obj.notified_serial),
            _U32.pack(obj.kind),
            boost_archive.encode_string(obj.options.encode()),
            catalog,
        )
    )


def encode_native(name: str, id: int, schema: int) -> bytes:
    """Encode a domains row that contains only name and id. Faster than `encode_domain` for many zones."""
    before, between, behind = _native_frame(schema)
    return before + boost_archive.encode_name(name) + between + _U32.pack(id) + behind


@cache
def _native_frame(schema: int) -> tuple[bytes, bytes, bytes]:
    """Return the bytes before the name, the bytes between name and id, and the bytes after the id."""
    name, id = "name.frame.", 0x7EADBEEF
    before, _, rest = encode_domain(ZoneObject(name, id), schema).partition(boost_archive.encode_name(name))
    between, _, behind = rest.partition(_U32.pack(id))
    return before, between, behind


def native_name(body: bytes, schema: int) -> str | None:
    """Return the name in a body from `encode_native`, or None for other bodies. Raise BadName if it is invalid."""
    before, between, behind = _native_frame(schema)
    start = len(before) + _U64.size
    if not body.startswith(before) or len(body) < start:
        return None
    end = start + _U64.unpack_from(body, len(before))[0]
    if body[end : end + len(between)] != between or body[end + len(between) + _U32.size :] != behind:
        return None
    return names.from_wire(body[start:end])


def decode_domain(body: bytes) -> ZoneObject:
    """Decode a zone object of class version 0, 1 or 2. Raise BadBytes or BadName if the bytes are invalid."""
    reader = boost_archive.Reader(body, "zone object")
    version = reader.class_version((0, 1, 2))
    variants = version == 2 and _reads_zone_name(reader)
    if version < 2:
        reader.class_version((0,))
    name = reader.name()
    variant = reader.text() if variants else ""
    last_check = reader.number(_I64)
    account = reader.text()
    reader.class_version((0,))
    count = reader.number(_U64)
    if count > MAX_PRIMARIES:
        raise BadBytes(what="zone object", reason=f"it claims {count} primaries")
    primaries = tuple(decode_primary(reader.take(PRIMARY_SIZE)) for _ in range(count))
    id_, notified, kind = reader.number(_U32), reader.number(_U32), reader.number(_U32)
    if kind > ZoneKind.CONSUMER:
        raise BadBytes(what="zone object", reason=f"kind {kind} is unknown")
    options = catalog = catalog_variant = ""
    if version >= 1:
        options, catalog = reader.text(), reader.name()
        catalog_variant = reader.text() if variants else ""
    reader.finish()
    return ZoneObject(
        name, id_, ZoneKind(kind), account, primaries, last_check, notified, options, catalog, variant, catalog_variant
    )


def _reads_zone_name(reader: boost_archive.Reader) -> bool:
    """Skip the class headers of a ZoneName. Return True if a variant follows the name (version 1)."""
    has_variant = reader.class_version((0, 1)) == 1
    reader.class_version((0,))
    return has_variant


def encode_primary(primary: Primary) -> bytes:
    """Encode a primary's socket address in 28 bytes."""
    address = ipaddress.ip_address(primary.address)
    family = _FAMILY_4 if address.version == 4 else _FAMILY_6
    head = _PRIMARY_HEAD.pack(family) + _PORT.pack(primary.port)
    if address.version == 4:
        return head + address.packed + bytes(20)
    return head + bytes(4) + address.packed + _U32.pack(primary.scope)


def decode_primary(body: bytes) -> Primary:
    """Decode a primary's 28-byte socket address. Raise BadBytes if it is invalid."""
    if len(body) != PRIMARY_SIZE:
        raise BadBytes(what="primary", reason=f"it has {len(body)} bytes, not {PRIMARY_SIZE}")
    family = _PRIMARY_HEAD.unpack_from(body)[0]
    port = _PORT.unpack_from(body, 2)[0]
    if family == _FAMILY_4:
        return Primary(str(ipaddress.IPv4Address(body[4:8])), port)
    if family == _FAMILY_6:
        return Primary(str(ipaddress.IPv6Address(body[8:24])), port, _U32.unpack_from(body, 24)[0])
    raise BadBytes(what="primary", reason=f"address family {family} is unknown")
