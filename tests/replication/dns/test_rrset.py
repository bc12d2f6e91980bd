"""Tests of RRsets and serials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.dns import rrset
from replication.dns.rdtypes import CNAME, MX, SOA, TXT, A
from replication.dns.rrset import Notes, RRset, Serial
from replication.errors import BadName, BadRdata, BadRRset

ZONE = "example.test."
SERIALS = st.builds(Serial, st.integers(0, 2**32 - 1))


def test_an_rrset_is_canonical_sorted_and_without_duplicates() -> None:
    made = rrset.make("WWW", A, 300, ["192.0.2.10", "192.0.2.9", "192.0.2.10"], origin=ZONE)
    assert made == RRset("www.example.test.", A, 300, ("192.0.2.9", "192.0.2.10"))


def test_values_that_differ_only_in_letter_case_are_one() -> None:
    """The last value is kept, because a person who adds an existing value wants its new spelling."""
    assert rrset.make("@", MX, 300, ["10 Mail", "10 mail.EXAMPLE.test."], origin=ZONE).rdata == (
        "10 mail.EXAMPLE.test.",
    )


def test_a_value_is_disabled_removed_and_noted_in_whatever_capitals() -> None:
    notes = Notes.create((), {"10 MAIL.example.test.": "ours"})
    made = rrset.make("@", MX, 300, ["10 Mail", "20 Other"], ["10 mAIL"], origin=ZONE, notes=notes)
    assert made.disabled == ("10 Mail.example.test.",)
    assert made.notes.comments == (("10 Mail.example.test.", "ours"),)
    left = made.without(["10 mail.example.test."])
    assert left is not None
    assert (left.rdata, left.disabled, left.notes.comments) == (("20 Other.example.test.",), (), ())
    assert made.without(["20 OTHER.example.test.", "10 mail.example.test."]) is None


def test_rrsets_that_differ_only_in_capitals_fold_to_the_same() -> None:
    notes = [Notes.create((), {value: "ours"}) for value in ("10 B.test.", "10 b.test.")]
    one = rrset.make("@", MX, 300, ["10 B.test.", "10 a.test."], ["10 B.test."], origin=ZONE, notes=notes[0])
    other = rrset.make("@", MX, 300, ["10 A.test.", "10 b.test."], ["10 b.test."], origin=ZONE, notes=notes[1])
    assert one != other
    assert one.folded == other.folded
    assert one.folded.rdata == ("10 a.test.", "10 b.test.")
    text = rrset.make("@", TXT, 300, ['"A"'], origin=ZONE)
    assert text.folded is text


def test_disabled_values_are_kept_and_not_served() -> None:
    made = rrset.make("www", A, 300, ["192.0.2.2", "192.0.2.1"], disabled=["192.0.2.2"], origin=ZONE)
    assert made.disabled == ("192.0.2.2",)
    assert made.served == ("192.0.2.1",)


def test_json_leads_back() -> None:
    made = rrset.make("www", A, 300, ["192.0.2.2", "192.0.2.1"], ["192.0.2.1"], "two", ZONE)
    assert RRset.from_json(made.name, made.type, made.to_json()) == made


def test_two_cnames_at_one_name_are_refused_unless_only_one_is_served() -> None:
    with pytest.raises(BadRRset, match="only one CNAME"):
        rrset.make("www", CNAME, 300, ["a", "b"], origin=ZONE)
    assert rrset.make("www", CNAME, 300, ["a", "b"], disabled=["a"], origin=ZONE).served == ("b.example.test.",)


@pytest.mark.parametrize("ttl", [-1, 2**31])
def test_ttls_outside_rfc_2181_are_refused(ttl: int) -> None:
    with pytest.raises(BadRRset, match="out of range"):
        rrset.make("www", A, ttl, ["192.0.2.1"], origin=ZONE)


def test_an_rrset_without_values_is_refused() -> None:
    with pytest.raises(BadRRset, match="doesn’t have a value"):
        rrset.make("www", A, 300, [], origin=ZONE)


def test_a_disabled_value_that_is_missing_is_refused() -> None:
    with pytest.raises(BadRRset, match="missing from the values"):
        rrset.make("www", A, 300, ["192.0.2.1"], disabled=["192.0.2.2"], origin=ZONE)


def test_an_rrset_that_fits_no_dns_message_is_refused() -> None:
    texts = [f'"{n:05}{"x" * 250}"' for n in range(245)]
    assert len(rrset.make("big", TXT, 300, texts[:243], origin=ZONE).rdata) == 243
    with pytest.raises(BadRRset, match="can have at most 65535"):
        rrset.make("big", TXT, 300, texts, origin=ZONE)


def test_bad_parts_are_refused_as_what_they_are() -> None:
    with pytest.raises(BadName):
        rrset.make("a..b", A, 300, ["192.0.2.1"], origin=ZONE)
    with pytest.raises(BadRdata):
        rrset.make("www", A, 300, ["192.0.2.300"], origin=ZONE)
    with pytest.raises(BadRdata, match="NSEC"):
        rrset.make("www", 47, 300, ["a. A"], origin=ZONE)


def test_a_soa_is_single() -> None:
    soa = "ns hostmaster {} 2 3 4 5"
    with pytest.raises(BadRRset, match="only one SOA"):
        rrset.make("@", SOA, 300, [soa.format(1), soa.format(2)], origin=ZONE)


def test_serials_wrap_around() -> None:
    assert Serial(2**32 - 1) < Serial(1)
    assert Serial(5) > Serial(2**32 - 5)
    assert Serial(2**32 - 1).next == Serial(1)
    assert Serial(0).next == Serial(1)


@given(SERIALS, SERIALS)
def test_serials_compare_one_way_or_not_at_all(one: Serial, other: Serial) -> None:
    assert not (one < other and one > other)
    assert (one < other or one > other) == (one != other and abs(one.value - other.value) != 2**31)
    assert (one <= other) == (one < other or one == other)
    assert (one >= other) == (one > other or one == other)
    assert one < one.next


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_serial_has_32_bits(value: int) -> None:
    with pytest.raises(ValueError, match="must be from 0 to"):
        Serial(value)
