"""Tests of proofs that a name has no DS, with artificial NSEC and NSEC3 records. `test_chain` uses real ones."""

import dns.dnssec
import dns.name
import dns.rrset
import pytest

from dnspanel.fleet.dnssec.denied_ds import MOST_ITERATIONS, MOST_RECORDS, Denial, Unproven, denial_of_ds

ZONE = dns.name.from_text("test.")
NOTHING = "no proof that b.test. doesn’t have a DS"
_NUMBERS = "0123456789ABCDEFGHIJKLMNOPQRSTUV"


def nsec(owner: str, text: str) -> dns.rrset.RRset:
    return dns.rrset.from_text(owner, 60, "IN", "NSEC", text)


def hash_of(name: str, *, iterations: int = 0, salt: str = "") -> str:
    return dns.dnssec.nsec3_hash(name, salt, iterations, 1)


def beside(hash: str, step: int) -> str:
    """Return the NSEC3 hash directly before (-1) or after (1) this one."""
    number = int(hash, 32) + step
    return "".join(_NUMBERS[number >> 5 * at & 31] for at in reversed(range(32)))


def nsec3_at(
    name: str, types: str, *, flags: int = 0, iterations: int = 0, salt: str = "", algorithm: int = 1
) -> dns.rrset.RRset:
    """Return the NSEC3 record that matches the name."""
    hash = hash_of(name, iterations=iterations, salt=salt)
    text = f"{algorithm} {flags} {iterations} {salt or '-'} {beside(hash, 1)} {types}"
    return dns.rrset.from_text(f"{hash}.test.", 60, "IN", "NSEC3", text)


def nsec3_over(name: str, *, flags: int = 0, salt: str = "") -> dns.rrset.RRset:
    """Return an NSEC3 record that covers the name."""
    hash = hash_of(name, salt=salt)
    text = f"1 {flags} 0 {salt or '-'} {beside(hash, 1)} NS"
    return dns.rrset.from_text(f"{beside(hash, -1)}.test.", 60, "IN", "NSEC3", text)


APEX = nsec3_at("test.", "NS SOA RRSIG DNSKEY NSEC3PARAM")
LAST = dns.rrset.from_text(f"{'0' * 32}.test.", 60, "IN", "NSEC3", f"1 0 0 - {'0' * 32} A")


def last_before(name: str) -> dns.rrset.RRset:
    """Return the last NSEC3 record of a chain whose first name is this one."""
    return dns.rrset.from_text(f"{'V' * 32}.test.", 60, "IN", "NSEC3", f"1 0 0 - {hash_of(name)} A")


def found(*rrsets: dns.rrset.RRset, name: str = "b.test.") -> Denial | str:
    try:
        return denial_of_ds(dns.name.from_text(name), ZONE, rrsets)
    except Unproven as exc:
        return str(exc)


@pytest.mark.parametrize(
    ("owner", "text", "expected"),
    [
        ("b.test.", "c.test. NS RRSIG NSEC", Denial.UNSIGNED),
        ("B.TEST.", "c.test. NS RRSIG NSEC", Denial.UNSIGNED),
        ("b.test.", "c.test. A RRSIG NSEC", Denial.NO_DELEGATION),
        ("b.test.", "c.test. NS CERT", Denial.UNSIGNED),  # its bitmap ends a byte before the DS bit
        ("b.test.", "c.test. NS DS RRSIG NSEC", "the NSEC for b.test. shows that a DS exists"),
        ("b.test.", "c.test. CNAME RRSIG NSEC", "the NSEC for b.test. shows that a CNAME exists"),
        (
            "b.test.",
            "c.test. NS SOA RRSIG NSEC",
            "the NSEC for b.test. is from the apex, so it can’t deny a DS",
        ),
        ("a.test.", "c.test. A RRSIG NSEC", Denial.NO_DELEGATION),
        ("a.test.", "c.b.test. A RRSIG NSEC", Denial.NO_DELEGATION),  # an empty non-terminal
        ("a.test.", "test. NS RRSIG NSEC", Denial.NO_DELEGATION),  # the last name
        ("test.", "c.test. NS SOA RRSIG NSEC", Denial.NO_DELEGATION),
        ("test.", "c.test. NS SOA DNAME RRSIG NSEC", NOTHING),
        ("a.test.", "b.test. A RRSIG NSEC", NOTHING),
        ("c.test.", "d.test. A RRSIG NSEC", NOTHING),
        ("c.test.", "test. A RRSIG NSEC", NOTHING),
        ("a.example.", "c.example. A RRSIG NSEC", NOTHING),
    ],
)
def test_an_nsec_proves(owner: str, text: str, expected: Denial | str) -> None:
    assert found(nsec(owner, text)) == expected


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("A", Denial.NO_DELEGATION),
        ("NS", "no proof that x.b.test. doesn’t have a DS"),
        ("NS DS", "no proof that x.b.test. doesn’t have a DS"),
        ("DNAME", "no proof that x.b.test. doesn’t have a DS"),
        ("NS SOA", Denial.NO_DELEGATION),
    ],
)
def test_of_what_is_below_a_cut_or_a_dname_the_zone_above_proves_nothing(types: str, expected: Denial | str) -> None:
    """RFC 6840 section 4.1 forbids such proofs."""
    assert found(nsec("b.test.", f"c.test. {types} RRSIG NSEC"), name="x.b.test.") == expected
    assert found(nsec3_at("b.test.", types), nsec3_over("x.b.test."), name="x.b.test.") == expected


