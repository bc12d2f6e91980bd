"""A segment: what travels from the panel to the nodes, sealed and signed.

It carries the LMDB rows that the sequences `first..last` put and delete, for one PowerDNS schema, and the
digests that both files have afterwards. Same input, same bytes. All integers are big endian.

    offset  size  header
    0       4     magic `DPSG`
    4       1     version, 1
    5       1     PowerDNS schema: 4, 5 or 6
    6       2     reserved, 0
    8       16    cluster
    24      16    epoch
    40      8     first sequence
    48      8     last sequence
    56      8     time of sealing, ns since 1970
    64      16    digest of the main file after this segment
    80      16    digest of the records file after this segment
    96      4     number of marks
    100     4     number of operations on the main file
    104     4     number of operations on the records file
    108     4     length n of the body
    112     n     body: marks, then operations, as one raw deflate stream
    112+n   64    Ed25519 signature over `dnspanel segment 1` 00 and the BLAKE2b-512 of all bytes before it

    mark        zone id (4), flags (1: bit 0 = the zone lives), serial (4, if it lives), name in wire form
    operation   kind * 16 + DBI (1), length of key (varint), key,
                length of body (varint) and body (not for DELETE_PREFIX)

A varint holds seven bits per byte, lowest first, bit 7 set on all but the last. Bodies carry no Lightning
Stream header; whoever writes the row makes it from the time of sealing and the last sequence. A DELETE in a
DBI with duplicates names the duplicate in its body; elsewhere that body is empty.

Operations come in the order in which they may become visible (`arrange`). Segments laid end to end are a
valid stream too (`open_segments`): that is how a node far behind catches up.
"""

import hashlib
import io
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain, islice
from typing import BinaryIO, NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from replication import names
from replication.codec.schema import Dbi, schema_for
from replication.errors import BadName, BadSegment, BadSignature
from replication.position import Position

MAGIC = b"DPSG"
VERSION = 1
HEADER = struct.Struct(">4sBB2x16s16sQQQ16s16sIIII")
SIGNATURE_SIZE = 64
DIGEST_SIZE = 16
DIGEST_MODULUS = 1 << (8 * DIGEST_SIZE)
MAX_KEY = 511
MAX_BODY = 4 << 20

_SIGNED = b"dnspanel segment 1\0"
_CHUNK = 1 << 16
_PIECES = 1000  # marks and operations deflated at a time; segments below that size get the slowest level
_LIVES = 0x01


class Kind(IntEnum):
    """What an operation does to its key."""

    PUT = 1
    DELETE = 2
    DELETE_PREFIX = 3


class Op(NamedTuple):
    """One row put or deleted. A tuple, because a bulk import has millions of them."""

    kind: Kind
    dbi: Dbi
    key: bytes
    body: bytes = b""


_SHAPES = {kind << 4 | dbi: (kind, dbi) for kind in Kind for dbi in Dbi}


