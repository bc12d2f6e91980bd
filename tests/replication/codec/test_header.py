"""Tests of the codec of the Lightning Stream header."""

import pytest

from replication.codec import header
from replication.codec.header import Header
from replication.errors import BadBytes
from tests.golden.vectors import GOLDEN


def test_the_header_is_what_powerdns_writes() -> None:
    written, rest = header.decode_header(GOLDEN["header_written"] + b"body")
    assert rest == b"body"
    assert written == Header(time_ns=0x18E9FD54653327E5, txn_id=11)
    assert header.encode_header(written.time_ns, written.txn_id) == GOLDEN["header_written"]


def test_a_deleted_row_is_marked() -> None:
    deleted, rest = header.decode_header(GOLDEN["header_deleted"])
    assert (deleted.deleted, rest) == (True, b"")
    assert header.encode_header(deleted.time_ns, deleted.txn_id, deleted=True) == GOLDEN["header_deleted"]


def test_extension_blocks_are_skipped() -> None:
    extended = GOLDEN["header_written"][:-1] + b"\2" + bytes(16)
    assert header.decode_header(extended + b"body")[1] == b"body"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        GOLDEN["header_written"][:23],
        GOLDEN["header_written"][:16] + b"\1" + GOLDEN["header_written"][17:],  # version 1
        GOLDEN["header_written"][:-1] + b"\1",  # one extension block, absent
    ],
)
def test_a_damaged_header_is_refused(value: bytes) -> None:
    with pytest.raises(BadBytes):
        header.decode_header(value)
