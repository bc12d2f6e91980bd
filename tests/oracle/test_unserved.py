"""The answer of a real pdns_server for a zone that it cannot serve is REFUSED, never SERVFAIL.

By RFC 1034, an expired zone gets SERVFAIL. PowerDNS answers that only for backend errors, so expired zones are removed
from the nodes (`publishing.transferred`).
"""

from collections.abc import Iterator, Sequence

import dns.message
import dns.query
import dns.rcode
import pytest

from replication.codec import values
from replication.codec.values import StoredRecord
from replication.compile import Row, compile_zone
from replication.dns import rdtypes
from replication.dns.rrset import RRset, make
from tests.oracle import lmdb_file
from tests.oracle.powerdns import PowerDNS

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")

SOA = "ns1.other.test. hostmaster.other.test. 7 3600 600 86400 60"


def rrsets_of(zone: str) -> list[RRset]:
    return [
        make(zone, rdtypes.SOA, 300, [SOA]),
        make(zone, rdtypes.NS, 300, ["ns1.other.test."]),
        make(f"www.{zone}", rdtypes.A, 300, ["192.0.2.1"]),
    ]


def without_soa(zone: str) -> list[Row]:
    return [row for row in compile_zone(zone, rrsets_of(zone), None) if row[1] != rdtypes.SOA]


def with_soa(zone: str, *, content: bytes | None = None, disabled: bool = False) -> list[Row]:
    """Return the zone with its SOA replaced or disabled."""

    def other(body: bytes) -> bytes:
        return values.encode_records(
            [
                StoredRecord(record.content if content is None else content, record.ttl, record.auth, disabled)
                for record in values.decode_records(body)
            ]
        )

    rows: Sequence[Row] = compile_zone(zone, rrsets_of(zone), None)
    return [(name, type, other(body) if type == rdtypes.SOA else body) for name, type, body in rows]


@pytest.fixture(scope="module")
def port(installation: PowerDNS) -> Iterator[int]:
    above = [*rrsets_of("above.test."), make("child.above.test.", rdtypes.NS, 300, ["ns1.other.test."])]
    zones = {
        "whole.test.": compile_zone("whole.test.", rrsets_of("whole.test."), None),
        "without-soa.test.": without_soa("without-soa.test."),
        "disabled.test.": with_soa("disabled.test.", disabled=True),
        "empty.test.": [],
        "above.test.": compile_zone("above.test.", above, None),
        "child.above.test.": without_soa("child.above.test."),
        "broken.test.": with_soa("broken.test.", content=b"\x00\x00\x07"),
    }
    with installation.place("unserved") as place:
        numbered = {zone: (number, rows) for number, (zone, rows) in enumerate(zones.items(), start=1)}
        lmdb_file.write(place.database, installation.schema, numbered)
        with place.server() as port:
            yield port


def ask(port: int, name: str, type: str) -> dns.message.Message:
    return dns.query.udp(dns.message.make_query(name, type, flags=0), "127.0.0.1", port=port, timeout=5)


@pytest.mark.parametrize("zone", ["without-soa.test.", "disabled.test.", "empty.test."])
def test_a_zone_that_cannot_be_served_is_refused_as_one_that_is_not_there(port: int, zone: str) -> None:
    assert ask(port, "whole.test.", "SOA").rcode() == dns.rcode.NOERROR
    for name, type in ((zone, "SOA"), (zone, "NS"), (f"www.{zone}", "A"), (f"nothing.{zone}", "TXT")):
        assert ask(port, name, type).rcode() == dns.rcode.REFUSED


def test_where_the_zone_above_is_served_its_delegation_is_answered(port: int) -> None:
    for name, type in (("child.above.test.", "SOA"), ("www.child.above.test.", "A")):
        answer = ask(port, name, type)
        assert (answer.rcode(), list(answer.answer)) == (dns.rcode.NOERROR, [])
        assert [rrset.name.to_text() for rrset in answer.authority] == ["child.above.test."]


def test_only_an_error_of_the_backend_is_servfail(port: int) -> None:
    assert ask(port, "broken.test.", "SOA").rcode() == dns.rcode.SERVFAIL
    assert ask(port, "whole.test.", "SOA").rcode() == dns.rcode.NOERROR
