"""Tests of transfers with tokens' keys and with keys named over API v1. Signed zones are sent signed or refused."""

import dns.message
import dns.rcode
import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node
from dnspanel.secondaries.models import KeyTransfer
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, TsigAct, Zone
from dnspanel.zones.rights import tsig_permissions
from dnspanel.zones.signing import sign
from replication.dns import rdtypes
from tests.dnspanel.gateway.conftest import Key, MakeKey, replies
from tests.dnspanel.gateway.test_signed_transfers import SERIAL
from tests.dnspanel.gateway.test_signed_transfers import impatient as impatient
from tests.dnspanel.gateway.test_signed_transfers import ring0 as ring0
from tests.dnspanel.gateway.test_signed_transfers import signed_zone as signed_zone
from tests.dnspanel.gateway.test_to_secondaries import change, put, transfer_question
from tests.dnspanel.secondaries.conftest import make_secondary as make_secondary
from tests.dnspanel.secondaries.conftest import secondary as secondary
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

ONLY_A = Grant(EVERY_RIGHT, everywhere=True, types=frozenset({rdtypes.A}))


def transferred(key: Key, zone: Zone, since: int | None = None) -> list[str]:
    """Return the records of the answer, which is one message."""
    query = transfer_question(zone.name, since)
    (wire,) = replies(key.sign(query), over_tcp=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", NOW.timestamp)
        reply = dns.message.from_wire(
            wire, keyring=key.tsig, request_mac=query.mac, xfr=True, multi=True, one_rr_per_rrset=True
        )
    assert reply.rcode() == dns.rcode.NOERROR, reply
    return [rrset.to_text() for rrset in reply.answer]


def refusal(key: Key, zone: Zone, since: int | None = None) -> tuple[str, str]:
    """Return the rcode and the EDNS error text of the refusal."""
    query = transfer_question(zone.name, since)
    query.use_edns(0)
    reply = key.ask(query, over_tcp=True)
    return dns.rcode.to_text(reply.rcode()), " ".join(option.to_text() for option in reply.options)


@pytest.fixture
def named_key(make_key: MakeKey, signed_zone: Zone) -> Key:
    """Return a key that can only do what a zone's TSIG-ALLOW-AXFR allows, like a key made over API v1."""
    made = make_key("v1.test.")
    type(made.token).objects.filter(pk=made.token.pk).update(needs_permission=True)
    tsig_permissions.replace_key_names(zone=signed_zone, act=TsigAct.TRANSFER, key_names=["v1.test."])
    return made


@pytest.mark.parametrize("since", [None, SERIAL - 1])
@pytest.mark.parametrize("which", ["key", "named_key"])
def test_a_signed_zone_leaves_with_every_signature_as_axfr_and_as_ixfr(
    signed_zone: Zone, request: pytest.FixtureRequest, which: str, since: int | None
) -> None:
    found = transferred(request.getfixturevalue(which), signed_zone, since)
    kinds = [text.split()[3] for text in found]
    assert found[0] == found[-1]
    assert kinds.count("RRSIG") == kinds.count("NSEC") + 5, "of each name's NSEC, and of five RRsets"
    assert "DNSKEY" in kinds
    assert KeyTransfer.objects.get().zone == signed_zone, "it will have the signatures of the next week too"


def test_who_has_the_serial_gets_the_soa_alone(signed_zone: Zone, key: Key) -> None:
    assert len(transferred(key, signed_zone, SERIAL)) == 1
    assert not KeyTransfer.objects.exists()


def test_without_a_ring_0_that_has_it_a_signed_zone_is_not_given(signed_zone: Zone, key: Key) -> None:
    Zone.objects.update(serial=SERIAL + 1)
    code, reason = refusal(key, signed_zone)
    assert (code, "the canary has serial" in reason) == ("SERVFAIL", True)
    Node.objects.update(is_ring0=False)
    code, reason = refusal(key, signed_zone)
    assert (code, "there is no canary to sign the transfer" in reason) == ("REFUSED", True)


def test_a_part_of_a_signed_zone_is_not_given_and_a_part_of_any_other_is(
    signed_zone: Zone, make_key: MakeKey, alice: User
) -> None:
    narrow = make_key("narrow.test.", scope=(ONLY_A,))
    code, reason = refusal(narrow, signed_zone)
    assert (code, "partial transfers can’t be signed" in reason) == ("REFUSED", True)
    sign.unsign(zones=[signed_zone], acting=Acting(None, Channel.SYSTEM, NOW))
    signed_zone.refresh_from_db()
    since = signed_zone.serial
    put(signed_zone, alice, "www 300 A 192.0.2.7", "@ 300 MX 20 mail")
    for start in (None, since):
        kinds = [text.split()[3] for text in transferred(narrow, signed_zone, start)]
        assert set(kinds[1:-1]) == {"A"}, "the whole part, since changes may be about the rest"
        assert (kinds[0], kinds[-1]) == ("SOA", "SOA")


def test_a_zone_that_is_signed_no_more_is_given_as_a_whole_once_and_then_as_changes(
    zone: Zone, key: Key, alice: User
) -> None:
    """Regression test: the incremental transfer didn't delete DNSKEY, RRSIG and NSEC, so secondaries kept them."""
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    zone.refresh_from_db()
    since = zone.serial
    sign.unsign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    zone = put(zone, alice, "www 300 A 192.0.2.7")
    assert "example.test. 3600 IN NS ns1.example.net." in transferred(key, zone, since), "all of it, not a difference"
    since = zone.serial
    zone = change(zone, alice, {("www.example.test.", rdtypes.A): rr("www 300 A 192.0.2.8")})
    new, old, *rest = transferred(key, zone, since)
    assert int(old.split()[6]) == since
    assert rest == ["www.example.test. 300 IN A 192.0.2.7", new, "www.example.test. 300 IN A 192.0.2.8", new]
