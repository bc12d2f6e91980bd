"""Encode and decode a segment's content, laid out in the inflated body as marks, then operations.

    mark        zone id (4), flags (1: bit 0 = the zone is served), serial (4, if it is served), name in wire form
    operation   kind * 16 + DBI (1), length of key (varint), key,
                length of body (varint) and body (not for DELETE_PREFIX)

A varint has seven bits per byte, lowest first, with bit 7 set on all bytes except the last. Bodies have no Lightning
Stream header; the code that writes the row creates the header from the time of sealing and the last sequence. A DELETE
in a DBI with duplicates has the duplicate in its body; in other DBIs that body is empty.

Consecutive PUTs of one table are read as `Puts`, many at once, because a bulk import has millions of them.
"""

import hashlib
import io
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice, repeat
from operator import lt
from typing import BinaryIO, NamedTuple

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.codec.sealed import digested_body
from replication.dns import names
from replication.errors import BadName, BadSegment

DIGEST_SIZE = 16
DIGEST_MODULUS = 1 << (8 * DIGEST_SIZE)
MAX_KEY = 511
MAX_BODY = 4 << 20

_LIVES = 0x01
_LONGEST_MARK = 4 + 1 + 4 + names.MAX_WIRE
_PACKED_CHUNK = 1 << 16
_INFLATED_CHUNK = 1 << 17
# A `Puts` ends after this many rows or bytes, which limits the memory needed to apply it.
_LONGEST_RUN = 10_000
_LARGEST_RUN = 1 << 20


class OpKind(IntEnum):
    """The effect of an operation on its key."""

    PUT = 1
    DELETE = 2
    DELETE_PREFIX = 3


class Op(NamedTuple):
    """One operation that puts or deletes a row, or deletes all rows with a prefix."""

    kind: OpKind
    dbi: Dbi
    key: bytes
    body: bytes = b""


class Puts(NamedTuple):
    """Rows to put into one table, in the segment's order: keys and bodies."""

    dbi: Dbi
    rows: list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class ZoneMark:
    """A zone that the segment touches, and its serial afterwards (None if the zone is deleted)."""

    zone_id: int
    name: str
    serial: int | None


def row_digest(dbi: Dbi, key: bytes, body: bytes) -> int:
    """Return a row's digest: BLAKE2b-128 over DBI (1), length of key (2), key, body without header.

    For a DNSSEC key, the fingerprint replaces the private part (`sealed.digested_body`), sealed or not. A file's or
    zone's digest is the sum over its rows, modulo 2^128.
    """
    return rows_digest(dbi, ((key, body),))


def rows_digest(dbi: Dbi, rows: Iterable[tuple[bytes, bytes]]) -> int:
    """Add up the digests of a table's rows, without reducing the sum modulo 2^128."""
    if dbi is Dbi.KEYDATA:
        rows = [(key, digested_body(body)) for key, body in rows]
    blake2b, number, prefixes = hashlib.blake2b, int.from_bytes, _DIGEST_PREFIXES[dbi]
    digests = [blake2b(prefixes[len(key)] + key + body, digest_size=DIGEST_SIZE).digest() for key, body in rows]
    return sum([number(digest, "big") for digest in digests])


def digest_bytes(total: int) -> bytes:
    """Reduce a sum of row digests modulo 2^128, and encode it in 16 bytes."""
    return (total % DIGEST_MODULUS).to_bytes(DIGEST_SIZE, "big")


def ascend(keys_: Sequence[bytes]) -> bool:
    """Return True if each item is greater than the previous one."""
    return all(map(lt, keys_, islice(keys_, 1, None)))


def encode_mark(mark: ZoneMark) -> bytes:
    serial = b"\0" if mark.serial is None else struct.pack(">BI", _LIVES, mark.serial)
    return mark.zone_id.to_bytes(4, "big") + serial + names.to_wire(mark.name)


def encode_op(op: Op) -> bytes:
    """Encode one operation. Raise BadSegment if the key is empty, or if the key or the body is too long."""
    kind, dbi, key, body = op
    if not 1 <= len(key) <= MAX_KEY or len(body) > MAX_BODY:
        raise BadSegment(reason=f"a key of {len(key)} or a body of {len(body)} bytes")
    head = bytes((kind << 4 | dbi,)) + _varint(len(key)) + key
    return head if kind is OpKind.DELETE_PREFIX else head + _varint(len(body)) + body


