"""Each release of PowerDNS answers all values that the panel accepts, from rows that dnspanel wrote.

`rules.unreadable` refuses exactly the values that a release cannot read. The tests print counts, which
docs/develop/boundary-values.md lists.
"""

import sys

import dns.message
import dns.rcode
import pytest

from dnspanel.zones.rules import unreadable
from replication.compile import compile_zone
from replication.dns import rdata, rdtypes
from replication.dns.plain_answer import is_plainly
from replication.dns.rrset import RRset, make
from tests.oracle import lmdb_file
from tests.oracle.answers import Asker
from tests.oracle.boundary_values import LAYOUTS, values_of
from tests.oracle.powerdns import PowerDNS

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")

ZONE = "bounds.test."
TTL = 300
# Their answers are computed, come from elsewhere, or are referrals. Here it only matters that the name answers.
_ELSEWHERE = frozenset((rdtypes.ALIAS, rdtypes.LUA, rdtypes.NS, rdtypes.CNAME, rdtypes.DNAME))
_APEX = [
    make(ZONE, rdtypes.SOA, TTL, ["ns1.other.test. hostmaster.other.test. 7 3600 600 86400 60"]),
    make(ZONE, rdtypes.NS, TTL, ["ns1.other.test."]),
]
Case = tuple[str, int, str]  # a unique owner, type and value


def cases() -> list[Case]:
    """Return all boundary values that can be typed, except SOA, which exists only at an apex."""
    found = [(type, text) for type in LAYOUTS if type != rdtypes.SOA for text in dict.fromkeys(values_of(type))]
    return [(f"n{number}.{ZONE}", type, text) for number, (type, text) in enumerate(found)]


def release_of(powerdns: PowerDNS) -> tuple[int, int]:
    major, minor, *_ = powerdns.version.split(".")
    return int(major), int(minor)


def is_refused(case: Case, release: tuple[int, int]) -> bool:
    """Return True if the panel refuses the value when a node has this release."""
    _, type, text = case
    unread = {kind: "not read" for kind, since in unreadable.READ_SINCE.items() if release < since}
    return bool(unreadable.reason_against(type, text, unread))


def fault_of(asker: Asker, case: Case) -> str:
    """Return the fault of the server's answer for a value, or an empty string if it is correct."""
    name, type, text = case
    packet = asker.ask((name, type), 7)
    expected = {rdata.to_wire(type, text)}
    rcode = packet[3] & 15
    if type in _ELSEWHERE:
        return "SERVFAIL" if rcode == dns.rcode.SERVFAIL else ""
    if rcode or is_plainly(packet, name, type, TTL, expected):
        return dns.rcode.to_text(dns.rcode.Rcode(rcode)) if rcode else ""
    answer = dns.message.from_wire(packet).answer
    found = {record.to_digestable() for rrset in answer if int(rrset.rdtype) == type for record in rrset}
    return "" if found == expected else f"answers {sorted(each.hex() for each in found)}"


def test_what_is_taken_is_answered_and_only_what_is_not_answered_is_refused(installation: PowerDNS) -> None:
    """After `CAA 0 issue ""`, nodes answered SERVFAIL for all types at its name while the panel said "in sync"."""
    everything = cases()
    release = release_of(installation)
    rrsets = [*_APEX, *(RRset(name, type, TTL, (text,)) for name, type, text in everything)]
    with installation.place("boundaries") as place:
        lmdb_file.write(place.database, installation.schema, {ZONE: (1, compile_zone(ZONE, rrsets, None))})
        with place.server(direct_dnskey="yes") as port, Asker(port) as asker:
            faults = {case: fault for case in everything if (fault := fault_of(asker, case))}
    refused = {case for case in everything if is_refused(case, release)}
    counts = f"{len(everything)} values, {len(refused)} refused, {len(faults)} unanswered"
    sys.stdout.write(f"PowerDNS {installation.version}: {counts}\n")
    assert {case: faults[case] for case in faults.keys() - refused} == {}
    assert refused - faults.keys() == set()
    assert len(everything) > 15000


def test_every_type_has_its_boundary_values() -> None:
    assert LAYOUTS.keys() >= rdtypes.SERVED_TYPES
    without = {type for type in LAYOUTS if rdtypes.refusal(type) is None and next(iter(values_of(type)), None) is None}
    assert without == set()


@pytest.mark.parametrize("type", sorted(unreadable.TYPES))
def test_of_each_type_that_has_unreadable_values_others_are_taken(type: int) -> None:
    assert any(unreadable.kind_of(type, text) is None for text in values_of(type))
