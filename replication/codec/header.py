"""Encode and decode the Lightning Stream header before every value in schemas 5 and 6. Pure.

    offset  size  field
    0       8     u64 BE  time of writing, ns since 1970
    8       8     u64 BE  id of the LMDB transaction that wrote the row
    16      1     version, 0
    17      1     flags: 01 deleted (then nothing follows)
    18      4     reserved, 0
    22      2     u16 BE  number of 8-byte extension blocks that follow

No software writes extension blocks today, but a reader has to skip them.
"""

import struct
from dataclasses import dataclass

from replication.errors import BadBytes

_HEADER = struct.Struct(">QQBB4xH")
SIZE = _HEADER.size
VERSION = 0
DELETED = 0x01
EXTENSION_SIZE = 8


@dataclass(frozen=True, slots=True)
class Header:
    """The time when a row was written, the transaction that wrote it, and a flag for rows that mark a deletion."""

    time_ns: int
    txn_id: int
    deleted: bool = False


def encode_header(time_ns: int, txn_id: int, *, deleted: bool = False) -> bytes:
    """Encode the 24-byte header that precedes a body."""
    return _HEADER.pack(time_ns, txn_id, VERSION, DELETED if deleted else 0, 0)


def decode_header(value: bytes) -> tuple[Header, bytes]:
    """Return a value's header, and the body after its extension blocks. Raise BadBytes if the header is invalid."""
    if len(value) < SIZE:
        raise BadBytes(what="value header", reason=f"the value has {len(value)} bytes, a header alone takes {SIZE}")
    time_ns, txn_id, version, flags, blocks = _HEADER.unpack_from(value)
    if version != VERSION:
        raise BadBytes(what="value header", reason=f"version {version} is unknown")
    start = SIZE + blocks * EXTENSION_SIZE
    if len(value) < start:
        raise BadBytes(what="value header", reason=f"the value ends inside its {blocks} extension blocks")
    return Header(time_ns, txn_id, bool(flags & DELETED)), value[start:]