def record_puts(zone_id: int, rows: Iterable[tuple[bytes, int, bytes]]) -> tuple[bytes, int]:
    """Encode the operations that put a zone's rows (relative key, type, body). Return the bytes and the digests' sum.

    Raise BadSegment for unsorted or repeated keys, and for keys or bodies that are too long. Packed rows are not
    checked again.
    """
    prefix = keys.zone_prefix(zone_id)
    put = [(prefix + rel + b"\0" + type.to_bytes(2, "big"), body) for rel, type, body in rows]
    if not ascend([key for key, _ in put]):
        raise BadSegment(reason=f"the rows of zone {zone_id} are not sorted")
    heads, short = _RECORD_HEADS, _SHORT_LENGTHS
    try:
        pieces = [
            heads[len(key)] + key + (short[len(body)] if len(body) < 512 else _body_length(body)) + body
            for key, body in put
        ]
    except IndexError as exc:
        raise BadSegment(reason=f"a key of more than {MAX_KEY} bytes in zone {zone_id}") from exc
    return b"".join(pieces), rows_digest(Dbi.RECORDS, put)


class Body:
    """A segment's inflated body, readable once. Call `marks`, `serials` or `skip_marks` first, and then `runs`."""

    def __init__(self, source: BinaryIO, start: int, end: int) -> None:
        self._source, self._next, self._end = source, start, end
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._buffer = b""
        self._at = 0
        self._all_inflated = False

    @classmethod
    def of(cls, packed: bytes) -> "Body":
        return cls(io.BytesIO(packed), 0, len(packed))

    def marks(self, count: int, every: int = 1) -> Iterator[ZoneMark]:
        """Yield all marks, or every `every`-th mark from the first on. Raise BadSegment if a mark is invalid."""
        for number in range(count):
            wire, zone_id, serial = self._mark()
            if number % every == 0:
                try:
                    yield ZoneMark(zone_id, names.from_wire(wire), serial)
                except BadName as exc:
                    raise BadSegment(reason=str(exc)) from exc

    def serials(self, count: int) -> Iterator[tuple[int, int | None]]:
        """Yield each zone's id and serial (None: deleted), without decoding names. Raise BadSegment if one is bad."""
        for _ in range(count):
            _, zone_id, serial = self._mark()
            yield zone_id, serial

    def skip_marks(self, count: int) -> None:
        """Skip the marks without decoding their names. Raise BadSegment if a mark is invalid."""
        for _ in range(count):
            self._mark()

    def runs(self, count: int) -> Iterator[Op | Puts]:
        """Yield the next `count` operations, grouping PUTs of one table. Raise BadSegment if one is invalid."""
        while count:
            puts = self._puts(count)
            if puts.rows:
                count -= len(puts.rows)
                yield puts
            else:
                count -= 1
                yield self._op()

    def at_end(self) -> bool:
        """Return True if no bytes are left and the deflate stream is complete."""
        return self._at == len(self._buffer) and not self._more() and self._inflate.eof

    def _mark(self) -> tuple[bytes, int, int | None]:
        """Read the next mark: name (wire form), zone id and serial. Raise BadSegment if it is invalid."""
        self._fill(_LONGEST_MARK)
        buffer, at = self._buffer, self._at
        try:
            flags = buffer[at + 4]
            if flags & ~_LIVES:
                raise BadSegment(reason=f"a mark has unknown flags {flags:#04x}")
            start = name_at = at + (9 if flags else 5)
            while length := buffer[name_at]:
                name_at += 1 + length
        except IndexError as exc:
            raise BadSegment(reason="the body ends too early") from exc
        self._at = name_at + 1
        serial = int.from_bytes(buffer[at + 5 : at + 9], "big") if flags else None
        return buffer[start : self._at], int.from_bytes(buffer[at : at + 4], "big"), serial

    def _puts(self, most: int) -> Puts:
        """Read the next PUTs of one table. Return no rows before another operation, or a PUT with long data."""
        self._fill(1)
        tag = self._buffer[self._at] if self._at < len(self._buffer) else 0
        rows: list[tuple[bytes, bytes]] = []
        if tag in _PUT_TAGS:
            most, size, before = min(most, _LONGEST_RUN), 0, -1
            while before < len(rows) < most and size < _LARGEST_RUN:
                self._fill(_INFLATED_CHUNK // 2)
                before, start = len(rows), self._at
                self._read_puts(tag, most, rows)
                size += self._at - start
        return Puts(_PUT_TAGS.get(tag, Dbi.RECORDS), rows)

    def _read_puts(self, tag: int, most: int, rows: list[tuple[bytes, bytes]]) -> None:
        """Append complete PUTs from the buffer to `rows`, until it has `most` rows or another operation begins.

        For speed, this only handles lengths of one or two bytes, which rows usually have.
        """
        buffer, at, end, append = self._buffer, self._at, len(self._buffer), rows.append
        try:
            for _ in repeat(None, most - len(rows)):
                if buffer[at] != tag:
                    break
                size = buffer[at + 1]
                key_end = at + 2 + size
                length = buffer[key_end]
                start = key_end + 1
                if length > 127:
                    length += (buffer[start] - 1) << 7
                    if buffer[start] > 127:
                        break
                    start += 1
                stop = start + length
                if stop > end or not 0 < size < 128:
                    break
                append((buffer[at + 2 : key_end], buffer[start:stop]))
                at = stop
        except IndexError:
            pass  # the rest is not in the buffer yet
        self._at = at

    def _op(self) -> Op:
        tag = self._byte()
        shape = _SHAPES.get(tag)
        if shape is None:
            raise BadSegment(reason=f"an operation of unknown kind {tag:#04x}")
        kind, dbi = shape
        key = self._take(self._length(MAX_KEY))
        if not key:
            raise BadSegment(reason="an operation without a key")
        return Op(kind, dbi, key, b"" if kind is OpKind.DELETE_PREFIX else self._take(self._length(MAX_BODY)))

    def _take(self, size: int) -> bytes:
        """Read exactly the next `size` bytes. Raise BadSegment if fewer are left."""
        self._fill(size)
        at = self._at
        if len(self._buffer) - at < size:
            raise BadSegment(reason="the body ends too early")
        self._at = at + size
        return self._buffer[at : at + size]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _length(self, limit: int) -> int:
        """Read a varint. Raise BadSegment if it exceeds `limit`."""
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if value > limit or shift > 28:
                raise BadSegment(reason=f"a length is above {limit}")
            if byte < 0x80:
                return value
            shift += 7

    def _fill(self, size: int) -> None:
        """Read until the buffer has at least `size` unread bytes, or all remaining bytes."""
        if self._all_inflated or len(self._buffer) - self._at >= size:
            return
        kept = [self._buffer[self._at :]]
        have = len(kept[0])
        while have < size and (more := self._more()):
            kept.append(more)
            have += len(more)
        self._buffer, self._at = b"".join(kept), 0

    def _more(self) -> bytes:
        """Inflate at most one chunk of bytes. Return b"" at the end. Raise BadSegment if the stream is invalid."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                self._source.seek(self._next)
                packed = self._source.read(min(_PACKED_CHUNK, self._end - self._next))
                self._next += len(packed)
            try:
                inflated = self._inflate.decompress(packed, _INFLATED_CHUNK)
            except zlib.error as exc:
                raise BadSegment(reason=f"the body does not inflate ({exc})") from exc
            if inflated:
                return inflated
            if not packed:
                break
        self._all_inflated = True
        return b""


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _body_length(body: bytes) -> bytes:
    if len(body) > MAX_BODY:
        raise BadSegment(reason=f"a body of {len(body)} bytes")
    return _varint(len(body))


_SHAPES = {kind << 4 | dbi: (kind, dbi) for kind in OpKind for dbi in Dbi}
_PUT_TAGS = {OpKind.PUT << 4 | dbi: dbi for dbi in Dbi}
_RECORD_HEADS = [bytes((OpKind.PUT << 4 | Dbi.RECORDS,)) + _varint(size) for size in range(MAX_KEY + 1)]
_SHORT_LENGTHS = [_varint(size) for size in range(512)]
_DIGEST_PREFIXES = [[bytes((dbi, size >> 8, size & 0xFF)) for size in range(MAX_KEY + 1)] for dbi in Dbi]