@dataclass(frozen=True, slots=True)
class ZoneMark:
    """A zone this segment touches, and its serial afterwards; `None` means the zone is deleted."""

    zone_id: int
    name: str
    serial: int | None


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment whose signature was checked. Its content is read from `source` anew by each iterator."""

    schema: int
    cluster: UUID
    epoch: UUID
    first: int
    last: int
    time_ns: int
    digest_main: bytes
    digest_records: bytes
    mark_count: int
    main_op_count: int
    record_op_count: int
    size: int
    _source: BinaryIO = field(repr=False, compare=False)
    _offset: int = field(repr=False, compare=False)

    @property
    def before(self) -> Position:
        """Where a store must be to take this segment."""
        return Position(self.epoch, self.first - 1)

    @property
    def after(self) -> Position:
        """Where the store is afterwards."""
        return Position(self.epoch, self.last)

    @property
    def op_count(self) -> int:
        return self.main_op_count + self.record_op_count

    def marks(self) -> Iterator[ZoneMark]:
        """Every zone touched, in the order sealed. Raises BadSegment."""
        body = self._body()
        return (_decode_mark(body) for _ in range(self.mark_count))

    def ops(self) -> Iterator[Op]:
        """Every operation, in the order in which to apply it. Raises BadSegment."""
        body = self._body()
        for _ in range(self.mark_count):
            _decode_mark(body)
        for _ in range(self.op_count):
            yield _decode_op(body)
        if not body.at_end():
            raise BadSegment(reason="bytes follow the last operation")

    def _body(self) -> "_Body":
        start = self._offset + HEADER.size
        return _Body(self._source, start, self._offset + self.size - SIGNATURE_SIZE)


def row_digest(dbi: Dbi, key: bytes, body: bytes) -> int:
    """The digest of one row, BLAKE2b-128 of: DBI (1), length of key (2), key, body without header.

    The digest of a file or of a zone is the sum over its rows, modulo 2^128.
    """
    prefix = bytes((dbi, len(key) >> 8, len(key) & 0xFF))
    return int.from_bytes(hashlib.blake2b(prefix + key + body, digest_size=DIGEST_SIZE).digest(), "big")


def digest_bytes(total: int) -> bytes:
    """A sum of row digests as the 16 bytes that travel."""
    return (total % DIGEST_MODULUS).to_bytes(DIGEST_SIZE, "big")


def arrange(ops: Iterable[Op], removed: Iterable[int] = ()) -> list[Op]:
    """Operations in the order in which they may become visible; each key occurs once, or BadSegment.

    1. Records, by key: rows of new zones lie there unseen, and each zone's rows lie together.
    2. The main file, in the order given: in one transaction new zones appear and `removed` ones vanish.
    3. Records of removed zones, which nothing reaches any more.
    """
    gone = {zone_id.to_bytes(4, "big") for zone_id in removed}
    stages: tuple[list[Op], list[Op], list[Op]] = ([], [], [])
    for op in ops:
        stages[1 if op.dbi is not Dbi.RECORDS else 2 if op.key[:4] in gone else 0].append(op)
    for stage in (stages[0], stages[2]):
        stage.sort(key=lambda op: op.key)
        for op, following in zip(stage, islice(stage, 1, None), strict=False):
            if op.key == following.key:
                raise BadSegment(reason=f"two operations on the key {op.key.hex()}")
    return stages[0] + stages[1] + stages[2]


def seal(
    *,
    schema: int,
    cluster: UUID,
    epoch: UUID,
    first: int,
    last: int,
    time_ns: int,
    digest_main: bytes,
    digest_records: bytes,
    marks: Sequence[ZoneMark],
    ops: Iterable[Op],
    key: Ed25519PrivateKey,
) -> bytes:
    """The bytes of a segment, signed. Operations are arranged here; raises BadSegment if they cannot be."""
    if not 1 <= first <= last:
        raise BadSegment(reason=f"sequences {first}..{last} are not a range")
    arranged = arrange(ops, removed=(mark.zone_id for mark in marks if mark.serial is None))
    level = 9 if len(arranged) < _PIECES else 6
    body = _deflate(chain(map(_encode_mark, marks), map(_encode_op, arranged)), level)
    records = sum(op.dbi is Dbi.RECORDS for op in arranged)
    header = HEADER.pack(
        MAGIC, VERSION, schema, cluster.bytes, epoch.bytes, first, last, time_ns, digest_main, digest_records,
        len(marks), len(arranged) - records, records, len(body),
    )  # fmt: skip
    signature = key.sign(_SIGNED + hashlib.blake2b(header + body).digest())
    return header + body + signature


def open_segment(source: bytes | BinaryIO, public_keys: Sequence[bytes]) -> Segment:
    """The one segment that fills `source`, once one of `public_keys` (32 bytes each) has signed it.

    Raises BadSignature, BadSegment or UnknownSchema; nothing of the body is looked at before that.
    """
    opened = open_segments(source, public_keys)
    segment = next(opened, None)
    if segment is None or next(opened, None) is not None:
        raise BadSegment(reason="there is not exactly one segment")
    return segment


def open_segments(source: bytes | BinaryIO, public_keys: Sequence[bytes]) -> Iterator[Segment]:
    """Each segment of those laid end to end in `source`, checked just before it is yielded."""
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    keys = [Ed25519PublicKey.from_public_bytes(key) for key in public_keys]
    end = file.seek(0, io.SEEK_END)
    offset = 0
    while offset < end:
        segment = _open_at(file, offset, end, keys)
        yield segment
        offset += segment.size


def _open_at(file: BinaryIO, offset: int, end: int, keys: list[Ed25519PublicKey]) -> Segment:
    file.seek(offset)
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        raise BadSegment(reason="it ends inside the header")
    magic, version, schema, cluster, epoch, first, last, time_ns, main, records, *counts, body_size = HEADER.unpack(
        header
    )
    if magic != MAGIC:
        raise BadSegment(reason="it does not start with the magic bytes")
    if version != VERSION:
        raise BadSegment(reason=f"its format has version {version}, this side knows version {VERSION}")
    size = HEADER.size + body_size + SIGNATURE_SIZE
    if offset + size > end:
        raise BadSegment(reason=f"it is {size} bytes long and {end - offset} are there")
    _check_signature(file, header, body_size, keys)
    schema_for(schema)
    if not 1 <= first <= last:
        raise BadSegment(reason=f"sequences {first}..{last} are not a range")
    marks, main_ops, record_ops = counts
    return Segment(
        schema, UUID(bytes=cluster), UUID(bytes=epoch), first, last, time_ns, main, records,
        marks, main_ops, record_ops, size, file, offset,
    )  # fmt: skip


def _check_signature(file: BinaryIO, header: bytes, body_size: int, keys: list[Ed25519PublicKey]) -> None:
    """Read through the body, then the signature. The file stands behind the header."""
    digest = hashlib.blake2b(header)
    left = body_size
    while left:
        chunk = file.read(min(left, _CHUNK))
        if not chunk:
            raise BadSegment(reason="it ends inside the body")
        digest.update(chunk)
        left -= len(chunk)
    signature = file.read(SIGNATURE_SIZE)
    signed = _SIGNED + digest.digest()
    for key in keys:
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            continue
        return
    raise BadSignature(reason=f"none of the {len(keys)} keys known here has signed it")


class _Body:
    """The inflated body, read forward with a bounded buffer."""

    def __init__(self, source: BinaryIO, start: int, end: int) -> None:
        self._source, self._next, self._end = source, start, end
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._buffer = b""
        self._at = 0

    def take(self, size: int) -> bytes:
        """Exactly the next `size` bytes."""
        at = self._at
        if len(self._buffer) - at < size:
            self._fill(size)
            at = 0
        self._at = at + size
        return self._buffer[at : at + size]

    def byte(self) -> int:
        if self._at == len(self._buffer):
            self._fill(1)
        self._at += 1
        return self._buffer[self._at - 1]

    def varint(self, limit: int) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if value > limit or shift > 28:
                raise BadSegment(reason=f"a length is above {limit}")
            if byte < 0x80:
                return value
            shift += 7

    def at_end(self) -> bool:
        """True if nothing is left, neither inflated nor to inflate."""
        return self._at == len(self._buffer) and not self._more() and self._inflate.eof

    def _fill(self, size: int) -> None:
        kept = [self._buffer[self._at :]]
        have = len(kept[0])
        while have < size:
            more = self._more()
            if not more:
                raise BadSegment(reason="the body ends too early")
            kept.append(more)
            have += len(more)
        self._buffer, self._at = b"".join(kept), 0

    def _more(self) -> bytes:
        """Some more inflated bytes, at most a chunk; empty at the end."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                self._source.seek(self._next)
                packed = self._source.read(min(_CHUNK, self._end - self._next))
                self._next += len(packed)
            try:
                inflated = self._inflate.decompress(packed, _CHUNK)
            except zlib.error as exc:
                raise BadSegment(reason=f"the body does not inflate ({exc})") from exc
            if inflated or not packed:
                return inflated
        return b""


