"""Marks and operations in their wire format: written in pieces, read in runs."""

import io
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.errors import BadSegment
from replication.wire import operations
from replication.wire.operations import (
    MAX_BODY,
    MAX_KEY,
    Body,
    Op,
    OpKind,
    Puts,
    ZoneMark,
    encode_mark,
    encode_op,
    record_puts,
    row_digest,
    rows_digest,
)

LENGTHS = st.one_of(st.integers(1, 300), st.sampled_from([127, 128, 129, 511]))
BODY_LENGTHS = st.one_of(st.integers(0, 300), st.sampled_from([127, 128, 16383, 16384, 70_000]))
OPS = st.builds(
    lambda kind, dbi, size, length, fill: Op(
        kind, dbi, bytes((fill,)) * size, b"" if kind is OpKind.DELETE_PREFIX else bytes((fill,)) * length
    ),
    st.sampled_from([OpKind.PUT, OpKind.PUT, OpKind.PUT, OpKind.DELETE, OpKind.DELETE_PREFIX]),
    st.sampled_from([Dbi.RECORDS, Dbi.RECORDS, Dbi.DOMAINS, Dbi.TSIG_INDEX]),
    LENGTHS,
    BODY_LENGTHS,
    st.integers(0, 255),
)


def deflated(plain: bytes) -> bytes:
    deflate = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(plain) + deflate.flush()


def flattened(body: Body, count: int) -> list[Op]:
    found = []
    for run in body.runs(count):
        found += [Op(OpKind.PUT, run.dbi, *row) for row in run.rows] if isinstance(run, Puts) else [run]
    return found


@settings(max_examples=100, deadline=None)
@given(ops=st.lists(OPS, max_size=40), chunk=st.sampled_from([64, 1000, 1 << 17]))
def test_operations_of_any_length_come_out_as_they_went_in(ops: list[Op], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "_INFLATED_CHUNK", chunk)
        body = Body.of(deflated(b"".join(map(encode_op, ops))))
        assert flattened(body, len(ops)) == ops
        assert body.at_end()


def test_puts_of_one_table_come_together_and_those_of_another_apart() -> None:
    ops = [Op(OpKind.PUT, Dbi.RECORDS, b"key%d" % number, b"body") for number in range(100)]
    ops += [Op(OpKind.PUT, Dbi.DOMAINS, b"%04d" % number, b"object") for number in range(50)]
    ops += [Op(OpKind.DELETE, Dbi.RECORDS, b"gone")]
    runs = list(Body.of(deflated(b"".join(map(encode_op, ops)))).runs(len(ops)))
    assert [(type(run), run.dbi) for run in runs] == [(Puts, Dbi.RECORDS), (Puts, Dbi.DOMAINS), (Op, Dbi.RECORDS)]


def test_no_more_operations_are_read_than_requested() -> None:
    plain = b"".join(encode_op(Op(OpKind.PUT, Dbi.RECORDS, b"key%d" % number, b"body")) for number in range(10))
    body = Body.of(deflated(plain))
    assert len(flattened(body, 9)) == 9
    assert not body.at_end()
    assert flattened(body, 1) == [Op(OpKind.PUT, Dbi.RECORDS, b"key9", b"body")]
    assert body.at_end()


def test_marks_can_be_read_by_the_way_and_skipped() -> None:
    marks = [ZoneMark(number, f"zone{number}.test.", number if number % 3 else None) for number in range(1, 1000)]
    packed = deflated(b"".join(map(encode_mark, marks)) + encode_op(Op(OpKind.DELETE, Dbi.DOMAINS, b"1234")))
    assert list(Body.of(packed).marks(len(marks))) == marks
    assert list(Body.of(packed).marks(len(marks), 16)) == marks[::16]
    assert list(Body.of(packed).serials(len(marks))) == [(mark.zone_id, mark.serial) for mark in marks]
    body = Body.of(packed)
    body.skip_marks(len(marks))
    assert flattened(body, 1) == [Op(OpKind.DELETE, Dbi.DOMAINS, b"1234")]


def test_the_reader_starts_and_stops_where_it_is_told() -> None:
    packed = deflated(encode_op(Op(OpKind.PUT, Dbi.TSIG, b"key", b"body")))
    body = Body(io.BytesIO(b"before" + packed + b"after"), 6, 6 + len(packed))
    assert flattened(body, 1) == [Op(OpKind.PUT, Dbi.TSIG, b"key", b"body")]
    assert body.at_end()


ROWS = st.lists(
    st.tuples(
        st.binary(min_size=1, max_size=200).map(lambda label: label.replace(b"\0", b"x") + b"\0"),
        st.integers(0, 65535),
        BODY_LENGTHS.flatmap(lambda length: st.binary(min_size=1, max_size=1).map(lambda fill: fill * length)),
    ),
    max_size=20,
    unique_by=lambda row: row[:2],
).map(lambda rows: sorted(rows, key=lambda row: keys.record_key(1, *row[:2])))


@settings(deadline=None)
@given(zone_id=st.integers(1, keys.MAX_ZONE_ID - 1), rows=ROWS)
def test_puts_of_a_zone_are_the_operations_and_digests_of_its_rows(
    zone_id: int, rows: list[tuple[bytes, int, bytes]]
) -> None:
    ops = [Op(OpKind.PUT, Dbi.RECORDS, keys.record_key(zone_id, rel, type), body) for rel, type, body in rows]
    puts, digest = record_puts(zone_id, rows)
    assert puts == b"".join(map(encode_op, ops))
    assert digest == sum(row_digest(op.dbi, op.key, op.body) for op in ops)
    assert digest == rows_digest(Dbi.RECORDS, [(op.key, op.body) for op in ops])


@pytest.mark.parametrize("second", [(b"a\0", 1), (b"b\0", 1), (b"b\0", 2)])
def test_rows_of_a_zone_that_are_not_sorted_are_refused(second: tuple[bytes, int]) -> None:
    rows = [(b"b\0", 2, b"first"), (*second, b"second")]
    with pytest.raises(BadSegment, match="the rows of zone 7 are not sorted"):
        record_puts(7, rows)


def test_what_lmdb_cannot_hold_is_refused() -> None:
    with pytest.raises(BadSegment, match="key"):
        record_puts(1, [(b"x" * MAX_KEY, 1, b"body")])
    with pytest.raises(BadSegment, match="body"):
        record_puts(1, [(b"x\0", 1, bytes(MAX_BODY + 1))])
    with pytest.raises(BadSegment, match="key"):
        encode_op(Op(OpKind.PUT, Dbi.RECORDS, b"", b"body"))
