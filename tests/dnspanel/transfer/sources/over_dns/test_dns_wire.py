import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.tsigkeyring
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.sources.over_dns.dns_wire import BadMessage, Message, Record
from replication.dns import names, rdata
from tests.oracle.corpus import rrsets_of, zone_texts

NAME = "a.test."


def message(*lines: str) -> dns.message.Message:
    response = dns.message.make_response(dns.message.make_query(NAME, "AXFR"))
    response.answer = [dns.rrset.from_text(*line.split(None, 4)[:2], *line.split(None, 4)[2:]) for line in lines]
    return response


def test_every_type_of_the_corpus_comes_as_it_went_in_from_a_compressed_message() -> None:
    known = [
        rrset
        for zone, text in zone_texts().items()
        if zone not in ("large.test.", "long.test.")
        for rrset in rrsets_of(zone, text)
    ]
    for at in range(0, len(known), 40):
        some = known[at : at + 40]
        response = dns.message.make_response(dns.message.make_query(NAME, "AXFR"))
        response.answer = [_rrset(one.name, one.type, one.ttl, one.rdata) for one in some]
        records = list(Message(response.to_wire()).answers())
        expected = [
            Record(one.name, one.type, one.ttl, rdata.to_wire(one.type, text)) for one in some for text in one.rdata
        ]
        assert sorted((*record[:3], rdata.from_wire(record.type, record.rdata)) for record in records) == sorted(
            (*record[:3], rdata.from_wire(record.type, record.rdata)) for record in expected
        )


def _rrset(name: str, type: int, ttl: int, texts: tuple[str, ...]) -> dns.rrset.RRset:
    wires = [rdata.to_wire(type, text) for text in texts]
    found = [dns.rdata.from_wire(dns.rdataclass.IN, type, wire, 0, len(wire)) for wire in wires]
    return dns.rrset.from_rdata_list(dns.name.from_text(name), ttl, found)


def test_compressed_names_of_types_that_dnspython_does_not_know_are_expanded() -> None:
    header = bytes.fromhex("0001 8400 0001 0002 0000 0000")
    question = names.to_wire(NAME) + bytes.fromhex("00fc 0001")
    mailbox = bytes.fromhex("c00c 0007 0001 0000012c 0007 04 6d61696c c00c")
    minfo = bytes.fromhex("c00c 000e 0001 0000012c 0007 c00c 02 7832 c00c")
    records = list(Message(header + question + mailbox + minfo).answers())
    assert records == [
        Record(NAME, 7, 300, names.to_wire("mail.a.test.")),
        Record(NAME, 14, 300, names.to_wire(NAME) + names.to_wire("x2.a.test.")),
    ]


def test_header_question_and_signature_are_found() -> None:
    found = Message(message("a.test. 300 IN A 192.0.2.1").to_wire())
    assert found.is_response
    assert found.rcode == 0
    assert found.question == (NAME, dns.rdatatype.AXFR)
    assert found.signature is None
    signed = message("a.test. 300 IN A 192.0.2.1")
    signed.use_tsig(dns.tsigkeyring.from_text({"key.test.": "c2VjcmV0"}))
    parsed = Message(signed.to_wire())
    assert parsed.signature is not None
    assert parsed.owner(parsed.signature) == "key.test."
    assert [record.type for record in parsed.answers()] == [1]


def test_every_cut_message_is_refused() -> None:
    wire = message("a.test. 300 IN MX 10 mail.a.test.", "www.a.test. 300 IN A 192.0.2.1").to_wire()
    for size in range(len(wire)):
        with pytest.raises(BadMessage):
            list(Message(wire[:size]).answers())
    with pytest.raises(BadMessage, match="extra bytes at the end"):
        Message(wire + b"\0")


@pytest.mark.parametrize("rdata_hex", ["c021", "c0ff", "40", "0361", "c00c00"])
def test_a_name_that_leads_astray_is_refused(rdata_hex: str) -> None:
    header = bytes.fromhex("0001 8400 0001 0001 0000 0000")
    question = names.to_wire(NAME) + bytes.fromhex("00fc 0001")
    # A name whose pointer leads to an early end leaves bytes over, which is invalid.
    body = bytes.fromhex(rdata_hex)
    wire = header + question + bytes.fromhex("c00c 0002 0001 0000012c") + len(body).to_bytes(2, "big") + body
    try:
        (record,) = Message(wire).answers()
    except BadMessage:
        return
    assert rdata_hex == "c00c00"
    with pytest.raises(Exception, match="extra bytes"):
        rdata.from_wire(record.type, record.rdata)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_refused(wire: bytes) -> None:
    try:
        list(Message(wire).answers())
    except BadMessage:
        return


@given(st.data())
def test_a_damaged_message_is_read_or_refused(data: st.DataObject) -> None:
    wire = bytearray(
        message("a.test. 300 IN SOA ns.a.test. x.a.test. 1 2 3 4 5", "b.a.test. 9 IN SRV 1 2 3 a.test.").to_wire()
    )
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    try:
        list(Message(bytes(wire)).answers())
    except BadMessage:
        return
