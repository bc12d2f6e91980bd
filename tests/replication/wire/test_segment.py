"""Segments: their bytes, the reasons to refuse a segment, and the order of their operations."""

import hashlib
import io
import struct
import tracemalloc
import zlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from replication.codec.dnssec import KeyObject
from replication.codec.schema import Dbi, schema_for
from replication.codec.sealed import SealingKey, seal_key
from replication.errors import BadSegment, BadSignature, UnknownSchema
from replication.wire.operations import DIGEST_MODULUS, Op, OpKind, ZoneMark, digest_bytes, record_puts, row_digest
from replication.wire.segment import (
    HEADER,
    SIGNATURE_SIZE,
    PackedPuts,
    Segment,
    SegmentHeader,
    arrange,
    open_segment,
    open_segments,
    pack_puts,
    seal,
)
from tests.replication.panel import CLUSTER, EPOCH, PUBLIC_KEYS, SIGNING_KEY, TIME_NS, Panel, records, small_zone

OPS = [
    Op(OpKind.PUT, Dbi.RECORDS, b"\0\0\0\x07www\0\0\0\1", b"body of www"),
    Op(OpKind.DELETE, Dbi.RECORDS, b"\0\0\0\x07old\0\0\0\1"),
    Op(OpKind.PUT, Dbi.DOMAINS, b"\x07\0\0\0", b"object"),
]
MARKS = [ZoneMark(7, "example.test.", 2026112101), ZoneMark(8, "gone.test.", None)]


def sealed(
    ops: list[Op] | None = None, marks: list[ZoneMark] | None = None, *, schema: int = 4, first: int = 5, last: int = 6
) -> bytes:
    return seal(
        SegmentHeader(
            schema=schema,
            cluster=CLUSTER,
            epoch=EPOCH,
            first=first,
            last=last,
            time_ns=TIME_NS,
            digest_main=b"m" * 16,
            digest_records=b"r" * 16,
        ),
        marks=MARKS if marks is None else marks,
        ops=OPS if ops is None else ops,
        key=SIGNING_KEY,
    )


def signed_anew(header: bytes, body: bytes) -> bytes:
    """Return a segment of these bytes, valid or not, with a valid signature."""
    digest = hashlib.blake2b(header + body).digest()
    return header + body + SIGNING_KEY.sign(b"dnspanel segment 1\0" + digest)


