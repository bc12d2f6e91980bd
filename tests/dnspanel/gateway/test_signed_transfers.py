"""Tests of transfers of signed zones, which pass on ring 0's answer, never one older than the published zone.

A BIND replaces ring 0's PowerDNS. `tests/flow/test_secondaries.py` uses PowerDNS and validates the answers.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import dns.message
import dns.rcode
import pytest
from django.db.models import F

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node
from dnspanel.fleet.reads.queries import head
from dnspanel.gateway import signed_transfers, to_secondaries
from dnspanel.gateway.errors import MessageRefused
from dnspanel.secondaries import members
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from tests.dnspanel.fleet.conftest import create_active_node
from tests.dnspanel.gateway.conftest import replies
from tests.dnspanel.gateway.test_to_secondaries import change, rcode_of, records, transfer_question
from tests.dnspanel.gateway.test_to_secondaries import signed as signed_message
from tests.dnspanel.secondaries.conftest import ADDRESS, key_of
from tests.dnspanel.secondaries.conftest import make_secondary as make_secondary
from tests.dnspanel.secondaries.conftest import secondary as secondary
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.signzone import signed_text

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = "example.test."
SERIAL = 4711
TEXT = f"""$ORIGIN {ZONE}
$TTL 300
@ SOA ns1.{ZONE} hostmaster.{ZONE} {SERIAL} 10800 3600 604800 300
@ NS ns1
ns1 A 192.0.2.53
www A 192.0.2.1
"""


@pytest.fixture(scope="module")
def ring0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("signed")
    served: Path = tmp_path_factory.mktemp("ring0")
    with named(served, {ZONE: signed_text(ZONE, TEXT, folder)}) as port:
        yield port


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed_transfers, "PATIENCE", 0.1)


@pytest.fixture
def signed_zone(zone: Zone, ring0: int, secondary: Secondary) -> Zone:
    """Sign the zone in the panel, and serve it signed at ring 0 with the published serial."""
    create_active_node("ring0")
    Node.objects.update(is_ring0=True, dns_address="127.0.0.1", dns_port=ring0)
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    Node.objects.update(epoch=head().epoch, acked=head().sequence)
    Zone.objects.update(serial=SERIAL)
    members.note_publications(now=NOW)
    zone.refresh_from_db()
    return zone


def refusal(secondary: Secondary, since: int | None = None) -> str:
    return rcode_of(signed_message(transfer_question(ZONE, since), key_of(secondary)))


def test_one_that_is_signed_after_it_was_looked_up_is_not_given_without_signatures(zone: Zone) -> None:
    looked_up = Zone.objects.select_related("signing").get(pk=zone.pk)
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    with pytest.raises(MessageRefused, match="doesn’t have a canary to sign"):
        to_secondaries.transfer_of_zone(looked_up, None).__enter__()


def test_it_is_passed_on_with_every_signature_and_noted(signed_zone: Zone, secondary: Secondary) -> None:
    found = records(secondary)
    assert found[0] == found[-1]
    kinds = [text.split()[3] for text in found]
    assert kinds.count("RRSIG") == kinds.count("NSEC") + 5, "of each name's NSEC, and of five RRsets"
    assert "www.example.test. 300 IN A 192.0.2.1" in found
    member = Member.objects.get(until=None)
    assert (member.transferred_serial, member.transferred_how) == (SERIAL, "AXFR")


def test_an_ixfr_gets_all_of_it_or_the_soa_alone(signed_zone: Zone, secondary: Secondary) -> None:
    assert len(records(secondary, since=SERIAL - 1)) > 10
    assert len(records(secondary, since=SERIAL)) == 1
    assert len(records(secondary, since=SERIAL - 1, over_tcp=False)) == 1


def test_what_ring_0_lacks_is_not_given_and_told_of_again(signed_zone: Zone, secondary: Secondary) -> None:
    Zone.objects.update(serial=SERIAL + 1)
    Member.objects.update(notify_at=None)
    assert refusal(secondary) == "SERVFAIL"
    assert Member.objects.get(until=None).notify_at == NOW + timedelta(seconds=10)
    Zone.objects.update(serial=SERIAL - 1)  # now ring 0 has the published serial
    assert len(records(secondary)) > 10


@pytest.mark.parametrize("lacking", [{"acked": F("acked") - 1}, {"epoch": uuid4()}])
def test_what_ring_0_has_not_proved_is_not_given_though_its_serial_is_there(
    signed_zone: Zone, secondary: Secondary, alice: User, lacking: dict[str, Any]
) -> None:
    Node.objects.update(**lacking)
    assert refusal(secondary) == "SERVFAIL"
    Node.objects.update(epoch=head().epoch, acked=head().sequence)
    # Changed records don't change the signing settings, so such zones are transferred at any rate of edits.
    change(signed_zone, alice, {("www.example.test.", rdtypes.A): rr("www 300 A 192.0.2.9")})
    Zone.objects.update(serial=SERIAL)
    assert len(records(secondary)) > 10


def test_who_waits_already_leaves_no_place_for_others(
    signed_zone: Zone, secondary: Secondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed_transfers, "PATIENCE", 60)
    monkeypatch.setattr(signed_transfers, "_waiting", signed_transfers.threading.BoundedSemaphore(1))
    Zone.objects.update(serial=SERIAL + 1)
    with signed_transfers._waiting:
        assert refusal(secondary) == "SERVFAIL"


def test_a_ring_0_that_does_not_answer_gives_nothing(signed_zone: Zone, secondary: Secondary) -> None:
    Node.objects.update(dns_port=1)
    assert refusal(secondary) == "SERVFAIL"


def test_narrow_nsec3_and_no_ring_0_are_refused_with_the_reason(
    signed_zone: Zone, secondary: Secondary, alice: User
) -> None:
    assert Member.objects.filter(until=None).count() == 1
    sign.settle(
        zone=signed_zone,
        requested=sign.RequestedSigning(True, True, Nsec3(0, b"", False, narrow=True)),
        acting=Acting(None, Channel.SYSTEM, NOW),
    )
    assert refusal(secondary) == "REFUSED"
    secondary.refresh_from_db()
    assert "narrow NSEC3" in secondary.refused_reason
    members.note_publications(now=NOW)
    assert not Member.objects.filter(until=None).exists(), "its catalog does not list the zone any more"
    Node.objects.update(is_ring0=False)
    assert refusal(secondary) == "REFUSED"
    secondary.refresh_from_db()
    assert "there is no canary" in secondary.refused_reason


def test_a_message_of_the_zone_is_no_answer_to_a_stranger(signed_zone: Zone) -> None:
    (wire,) = replies(transfer_question(ZONE).to_wire(), over_tcp=True, address=ADDRESS)
    assert dns.message.from_wire(wire).rcode() == dns.rcode.REFUSED
