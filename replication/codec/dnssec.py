"""Encode and decode PowerDNS's metadata, keys and TSIG objects, and compute NSEC3 hashes. Pure.

    object       schema 4, 5                          schema 6
    metadata     class header v0                      same
                 class header DNSName v0              ZoneName v1, DNSName v0
                 name zone                            name zone, string variant
                 string kind, string value            same
    key          class header v1                      same
                 class header DNSName v0              ZoneName v1, DNSName v0
                 name zone                            name zone, string variant
                 string content                       same
                 u32 flags, bool active, published    same
    TSIG key     class header v0                      same
                 class header DNSName v0              same
                 name key, name algorithm             same
                 string secret (Base64 text)          same

Metadata has one row per value. A key object of version 0 lacks `published` and counts as published. Code for schema 6
also reads the rows of schema 5.
"""

import base64
import hashlib
import struct
from dataclasses import dataclass

from replication.codec import boost_archive
from replication.dns import names
from replication.errors import UnknownSchema

_U32 = struct.Struct("<I")
_TO_BASE32HEX = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789abcdefghijklmnopqrstuv")

_READS_ALL = 6  # the schema whose decoder also reads the objects of all other schemas

NSEC3_HASH_LENGTH = 32  # characters of a SHA-1 hash in base32hex


@dataclass(frozen=True, slots=True)
class MetadataObject:
    """One value of one metadata kind of a zone."""

    zone: str
    kind: str
    value: str
    variant: str = ""


@dataclass(frozen=True, slots=True)
class KeyObject:
    """One DNSSEC key. `content` is BIND's private-key text and never appears in logs."""

    zone: str
    content: str
    flags: int
    active: bool
    published: bool
    variant: str = ""

    def __repr__(self) -> str:
        return f"KeyObject(zone={self.zone!r}, flags={self.flags})"


@dataclass(frozen=True, slots=True)
class TsigObject:
    """One TSIG key. `secret` is Base64 text and never appears in logs."""

    name: str
    algorithm: str
    secret: str

    def __repr__(self) -> str:
        return f"TsigObject(name={self.name!r}, algorithm={self.algorithm!r})"


@dataclass(frozen=True, slots=True)
class Nsec3:
    iterations: int = 0
    salt: bytes = b""
    opt_out: bool = False
    narrow: bool = False


def _decode_zone(reader: boost_archive.Reader, schema: int) -> tuple[str, str]:
    if schema < 6:
        reader.class_version((0,))
        return reader.name(), ""
    # A ZoneName of version 0 begins like a bare DNSName and has no variant. Such rows are from schema 5.
    if reader.class_version((0, 1)) == 0:
        return reader.name(), ""
    reader.class_version((0,))
    return reader.name(), reader.text()


def _encode_zone(zone: str, variant: str, schema: int) -> bytes:
    if schema in (4, 5):
        return boost_archive.encode_class(0) + boost_archive.encode_name(zone)
    if schema == 6:
        head = boost_archive.encode_class(1) + boost_archive.encode_class(0)
        return head + boost_archive.encode_name(zone) + boost_archive.encode_string(variant.encode())
    raise UnknownSchema(schema=schema)


def encode_metadata(obj: MetadataObject, schema: int) -> bytes:
    """Encode the body of a metadata row. Raise UnknownSchema if the schema isn't supported."""
    return (
        boost_archive.encode_class(0)
        + _encode_zone(obj.zone, obj.variant, schema)
        + boost_archive.encode_string(obj.kind.encode())
        + boost_archive.encode_string(obj.value.encode())
    )


def decode_metadata(body: bytes, schema: int) -> MetadataObject:
    """Decode a metadata row that PowerDNS wrote. Raise BadBytes or BadName if the bytes are invalid."""
    reader = boost_archive.Reader(body, "metadata object")
    reader.class_version((0,))
    zone, variant = _decode_zone(reader, schema)
    found = MetadataObject(zone, reader.text(), reader.text(), variant)
    reader.finish()
    return found


def encode_key(obj: KeyObject, schema: int) -> bytes:
    """Encode the body of a keydata row. Raise UnknownSchema if the schema isn't supported."""
    return (
        boost_archive.encode_class(1)
        + _encode_zone(obj.zone, obj.variant, schema)
        + boost_archive.encode_string(obj.content.encode())
        + _U32.pack(obj.flags)
        + bytes((obj.active, obj.published))
    )


def decode_key(body: bytes, schema: int) -> KeyObject:
    """Decode a keydata row that PowerDNS wrote. Raise BadBytes or BadName if the bytes are invalid."""
    reader = boost_archive.Reader(body, "key object")
    version = reader.class_version((0, 1))
    zone, variant = _decode_zone(reader, schema)
    content, flags, active = reader.text(), reader.number(_U32), reader.flag()
    published = reader.flag() if version == 1 else True
    reader.finish()
    return KeyObject(zone, content, flags, active, published, variant)


def zone_of(body: bytes) -> str:
    """Return the zone of a metadata or key object of any schema. Raise BadBytes or BadName if it is invalid."""
    reader = boost_archive.Reader(body, "metadata or key object")
    reader.class_version((0, 1))
    return _decode_zone(reader, _READS_ALL)[0]


def split_key(body: bytes) -> tuple[str, bytes, bytes, bytes]:
    """Split a key body into (zone, bytes before, content, bytes after). Raise BadBytes or BadName if it is invalid."""
    reader = boost_archive.Reader(body, "key object")
    reader.class_version((0, 1))
    zone, _ = _decode_zone(reader, _READS_ALL)
    start = reader.at
    content = reader.string()
    return zone, body[:start], content, body[reader.at :]


def join_key(before: bytes, content: bytes, after: bytes) -> bytes:
    """Join the parts of a key body: the inverse of `split_key`, without the zone."""
    return before + boost_archive.encode_string(content) + after


def decode_tsig(body: bytes) -> TsigObject:
    """Decode a TSIG key that PowerDNS wrote. Raise BadBytes or BadName if the bytes are invalid."""
    reader = boost_archive.Reader(body, "TSIG object")
    reader.class_version((0,))
    reader.class_version((0,))
    found = TsigObject(reader.name(), reader.name(), reader.text())
    reader.finish()
    return found


def nsec3_hash(name: str, salt: bytes, iterations: int) -> bytes:
    """Return a name's NSEC3 hash (RFC 5155 section 5) as a label of 32 base32hex characters."""
    digest = hashlib.sha1(names.to_wire(name) + salt, usedforsecurity=False).digest()
    for _ in range(iterations):
        digest = hashlib.sha1(digest + salt, usedforsecurity=False).digest()
    return base64.b32encode(digest).translate(_TO_BASE32HEX)