def with_body(plain: bytes, *, marks: int, ops: int) -> bytes:
    """Return a segment with this body, which `seal` would never write."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(plain) + deflate.flush()
    header = HEADER.pack(
        b"DPSG", 1, 4, CLUSTER.bytes, EPOCH.bytes, 1, 1, 0, b"m" * 16, b"r" * 16, marks, 0, ops, len(body)
    )
    return signed_anew(header, body)


def test_what_was_sealed_comes_out() -> None:
    segment = open_segment(sealed(), PUBLIC_KEYS)
    assert (segment.schema, segment.cluster, segment.epoch) == (4, CLUSTER, EPOCH)
    assert (segment.first, segment.last, segment.time_ns) == (5, 6, TIME_NS)
    assert (segment.digest_main, segment.digest_records) == (b"m" * 16, b"r" * 16)
    assert (segment.mark_count, segment.main_op_count, segment.record_op_count) == (2, 1, 2)
    assert list(segment.marks()) == MARKS
    assert list(segment.ops()) == [OPS[1], OPS[0], OPS[2]]
    assert (segment.before.sequence, segment.after.sequence) == (4, 6)


def test_marks_and_operations_can_be_read_again_and_side_by_side() -> None:
    segment = open_segment(sealed(), PUBLIC_KEYS)
    both = list(zip(segment.marks(), segment.ops(), strict=False))
    assert len(both) == 2
    assert list(segment.ops()) == list(segment.ops())


def test_the_same_input_gives_the_same_bytes() -> None:
    assert sealed() == sealed()


def test_the_header_is_as_documented() -> None:
    header = struct.unpack(">4sBBH16s16sQQQ16s16sIIII", sealed()[:112])
    body_size = len(sealed()) - 112 - 64
    assert header == (
        b"DPSG",
        1,
        4,
        0,
        CLUSTER.bytes,
        EPOCH.bytes,
        5,
        6,
        TIME_NS,
        b"m" * 16,
        b"r" * 16,
        2,
        1,
        2,
        body_size,
    )


def test_a_row_digest_is_as_documented() -> None:
    layout = b"\0" + b"\0\x08" + b"\0\0\0\x07\0\0\0\6" + b"body"
    expected = hashlib.blake2b(layout, digest_size=16).digest()
    assert digest_bytes(row_digest(Dbi.RECORDS, b"\0\0\0\x07\0\0\0\6", b"body")) == expected


def test_a_small_edit_is_a_small_segment(panel: Panel) -> None:
    panel.create(small_zone("a-zone-of-usual-length.test."))
    edit = panel.change(
        "a-zone-of-usual-length.test.", records("a-zone-of-usual-length.test.", "www2", "A", 300, "192.0.2.7")
    )
    assert len(edit) <= 350


@pytest.mark.parametrize("position", [0, 4, 40, 111, 112, 130, -1, -64])
def test_one_flipped_bit_anywhere_is_noticed(position: int) -> None:
    bytes_ = bytearray(sealed())
    bytes_[position] ^= 1
    with pytest.raises((BadSignature, BadSegment)):
        open_segment(bytes(bytes_), PUBLIC_KEYS)


@pytest.mark.parametrize("kept", [0, 1, 50, 112, 150, -1])
def test_a_torn_segment_is_refused(kept: int) -> None:
    with pytest.raises(BadSegment):
        open_segment(sealed()[:kept], PUBLIC_KEYS)


def test_a_segment_of_an_unknown_key_is_refused() -> None:
    stranger = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(BadSignature):
        open_segment(sealed(), [stranger])
    with pytest.raises(BadSignature):
        open_segment(sealed(), [])


def test_any_of_several_keys_may_have_signed() -> None:
    stranger = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    assert open_segment(sealed(), [stranger, *PUBLIC_KEYS]).first == 5


def test_an_unknown_schema_is_refused_although_it_is_signed() -> None:
    good = sealed()
    header = bytearray(good[:112])
    header[5] = 9
    with pytest.raises(UnknownSchema):
        open_segment(signed_anew(bytes(header), good[112:-SIGNATURE_SIZE]), PUBLIC_KEYS)


def test_an_unknown_version_is_refused_although_it_is_signed() -> None:
    good = sealed()
    header = bytearray(good[:112])
    header[4] = 4
    with pytest.raises(BadSegment, match="version 4"):
        open_segment(signed_anew(bytes(header), good[112:-SIGNATURE_SIZE]), PUBLIC_KEYS)


@pytest.mark.parametrize(
    ("plain", "marks", "ops", "reason"),
    [
        (b"\x47\1k", 0, 1, "unknown kind"),
        (b"\x1f\1k\0", 0, 1, "unknown kind"),
        (b"\x10\0\0", 0, 1, "without a key"),
        (b"\x10\xff\xff\xff\x7f", 0, 1, "length"),
        (b"\x10\x05abc", 0, 1, "too early"),
        (b"\x20\1k\0extra", 0, 1, "follow"),
        (b"\0\0\0\1\x03\0", 1, 0, "unknown flags"),
        (b"\0\0\0\1\0\x3fab", 1, 0, "too early"),
    ],
)
def test_nonsense_in_a_signed_body_is_refused(plain: bytes, marks: int, ops: int, reason: str) -> None:
    segment = open_segment(with_body(plain, marks=marks, ops=ops), PUBLIC_KEYS)
    with pytest.raises(BadSegment, match=reason):
        list(segment.ops())


def test_a_body_that_does_not_inflate_is_refused() -> None:
    header = HEADER.pack(b"DPSG", 1, 4, CLUSTER.bytes, EPOCH.bytes, 1, 1, 0, b"m" * 16, b"r" * 16, 0, 0, 1, 3)
    with pytest.raises(BadSegment, match="inflate"):
        list(open_segment(signed_anew(header, b"\xff\xff\xff"), PUBLIC_KEYS).ops())


def test_segments_laid_end_to_end_come_out_one_by_one() -> None:
    stream = io.BytesIO(sealed(first=1, last=1) + sealed(first=2, last=4) + sealed(first=5, last=5))
    found: list[tuple[int, int, int]] = []
    for segment in open_segments(stream, PUBLIC_KEYS):
        found.append((segment.first, segment.last, len(list(segment.ops()))))
    assert found == [(1, 1, 3), (2, 4, 3), (5, 5, 3)]


def test_one_segment_is_not_two() -> None:
    with pytest.raises(BadSegment, match="exactly one"):
        open_segment(sealed() + sealed(), PUBLIC_KEYS)


def test_operations_are_arranged_so_that_nothing_is_seen_half() -> None:
    new = Op(OpKind.PUT, Dbi.RECORDS, b"\0\0\0\x09\0\0\0\6", b"soa")
    changed = Op(OpKind.PUT, Dbi.RECORDS, b"\0\0\0\x05\0\0\0\6", b"soa")
    rewritten = [
        Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, b"\0\0\0\x06"),
        Op(OpKind.PUT, Dbi.RECORDS, b"\0\0\0\x06\0\0\0\6", b"x"),
    ]
    removed = Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, b"\0\0\0\x04")
    main = [Op(OpKind.DELETE, Dbi.DOMAINS, b"\4\0\0\0"), Op(OpKind.PUT, Dbi.DOMAINS, b"\x09\0\0\0", b"o")]
    arranged = arrange([removed, *main, new, *reversed(rewritten), changed], removed=[4])
    assert arranged == [changed, *rewritten, new, *main, removed]


def test_two_operations_on_one_key_are_refused() -> None:
    with pytest.raises(BadSegment, match="two operations"):
        arrange([OPS[0], OPS[0]])


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1)])
def test_a_range_has_to_be_one(first: int, last: int) -> None:
    with pytest.raises(BadSegment, match="range"):
        sealed(first=first, last=last)


@given(
    st.lists(
        st.builds(
            Op,
            st.just(OpKind.PUT),
            st.sampled_from([Dbi.RECORDS, Dbi.METADATA, Dbi.TSIG_INDEX]),
            st.binary(min_size=4, max_size=511),
            st.binary(max_size=3000),
        ),
        max_size=30,
        unique_by=lambda op: op.key,
    )
)
def test_any_operations_survive_the_journey(ops: list[Op]) -> None:
    segment = open_segment(sealed(ops, []), PUBLIC_KEYS)
    assert list(segment.ops()) == arrange(ops)


def test_reading_a_large_segment_takes_little_memory() -> None:
    # A body that inflates a thousandfold must not be inflated at once.
    ops = [Op(OpKind.PUT, Dbi.RECORDS, number.to_bytes(4, "big") + b"\0\0\0\1", b"x" * 50_000) for number in range(400)]
    segment = open_segment(sealed(ops, []), PUBLIC_KEYS)
    del ops
    tracemalloc.start()
    assert sum(1 for _ in segment.ops()) == 400
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_segment_compares_without_its_source() -> None:
    one, other = open_segment(sealed(), PUBLIC_KEYS), open_segment(sealed(), PUBLIC_KEYS)
    assert isinstance(one, Segment)
    assert one == other


# --- rows packed beforehand


def packed_rows(zone_ids: range) -> tuple[PackedPuts, list[Op]]:
    """Return two rows of each zone in both forms: packed, and as operations."""
    rows = [(b"\0", 6, b"soa"), (b"www\0", 1, b"address")]
    made = [record_puts(zone_id, rows) for zone_id in zone_ids]
    digest = sum(of_zone for _, of_zone in made)
    puts = PackedPuts(pack_puts(packed for packed, _ in made), 2 * len(zone_ids), digest)
    ops = [
        Op(OpKind.PUT, Dbi.RECORDS, zone_id.to_bytes(4, "big") + rel + b"\0" + type.to_bytes(2, "big"), body)
        for zone_id in zone_ids
        for rel, type, body in rows
    ]
    return puts, ops


def seal_packed(puts: PackedPuts, ops: list[Op], marks: list[ZoneMark]) -> bytes:
    return seal(
        SegmentHeader(
            schema=4,
            cluster=CLUSTER,
            epoch=EPOCH,
            first=5,
            last=6,
            time_ns=TIME_NS,
            digest_main=b"m" * 16,
            digest_records=b"r" * 16,
        ),
        marks=marks,
        ops=ops,
        key=SIGNING_KEY,
        puts=puts,
    )


@pytest.mark.parametrize("zones", [1, 3, 5000])
def test_rows_packed_beforehand_are_spliced_into_one_stream(zones: int) -> None:
    zone_ids = range(1, zones + 1)
    puts, ops = packed_rows(zone_ids)
    marks = [ZoneMark(zone_id, f"zone{zone_id}.test.", 1) for zone_id in zone_ids]
    objects = [Op(OpKind.PUT, Dbi.DOMAINS, zone_id.to_bytes(4, "little"), b"object") for zone_id in zone_ids]
    spliced = open_segment(seal_packed(puts, objects, marks), PUBLIC_KEYS)
    usual = open_segment(sealed(ops + objects, marks), PUBLIC_KEYS)
    assert list(spliced.ops()) == list(usual.ops())
    assert list(spliced.marks()) == marks
    assert (spliced.main_op_count, spliced.record_op_count) == (usual.main_op_count, usual.record_op_count)
    assert (spliced.new_rows_digest, usual.new_rows_digest) == (puts.digest % DIGEST_MODULUS, None)


def test_records_beside_packed_ones_are_refused() -> None:
    puts, _ = packed_rows(range(1, 3))
    with pytest.raises(BadSegment, match="packed"):
        seal_packed(puts, OPS, MARKS)


@pytest.mark.parametrize(("count", "reason"), [(3, "follow"), (5, "early")])
def test_packed_rows_of_another_number_are_noticed_by_who_reads_them(count: int, reason: str) -> None:
    puts, _ = packed_rows(range(1, 3))
    segment = open_segment(seal_packed(PackedPuts(puts.packed, count, puts.digest), [], MARKS), PUBLIC_KEYS)
    with pytest.raises(BadSegment, match=reason):
        list(segment.runs())


def test_late_operations_come_behind_the_main_file() -> None:
    chain = Op(OpKind.DELETE, Dbi.RECORDS, b"\0\0\0\1hash\0\0\0\x32")
    assert [op.dbi for op in arrange(OPS, late=[chain])] == [Dbi.RECORDS, Dbi.RECORDS, Dbi.DOMAINS, Dbi.RECORDS]
    assert arrange(OPS, late=[chain])[-1] == chain
    with pytest.raises(BadSegment, match="two operations"):
        arrange(OPS, late=[OPS[1]])
    with pytest.raises(BadSegment, match="cannot come behind it"):
        arrange(OPS, late=[OPS[2]])


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_a_key_that_anybody_could_read_is_not_put_into_a_segment(schema: int) -> None:
    clear = KeyObject("a.test.", "Private-key-format: v1.2\n", 257, True, True)
    closed = seal_key(clear, SealingKey(1, bytes(64)), row_id=3)
    for obj, is_refused in ((clear, True), (closed, False)):
        ops = [Op(OpKind.PUT, *row) for row in schema_for(schema).key_rows(3, obj)]
        if is_refused:
            with pytest.raises(BadSegment, match="not sealed"):
                sealed(ops, schema=schema)
        else:
            assert list(open_segment(sealed(ops, schema=schema), PUBLIC_KEYS).ops()) == ops
    deletion = Op(OpKind.DELETE, Dbi.KEYDATA, b"\0\0\0\3")
    assert list(open_segment(sealed([deletion]), PUBLIC_KEYS).ops()) == [deletion]