@pytest.mark.parametrize(
    ("rrsets", "expected"),
    [
        ([nsec3_at("b.test.", "NS")], Denial.UNSIGNED),
        ([nsec3_at("b.test.", "NS", flags=1)], Denial.UNSIGNED),
        ([nsec3_at("b.test.", "A RRSIG")], Denial.NO_DELEGATION),
        ([nsec3_at("b.test.", "")], Denial.NO_DELEGATION),  # an empty non-terminal
        ([nsec3_at("b.test.", "NS DS RRSIG")], "the NSEC3 for b.test. shows that a DS exists"),
        ([nsec3_at("b.test.", "NS SOA")], "the NSEC3 for b.test. is from the apex, so it can’t deny a DS"),
        ([APEX, nsec3_over("b.test.")], Denial.NO_DELEGATION),
        ([APEX, nsec3_over("b.test.", flags=1)], Denial.OPT_OUT),
        ([APEX, LAST], Denial.NO_DELEGATION),
        # The chain's last record points to the name itself, so the name exists.
        ([APEX, last_before("b.test.")], NOTHING),
        ([APEX], NOTHING),
        ([nsec3_over("b.test.", flags=1)], NOTHING),  # the closest encloser is missing
        ([APEX, nsec3_over("c.test.", flags=1)], NOTHING),
        ([nsec3_at("b.test.", "NS", flags=2)], NOTHING),
        ([nsec3_at("b.test.", "NS", algorithm=2)], NOTHING),
        ([nsec3_at("b.test.", "NS", algorithm=2), APEX], NOTHING),
        ([nsec3_at("b.test.", "NS", iterations=MOST_ITERATIONS)], Denial.UNSIGNED),
        ([nsec3_at("b.test.", "NS", iterations=MOST_ITERATIONS + 1)], Denial.ITERATIONS),
        ([nsec3_at("b.test.", "NS", salt="abcd")], Denial.UNSIGNED),
        (
            [APEX, nsec3_over("b.test.", flags=1, salt="abcd")],
            "the NSEC3 records that deny a DS for b.test. have different parameters",
        ),
        ([], NOTHING),
        (
            [nsec(f"n{number}.test.", "z.test. A") for number in range(MOST_RECORDS + 1)],
            "the denial of a DS for b.test. has more than 8 NSEC and NSEC3 records",
        ),
        ([nsec(f"n{number}.test.", "z.test. A") for number in range(MOST_RECORDS)], NOTHING),
    ],
)
def test_nsec3_records_prove(rrsets: list[dns.rrset.RRset], expected: Denial | str) -> None:
    assert found(*rrsets) == expected


def test_what_lies_above_an_opt_out_is_the_next_closer_name() -> None:
    """An empty non-terminal between unsigned delegations has no NSEC3, so the opt-out record covers its name."""
    rrsets = [APEX, nsec3_over("b.test.", flags=1)]
    assert found(*rrsets, name="x.b.test.") is Denial.OPT_OUT
    assert (
        found(APEX, nsec3_over("x.b.test.", flags=1), name="x.b.test.") == "no proof that x.b.test. doesn’t have a DS"
    )


@pytest.mark.parametrize(
    "owner", ["nothing.test.", f"{'Z' * 32}.test.", "00.test.", f"x.{hash_of('b.test.')}.test.", "test."]
)
def test_what_is_no_hash_of_the_zone_proves_nothing(owner: str) -> None:
    rrset = dns.rrset.from_text(owner, 60, "IN", "NSEC3", f"1 0 0 - {hash_of('c.test.')} NS")
    assert found(rrset) == NOTHING


def test_a_next_hash_of_another_length_proves_nothing() -> None:
    assert found(APEX, dns.rrset.from_text(f"{'0' * 32}.test.", 60, "IN", "NSEC3", "1 0 0 - VVVVVVVV A")) == NOTHING


def test_two_records_at_one_name_prove_nothing() -> None:
    both = nsec3_at("b.test.", "NS")
    both.add(nsec3_at("b.test.", "A")[0])
    assert found(both) == NOTHING
