"""Compressed names: expanded as by dnspython, and refused if pointers loop or leave the message."""

import dns.exception
import dns.name
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.dns import rdtypes
from replication.dns.compression import BadCompression, expand_rdata, name_at

MESSAGE = b"\1a\4test\0" + b"\3www\xc0\x00" + b"\2MX\xc0\x07"


def test_pointers_are_followed_and_letter_case_is_kept() -> None:
    known: dict[int, bytes] = {}
    assert name_at(MESSAGE, 0, known) == (b"\1a\4test\0", 8)
    assert name_at(MESSAGE, 8, known) == (b"\3www\1a\4test\0", 14)
    assert known == {0: b"\1a\4test\0", 8: b"\3www\1a\4test\0"}
    assert name_at(MESSAGE, 14) == (b"\2MX\0", 19)


@pytest.mark.parametrize(
    ("message", "at", "reason"),
    [
        (b"\xc0\x00", 0, "backwards"),
        (b"\1a\xc0\x02\0", 0, "backwards"),
        (b"\x40", 0, "0x40 is not a label length"),
        (b"\x3f" + b"a" * 63 + b"\x3f" + b"b" * 63 + b"\x3f" + b"c" * 63 + b"\x3f" + b"d" * 63 + b"\0", 0, "too long"),
    ],
)
def test_names_that_cannot_be_are_refused(message: bytes, at: int, reason: str) -> None:
    with pytest.raises(BadCompression, match=reason):
        name_at(message, at)


def test_rdata_says_how_much_follows_its_names() -> None:
    soa = b"\xc0\x00\1h\xc0\x00" + bytes(20)
    message = MESSAGE + soa
    expanded, left = expand_rdata(message, len(MESSAGE), len(message), rdtypes.SOA)
    assert (expanded, left) == (b"\1a\4test\0\1h\1a\4test\0" + bytes(20), 20)
    assert expand_rdata(message, 0, 4, rdtypes.TXT) == (message[:4], 0)
    with pytest.raises(BadCompression, match="its record"):
        expand_rdata(message, len(MESSAGE), len(MESSAGE) + 1, rdtypes.NS)


@given(st.binary(max_size=60), st.integers(0, 59))
def test_what_is_read_is_what_dnspython_reads(message: bytes, at: int) -> None:
    try:
        name, behind = name_at(message, at)
    except (BadCompression, IndexError):
        return
    expected, size = dns.name.from_wire(message, at)
    assert (name, behind) == (expected.to_wire(), at + size)
