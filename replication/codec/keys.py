"""Encode and decode the keys of PowerDNS's tables. Pure.

    name key       lowercase labels in reverse order, each followed by 00; root = 00
    relative key   name key of the owner relative to its zone; apex = 00
    record key     u32 BE zone id | relative key | 00 | u16 BE type

The byte order of record keys is the DNSSEC canonical order of the names.
"""

import struct
from collections.abc import Iterator
from functools import lru_cache

from replication.dns import names
from replication.errors import BadBytes

APEX = b"\0"
MAX_ZONE_ID = 0x7FFFFFFF  # larger ids are negative in PowerDNS's zone cache, and their zones are answered with REFUSED
# Key id of the row that keeps PowerDNS's NSEC search from running past the end of the last zone.
GUARD_ZONE_ID = 0xFFFFFFFF

_ID = struct.Struct(">I")
_TYPE = struct.Struct(">H")


def name_key(name: str) -> bytes:
    """Return the key of a name in the index tables."""
    if name == names.ROOT:
        return APEX
    if "\\" not in name:
        return b"\0".join(name[:-1].encode("ascii").split(b".")[::-1]) + b"\0"
    return b"".join(label + b"\0" for label in reversed(names.labels(name)))


def name_from_key(key: bytes) -> str:
    """Return the name that a name key encodes. Raise BadBytes if the key is invalid."""
    return names.from_labels(_labels_of(key))


@lru_cache(maxsize=4096)  # writing many RRsets needs each name several times: for plan, rows and log
def relative_key(name: str, zone: str) -> bytes:
    """Return the relative key of an owner name. The name must be in the zone."""
    if name == zone:
        return APEX
    if "\\" not in name and zone != names.ROOT:
        return b"\0".join(name[: -len(zone) - 1].encode("ascii").split(b".")[::-1]) + b"\0"
    key = name_key(name)
    return key if zone == names.ROOT else key[len(name_key(zone)) :]


def name_from_relative_key(key: bytes, zone: str) -> str:
    """Return the owner name that a relative key encodes. Raise BadBytes if the key is invalid."""
    if key == APEX:
        return zone
    relative = names.from_labels(_labels_of(key))
    return relative if zone == names.ROOT else relative + zone


def _labels_of(key: bytes) -> tuple[bytes, ...]:
    if key == APEX:
        return ()
    labels = key[:-1].split(b"\0")
    if key[-1:] != b"\0" or b"" in labels:
        raise BadBytes(what="name key", reason=f"{key.hex()} is not a row of labels each followed by 00")
    return tuple(reversed(labels))


def parent_key(key: bytes) -> bytes:
    """Return the parent name's relative key. For a name directly below the apex, this is the apex."""
    end = key.rfind(b"\0", 0, len(key) - 1)
    return key[: end + 1] if end >= 0 else APEX


def ancestors(key: bytes) -> Iterator[bytes]:
    """Yield the relative keys of the names above this name: the closest first, and the apex last."""
    while key != APEX:
        key = parent_key(key)
        yield key


def wildcard_below(key: bytes) -> bytes:
    """Return the relative key of the wildcard directly below this name."""
    return (b"" if key == APEX else key) + b"*\0"


def zone_prefix(zone_id: int) -> bytes:
    """Return the prefix of every record key of a zone."""
    return _ID.pack(zone_id)


def record_key(zone_id: int, relative_key: bytes, type: int) -> bytes:
    """Return the key of one RRset in the records table."""
    return _ID.pack(zone_id) + relative_key + b"\0" + _TYPE.pack(type)


def decode_record_key(key: bytes) -> tuple[int, bytes, int]:
    """Decode a record key into zone id, relative key and type. Raise BadBytes if the key is invalid."""
    if len(key) < 8 or key[-3] != 0 or key[-4] != 0:
        raise BadBytes(what="record key", reason=f"{key.hex()} has no id, name, separator and type")
    return _ID.unpack_from(key)[0], key[4:-3], _TYPE.unpack_from(key, len(key) - 2)[0]


def encode_row_id(row_id: int, *, big_endian: bool) -> bytes:
    """Encode a key of the domains, metadata, keydata or tsig table: little endian in schema 4, else big endian."""
    return struct.pack(">I" if big_endian else "<I", row_id)


def decode_row_id(key: bytes, *, big_endian: bool) -> int:
    """Decode a row id, the inverse of `encode_row_id`. Raise BadBytes if the bytes are invalid."""
    if len(key) != 4:
        raise BadBytes(what="row id", reason=f"it has {len(key)} bytes, not 4")
    return int.from_bytes(key, "big" if big_endian else "little")


def encode_index_key(name: str, row_id: int) -> bytes:
    """Encode an index key of schemas 5 and 6: u16 BE length of the name key, name key, u32 BE row id."""
    key = name_key(name)
    return _TYPE.pack(len(key)) + key + _ID.pack(row_id)


def decode_index_key(key: bytes) -> tuple[str, int]:
    """Decode an index key, the inverse of `encode_index_key`. Raise BadBytes if the key is invalid."""
    if len(key) < 7 or len(key) != 2 + _TYPE.unpack_from(key)[0] + 4:
        raise BadBytes(what="index key", reason=f"{key.hex()} has not the length it states")
    return name_from_key(key[2:-4]), _ID.unpack_from(key, len(key) - 4)[0]