def _deflate(pieces: Iterator[bytes], level: int) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = []
    while plain := b"".join(islice(pieces, _PIECES)):
        packed.append(deflate.compress(plain))
    return b"".join(packed) + deflate.flush()


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _encode_mark(mark: ZoneMark) -> bytes:
    serial = b"\0" if mark.serial is None else struct.pack(">BI", _LIVES, mark.serial)
    return mark.zone_id.to_bytes(4, "big") + serial + names.to_wire(mark.name)


def _decode_mark(body: _Body) -> ZoneMark:
    zone_id, flags = int.from_bytes(body.take(4), "big"), body.byte()
    if flags & ~_LIVES:
        raise BadSegment(reason=f"a mark has unknown flags {flags:#04x}")
    serial = int.from_bytes(body.take(4), "big") if flags & _LIVES else None
    wire = bytearray()
    while length := body.byte():
        wire.append(length)
        wire += body.take(length)
    try:
        return ZoneMark(zone_id, names.from_wire(bytes(wire) + b"\0"), serial)
    except BadName as exc:
        raise BadSegment(reason=str(exc)) from exc


def _encode_op(op: Op) -> bytes:
    if not 1 <= len(op.key) <= MAX_KEY or len(op.body) > MAX_BODY:
        raise BadSegment(reason=f"a key of {len(op.key)} or a body of {len(op.body)} bytes")
    head = bytes((op.kind << 4 | op.dbi,)) + _varint(len(op.key)) + op.key
    return head if op.kind is Kind.DELETE_PREFIX else head + _varint(len(op.body)) + op.body


def _decode_op(body: _Body) -> Op:
    tag = body.byte()
    shape = _SHAPES.get(tag)
    if shape is None:
        raise BadSegment(reason=f"an operation of unknown kind {tag:#04x}")
    kind, dbi = shape
    key = body.take(body.varint(MAX_KEY))
    if not key:
        raise BadSegment(reason="an operation without a key")
    return Op(kind, dbi, key, b"" if kind is Kind.DELETE_PREFIX else body.take(body.varint(MAX_BODY)))
