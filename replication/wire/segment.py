"""Seal and open segments, the signed units that the panel sends to the nodes.

A segment contains the LMDB rows that the sequences `first..last` put and delete, for one PowerDNS schema, and the
digests that both files have afterwards. The same input results in the same bytes. All integers are big endian.

    offset  size  header
    0       4     magic `DPSG`
    4       1     version, 1 to 3
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

Version 2 has 16 more bytes before the body: the sum of the digests of its rows in the records file. All these rows are
put and belong to new zones. The panel has checked the sum, so nodes don't have to hash millions of new rows.

Version 3 is a repair. It doesn't change the position: `first` and `last` are the node's position, and its only mark
names the zone that it contains in full (`store.repair_zone`).

`operations` describes the layout of marks and operations.

Operations are in the order in which they are allowed to become visible (`arrange`). Several concatenated segments are
also a valid stream (`open_segments`), used for a node that is far behind.
"""

import hashlib
import io
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import BinaryIO
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from replication.codec.schema import Dbi, schema_for
from replication.codec.sealed import is_sealed_body
from replication.errors import BadSegment, BadSignature
from replication.wire.operations import (
    DIGEST_SIZE,
    Body,
    Op,
    OpKind,
    Puts,
    ZoneMark,
    digest_bytes,
    encode_mark,
    encode_op,
)
from replication.wire.position import Position

MAGIC = b"DPSG"
VERSION = 1
VERSION_OF_NEW_ZONES = 2
VERSION_OF_REPAIR = 3
HEADER = struct.Struct(">4sBB2x16s16sQQQ16s16sIIII")
SIGNATURE_SIZE = 64
_SIGNED = b"dnspanel segment 1\0"
_CHUNK = 1 << 16
_PIECES = 1000  # marks and operations deflated at a time; smaller segments get the slowest level
# The level for segments with packed puts, which are large and have similar neighboring rows.
_BULK_LEVEL = 1


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """The header of a segment to seal: schema, cluster, epoch, sequences, time, and both files' resulting digests."""

    schema: int
    cluster: UUID
    epoch: UUID
    first: int
    last: int
    time_ns: int
    digest_main: bytes
    digest_records: bytes


