"""Tests of the codec of values in the records table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec import values
from replication.codec.values import StoredRecord
from replication.dns.rdtypes import MINFO, MX, NS, SOA, A
from replication.errors import BadBytes
from tests.golden.vectors import GOLDEN

RECORD = st.builds(
    StoredRecord, st.binary(max_size=300), st.integers(0, 2**31 - 1), st.booleans(), st.booleans(), st.booleans()
)


def test_rrsets_are_what_powerdns_writes() -> None:
    assert values.encode_rrset([bytes((192, 0, 2, 1))], 3600, auth=True) == GOLDEN["record_a"]
    two = values.encode_rrset([bytes((192, 0, 2, 3)), bytes((192, 0, 2, 4))], 300, auth=True)
    assert two == GOLDEN["rrset_two_a"]
    assert values.encode_ent(auth=True) == GOLDEN["ent"]


@given(st.lists(RECORD, min_size=1, max_size=4))
def test_records_are_decoded_as_they_were_encoded(records: list[StoredRecord]) -> None:
    assert values.decode_records(values.encode_records(records)) == tuple(records)


@given(st.lists(RECORD, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_the_flags_of_a_row_can_be_read_and_replaced(records: list[StoredRecord], auth: bool, ordername: bool) -> None:
    body = values.with_flags(values.encode_records(records), auth=auth, ordername=ordername)
    assert values.first_flags(body) == (auth, ordername)
    assert body == values.encode_records([StoredRecord(r.content, r.ttl, auth, r.disabled, ordername) for r in records])


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(body: bytes) -> None:
    try:
        records = values.decode_records(body)
    except BadBytes:
        return
    assert values.encode_records(records) == body


def test_names_that_powerdns_compressed_are_read() -> None:
    (record,) = values.decode_records(GOLDEN["record_mx_compressed"])
    full = values.decompress(MX, record.content, "example.com.", "example.com.")
    assert full == b"\0\x0a\4mail\7example\3com\0"


def test_a_second_name_may_point_into_the_first() -> None:
    # Owner `a.test.` takes 8 bytes at offset 17, its record's fixed part 10: the content begins at 35.
    content = b"\3one\xc0\x11" + b"\3two\xc0\x23"
    assert values.decompress(MINFO, content, "a.test.", "a.test.") == b"\3one\1a\4test\0\3two\3one\1a\4test\0"


def test_letter_case_and_numbers_are_kept() -> None:
    content = b"\2Ns\xc0\x11\4Mail\xc0\x11" + bytes(range(20))
    assert values.decompress(SOA, content, "a.test.", "a.test.") == (
        b"\2Ns\1a\4test\0\4Mail\1a\4test\0" + bytes(range(20))
    )


@pytest.mark.parametrize("content", [b"", b"\xc0", b"\xc0\x23", b"\xc0\xff", b"\3ab", b"\x41a\0", b"\1a\0\0"])
def test_a_damaged_name_is_refused(content: bytes) -> None:
    with pytest.raises(BadBytes):
        values.decompress(NS, content, "a.test.", "a.test.")


def test_other_types_are_left_alone() -> None:
    assert values.decompress(A, b"\xc0\x11\xc0\x11", "a.test.", "a.test.") == b"\xc0\x11\xc0\x11"
