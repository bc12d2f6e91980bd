"""Tests of keyless transfers, full and incremental, which only the networks in a zone's list get."""

import dns.message
import dns.rcode
import dns.zone
import pytest

from dnspanel.accounts.models import User
from dnspanel.gateway import address_acl
from dnspanel.gateway.rate_limits import Rates
from dnspanel.secondaries import keyless
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.gateway.conftest import replies
from tests.dnspanel.gateway.test_to_secondaries import put, transfer_question
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

INSIDE, OUTSIDE = "192.0.2.53", "198.51.100.1"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_acl, "_rates", Rates())


@pytest.fixture
def open_zone(zone: Zone, alice: User) -> Zone:
    keyless.open_to(zone=zone, networks=["192.0.2.0/24"], by=alice, now=NOW)
    return zone


def answer(query: dns.message.Message, *, address: str = INSIDE, over_tcp: bool = True) -> dns.message.Message:
    (wire,) = replies(query.to_wire(), address=address, over_tcp=over_tcp)
    return dns.message.from_wire(wire, xfr=True, one_rr_per_rrset=True)


def rcode(query: dns.message.Message, *, address: str = INSIDE, over_tcp: bool = True) -> str:
    return dns.rcode.to_text(answer(query, address=address, over_tcp=over_tcp).rcode())


def test_who_is_within_gets_the_zone_and_who_is_not_nothing(open_zone: Zone) -> None:
    found = [rrset.to_text() for rrset in answer(transfer_question(open_zone.name)).answer]
    assert found[0] == found[-1]
    assert "www.example.test. 300 IN A 192.0.2.1" in found
    assert rcode(transfer_question(open_zone.name), address=OUTSIDE) == "REFUSED"
    assert rcode(transfer_question("none.test.")) == "REFUSED"
    assert rcode(transfer_question(open_zone.name), over_tcp=False) == "REFUSED"


def test_what_changed_is_told_alone_and_over_udp_that_something_did(open_zone: Zone, alice: User) -> None:
    since = open_zone.serial
    put(open_zone, alice, "www 300 A 192.0.2.7")
    new, old, *rest = [rrset.to_text() for rrset in answer(transfer_question(open_zone.name, since)).answer]
    assert (old.split()[6], rest.count(new), rest[-1]) == (str(since), 2, new)
    assert rest[rest.index(new) + 1 : -1] == ["www.example.test. 300 IN A 192.0.2.7"]
    [soa] = answer(transfer_question(open_zone.name, since), over_tcp=False).answer
    assert soa.to_text() == new


def test_a_zone_that_the_nodes_sign_is_given_to_nobody(open_zone: Zone) -> None:
    sign.sign(zones=[open_zone], acting=Acting(None, Channel.API, NOW))
    assert rcode(transfer_question(open_zone.name)) == "REFUSED"


def test_an_address_that_asks_without_end_is_refused(open_zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_acl, "BURST", 2)
    rcodes = [rcode(transfer_question(open_zone.name)) for _ in range(3)]
    assert rcodes == ["NOERROR", "NOERROR", "REFUSED"]
    assert rcode(transfer_question(open_zone.name), address="192.0.2.54") == "NOERROR"