@dataclass(frozen=True, slots=True)
class PackedPuts:
    """Encoded PUTs of records, sorted by key, compressed in advance and copied into the segment (see `pack_puts`).

    `digest` is the sum of the rows' digests. The segment contains it, and nodes read it from there.
    """

    packed: bytes
    count: int
    digest: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment with a verified signature. Each iterator reads the content from `source` again."""

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
    new_rows_digest: int | None  # of all rows of records, if all belong to new zones
    is_repair: bool  # all of one zone, at the store's position
    size: int
    _source: BinaryIO = field(repr=False, compare=False)
    _offset: int = field(repr=False, compare=False)

    @property
    def before(self) -> Position:
        """The lowest position at which a store accepts this segment, unless it is a repair."""
        return Position(self.epoch, self.first - 1)

    @property
    def after(self) -> Position:
        """The position of the store after this segment."""
        return Position(self.epoch, self.last)

    @property
    def op_count(self) -> int:
        return self.main_op_count + self.record_op_count

    def marks(self, every: int = 1) -> Iterator[ZoneMark]:
        """Yield every `every`-th mark, from the first one. Raise BadSegment if a mark is invalid."""
        return self._body().marks(self.mark_count, every)

    def serials(self) -> Iterator[tuple[int, int | None]]:
        """Return an iterator over each mark's zone id and serial, without decoding names.

        The serial of a deleted zone is None. Raise BadSegment if a mark is invalid.
        """
        return self._body().serials(self.mark_count)

    def runs(self) -> Iterator[Op | Puts]:
        """Yield all operations in the order in which they must be applied. Raise BadSegment if the body is invalid."""
        body = self._body()
        body.skip_marks(self.mark_count)
        yield from body.runs(self.op_count)
        if not body.at_end():
            raise BadSegment(reason="bytes follow the last operation")

    def ops(self) -> Iterator[Op]:
        """Yield the operations of `runs` one by one."""
        for run in self.runs():
            if isinstance(run, Puts):
                yield from (Op(OpKind.PUT, run.dbi, key, body) for key, body in run.rows)
            else:
                yield run

    def _body(self) -> Body:
        start = self._offset + HEADER.size + (0 if self.new_rows_digest is None else DIGEST_SIZE)
        return Body(self._source, start, self._offset + self.size - SIGNATURE_SIZE)


def pack_puts(pieces: Iterable[bytes]) -> bytes:
    """Pack encoded operations (`record_puts`) as a part of a deflate stream. Other parts can precede and follow it.

    The part has no final block. It ends with a full flush, because later parts must not refer to its content.
    """
    return _deflate(pieces, _BULK_LEVEL, zlib.Z_FULL_FLUSH)


def arrange(ops: Iterable[Op], removed: Iterable[int] = (), late: Iterable[Op] = ()) -> list[Op]:
    """Sort operations into the order in which they are allowed to become visible.

    Raise BadSegment if a record's key occurs twice, if a `late` operation is on the main file, or if a DNSSEC key isn't
    sealed.

    1. Records, sorted by key: rows of new zones aren't visible yet, and each zone's rows are adjacent.
    2. The main file, in the given order: one transaction makes new zones appear and `removed` ones disappear.
    3. Records of removed zones, which can no longer be found, and the `late` operations on records. Late operations are
       only right once PowerDNS uses the main file's changes (an NSEC3 chain that its zone no longer uses).
    """
    gone = {zone_id.to_bytes(4, "big") for zone_id in removed}
    stages: tuple[list[Op], list[Op], list[Op]] = ([], [], [])
    for op in ops:
        stages[1 if op.dbi is not Dbi.RECORDS else 2 if op.key[:4] in gone else 0].append(op)
    for op in late:
        if op.dbi is not Dbi.RECORDS:
            raise BadSegment(reason="an operation on the main file cannot come behind it")
        stages[2].append(op)
    for stage in (stages[0], stages[2]):
        stage.sort(key=lambda op: op.key)
    _refuse_same_keys(stages[0], stages[2])
    for op in stages[1]:
        if op.dbi is Dbi.KEYDATA and op.kind is OpKind.PUT and not is_sealed_body(op.body):
            raise BadSegment(reason="a DNSSEC key that is not sealed")
    return stages[0] + stages[1] + stages[2]


def _refuse_same_keys(early: Sequence[Op], late: Sequence[Op]) -> None:
    """Raise BadSegment if two operations have the same key. Both sequences must be sorted by key."""
    for stage in (early, late):
        for op, following in zip(stage, islice(stage, 1, None), strict=False):
            if op.key == following.key:
                raise BadSegment(reason=f"two operations on the key {op.key.hex()}")
    if late_keys := {op.key for op in late}:
        for op in early:
            if op.key in late_keys:
                raise BadSegment(reason=f"two operations on the key {op.key.hex()}")


def seal(  # noqa: PLR0913  # the fields of a segment
    header: SegmentHeader,
    *,
    marks: Sequence[ZoneMark],
    ops: Iterable[Op],
    key: Ed25519PrivateKey,
    puts: PackedPuts | None = None,
    late: Iterable[Op] = (),
    is_repair: bool = False,
) -> bytes:
    """Encode and sign a segment, with its operations arranged. Raise BadSegment if the input is invalid.

    If `puts` is given, `ops` must only be operations on the main file, and the `puts` come first. `late` operations on
    records come last. A repair must have exactly one mark and one sequence. Unsealed DNSSEC keys are rejected.
    """
    first, last = header.first, header.last
    if not 1 <= first <= last or (is_repair and (first < last or len(marks) != 1 or puts is not None)):
        raise BadSegment(reason=f"sequences {first}..{last} are not a range")
    arranged = arrange(ops, (mark.zone_id for mark in marks if mark.serial is None), late)
    records = sum(op.dbi is Dbi.RECORDS for op in arranged)
    level = 9 if len(arranged) < _PIECES else 6
    if puts is None:
        body = _deflate(chain(map(encode_mark, marks), map(encode_op, arranged)), level)
    elif not records:
        before = _deflate(map(encode_mark, marks), _BULK_LEVEL, zlib.Z_FULL_FLUSH)
        body = before + puts.packed + _deflate(map(encode_op, arranged), _BULK_LEVEL)
    else:
        raise BadSegment(reason="records beside those that are packed already")
    version = VERSION_OF_REPAIR if is_repair else VERSION if puts is None else VERSION_OF_NEW_ZONES
    packed = HEADER.pack(
        MAGIC,
        version,
        header.schema,
        header.cluster.bytes,
        header.epoch.bytes,
        first,
        last,
        header.time_ns,
        header.digest_main,
        header.digest_records,
        len(marks),
        len(arranged) - records,
        puts.count if puts else records,
        len(body),
    )
    if puts is not None:
        packed += digest_bytes(puts.digest)
    signature = key.sign(_SIGNED + hashlib.blake2b(packed + body).digest())
    return packed + body + signature


def open_segment(source: bytes | BinaryIO, public_keys: Sequence[bytes]) -> Segment:
    """Open the only segment in `source`. Raise BadSegment unless `source` is exactly one valid segment.

    Raise BadSignature if none of `public_keys` (32 bytes each) has signed it, or UnknownSchema if its schema isn't
    supported. The body is parsed only after its signature was verified.
    """
    opened = open_segments(source, public_keys)
    segment = next(opened, None)
    if segment is None or next(opened, None) is not None:
        raise BadSegment(reason="there is not exactly one segment")
    return segment


def open_segments(source: bytes | BinaryIO, public_keys: Sequence[bytes]) -> Iterator[Segment]:
    """Open and yield each of the concatenated segments in `source`. Raise the errors of `open_segment`.

    Each signature is verified just before its segment is yielded.
    """
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
    if version not in (VERSION, VERSION_OF_NEW_ZONES, VERSION_OF_REPAIR):
        raise BadSegment(reason=f"its format has version {version}, this side knows versions 1 to 3")
    extra = file.read(DIGEST_SIZE) if version == VERSION_OF_NEW_ZONES else b""
    size = HEADER.size + len(extra) + body_size + SIGNATURE_SIZE
    if offset + size > end:
        raise BadSegment(reason=f"it is {size} bytes long and {end - offset} are there")
    _check_signature(file, header + extra, body_size, keys)
    schema_for(schema)
    marks, main_ops, record_ops = counts
    is_repair = version == VERSION_OF_REPAIR
    if not 1 <= first <= last or (is_repair and (first < last or marks != 1)):
        raise BadSegment(reason=f"sequences {first}..{last} are not a range, or not one for {marks} zones")
    new_rows = int.from_bytes(extra, "big") if extra else None
    return Segment(
        schema,
        UUID(bytes=cluster),
        UUID(bytes=epoch),
        first,
        last,
        time_ns,
        main,
        records,
        marks,
        main_ops,
        record_ops,
        new_rows,
        is_repair,
        size,
        file,
        offset,
    )


def _check_signature(file: BinaryIO, header: bytes, body_size: int, keys: list[Ed25519PublicKey]) -> None:
    """Verify the body and its signature. Raise BadSegment for a short body, BadSignature if no key has signed it."""
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


def _deflate(pieces: Iterable[bytes], level: int, end: int = zlib.Z_FINISH) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = []
    rest = iter(pieces)
    while plain := b"".join(islice(rest, _PIECES)):
        packed.append(deflate.compress(plain))
    return b"".join(packed) + deflate.flush(end)
