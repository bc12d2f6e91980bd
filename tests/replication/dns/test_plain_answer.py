"""The fast check of plain answers agrees with dnspython, and never accepts a different RRset."""

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.dns import rdata, rdtypes
from replication.dns.plain_answer import is_plainly
from replication.dns.rdtypes import type_from_text
from replication.verify import Expectation, encode_question

NAME = "www.example.test."
CASES = {
    "A": ["192.0.2.1", "192.0.2.2"],
    "TXT": ['"a" "b"'],
    "SOA": ["ns1.example.test. hostmaster.www.example.test. 7 1 2 3 4"],
    "NS": ["ns1.example.test.", "www.example.test.", "elsewhere.invalid."],
    "MX": ["10 example.test.", "20 a.b.example.test."],
    "SRV": ["1 2 443 www.example.test."],
    "CNAME": ["test."],
    "PTR": ["."],
    "CAA": ['0 issue "ca.example"'],
}


def answer(type: str, texts: list[str], *, ttl: int = 300, name: str = NAME) -> dns.message.Message:
    query = dns.message.from_wire(encode_question(77, NAME, type_from_text(type)))
    message = dns.message.make_response(query)
    message.flags |= dns.flags.AA
    message.answer.append(dns.rrset.from_text(name, ttl, "IN", type, *texts))
    return message


def wires(type: str, texts: list[str]) -> frozenset[bytes]:
    return frozenset(rdata.to_wire(type_from_text(type), text) for text in texts)


def plainly(packet: bytes, type: str, texts: list[str], ttl: int = 300) -> bool:
    return is_plainly(packet, NAME, type_from_text(type), ttl, wires(type, texts))


@pytest.mark.parametrize("type", CASES)
def test_the_rrset_is_known_with_and_without_compression(type: str) -> None:
    message = answer(type, CASES[type])
    compressed = message.to_wire()
    assert plainly(compressed, type, CASES[type])
    assert not plainly(compressed, type, CASES[type], ttl=301)
    assert not plainly(compressed, type, CASES[type][1:])
    assert not is_plainly(compressed, f"x.{NAME}", type_from_text(type), 300, wires(type, CASES[type]))


def test_what_needs_a_closer_look_is_not_plain() -> None:
    texts = CASES["A"]
    for change in ("tc", "rcode", "no aa", "another owner", "two rrsets", "nothing"):
        message = answer("A", texts, name="other.test." if change == "another owner" else NAME)
        if change == "tc":
            message.flags |= dns.flags.TC
        elif change == "rcode":
            message.set_rcode(dns.rcode.SERVFAIL)
        elif change == "no aa":
            message.flags &= ~dns.flags.AA
        elif change == "two rrsets":
            message.answer.append(dns.rrset.from_text(NAME, 300, "IN", "TXT", '"x"'))
        elif change == "nothing":
            message.answer.clear()
        assert not plainly(message.to_wire(), "A", texts), change
    assert not is_plainly(answer("A", texts).to_wire(), NAME, rdtypes.A, 300, frozenset())


@given(st.sampled_from(sorted(CASES)), st.data())
def test_a_packet_that_was_broken_anywhere_is_plain_only_if_dnspython_reads_the_same(
    type: str, data: st.DataObject
) -> None:
    packet = bytearray(answer(type, CASES[type]).to_wire())
    at = data.draw(st.integers(0, len(packet) - 1))
    packet[at] = data.draw(st.integers(0, 255))
    broken = bytes(packet[: data.draw(st.integers(at, len(packet)))])
    if plainly(broken, type, CASES[type]):
        expectation = Expectation(NAME, type_from_text(type), 300, wires(type, CASES[type]))
        try:
            message = dns.message.from_wire(broken, ignore_trailing=True)
        except dns.exception.DNSException:
            return  # invalid after the answer section
        # The rest of a larger rcode is in the OPT record, after the part that is read.
        assert message.rcode() > 15 or expectation.difference(message) is None


@given(st.binary(max_size=80))
def test_any_bytes_are_taken(packet: bytes) -> None:
    assert not plainly(packet, "SOA", CASES["SOA"])
