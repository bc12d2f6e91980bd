"""Encode and decode values of the records table: all records of an RRset, one after the other. Pure.

    size  field
    2     u16 LE  length of content
    n     content: rdata in wire form
    4     u32 LE  TTL
    1     auth 0/1
    1     disabled 0/1
    1     ordername 0/1

We write rdata uncompressed. PowerDNS compresses names of the oldest types relative to an imaginary message: 12 bytes of
header, a root question of 5 bytes, then the full owner name. An empty non-terminal is one record of type 0 with empty
content and TTL 0.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from replication.dns import names, rdtypes
from replication.dns.compression import NAMES_IN_RDATA, BadCompression, expand_rdata
from replication.errors import BadBytes

ENT = 0  # the type of an empty non-terminal's row

_LENGTH = struct.Struct("<H")
_TAIL = struct.Struct("<IBBB")
_LENGTHS = [_LENGTH.pack(length) for length in range(256)]
_OWNER_OFFSET = 12 + 5
_ENABLED = 0


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One record as PowerDNS stores it. `content` is in wire form."""

    content: bytes
    ttl: int
    auth: bool = True
    disabled: bool = False
    ordername: bool = False


def encode_records(records: Iterable[StoredRecord]) -> bytes:
    """Encode the body of one RRset's row."""
    return b"".join(
        _LENGTH.pack(len(record.content))
        + record.content
        + _TAIL.pack(record.ttl, record.auth, record.disabled, record.ordername)
        for record in records
    )


def encode_rrset(contents: Sequence[bytes], ttl: int, *, auth: bool, ordername: bool = False) -> bytes:
    """Encode the body of an RRset's row from its rdata in wire form."""
    tail = _tail(ttl, auth, ordername)
    if len(contents) == 1:
        content = contents[0]
        return (_LENGTHS[len(content)] if len(content) < 256 else _LENGTH.pack(len(content))) + content + tail
    return b"".join([_LENGTH.pack(len(content)) + content + tail for content in contents])


@lru_cache(maxsize=1024)
def _tail(ttl: int, auth: bool, ordername: bool) -> bytes:  # noqa: FBT001  # by name, the cache is slower
    """Encode the bytes after each rdata of an RRset. Cached, because the same few values occur millions of times."""
    return _TAIL.pack(ttl, auth, _ENABLED, ordername)


def decode_records(body: bytes) -> tuple[StoredRecord, ...]:
    """Decode the records of a row's body. Raise BadBytes if the bytes are invalid."""
    found: list[StoredRecord] = []
    at = 0
    while at < len(body):
        if at + _LENGTH.size > len(body):
            raise _bad(body, "it ends inside a length")
        start = at + _LENGTH.size
        end = start + _LENGTH.unpack_from(body, at)[0]
        at = end + _TAIL.size
        if at > len(body):
            raise _bad(body, "it ends inside a record")
        ttl, *flags = _TAIL.unpack_from(body, end)
        if any(flag > 1 for flag in flags):
            raise _bad(body, f"a flag is neither 0 nor 1: {flags}")
        found.append(StoredRecord(bytes(body[start:end]), ttl, *map(bool, flags)))
    if not found:
        raise _bad(body, "it holds no record")
    return tuple(found)


def with_flags(body: bytes, *, auth: bool, ordername: bool) -> bytes:
    """Return the body with these flags in all its records."""
    out = bytearray(body)
    at = 0
    while at < len(out):
        at += _LENGTH.size + _LENGTH.unpack_from(out, at)[0]
        out[at + 4] = auth
        out[at + 6] = ordername
        at += _TAIL.size
    return bytes(out)


def first_flags(body: bytes) -> tuple[bool, bool]:
    """Return a row's auth and ordername flags. All records of a row have the same flags."""
    at = _LENGTH.size + _LENGTH.unpack_from(body)[0]
    return bool(body[at + 4]), bool(body[at + 6])


def encode_ent(*, auth: bool, ordername: bool = False) -> bytes:
    """Encode the body of an empty non-terminal's row."""
    return encode_rrset((b"",), 0, auth=auth, ordername=ordername)


# Types whose names PowerDNS compresses when it writes a row itself.
_COMPRESSED = frozenset(
    (rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.MB, rdtypes.MG, rdtypes.MR, rdtypes.MX, rdtypes.MINFO, rdtypes.SOA)
)


def decompress(type: int, content: bytes, owner: str, zone: str) -> bytes:
    """Expand all compressed names in content written by PowerDNS, keeping their letter case.

    `owner` is the absolute owner name. `zone` is used only in errors. Raise BadBytes if the content is invalid.
    """
    if type not in _COMPRESSED:
        return content
    message = bytes(_OWNER_OFFSET) + names.to_wire(owner) + b"\0" * 10 + content
    reason = "its content has a wrong length"
    try:
        expanded, left = expand_rdata(message, len(message) - len(content), len(message), type)
        if left == NAMES_IN_RDATA[type][2]:
            return expanded
    except IndexError:
        reason = "a name runs off the end"
    except BadCompression as exc:
        reason = str(exc)
    raise BadBytes(what=f"{rdtypes.type_to_text(type)} {owner} in {zone}", reason=reason)


def _bad(body: bytes, reason: str) -> BadBytes:
    excerpt = bytes(body[:40]).hex()
    return BadBytes(what="records", reason=f"{reason} ({excerpt}{'…' if len(body) > 40 else ''})")
