"""Tests of nodes' signed answers: a real PowerDNS with the zone's key, and proxies that change its answers.

Tests `dnssec.answer_signatures` too, as `test_chain` does.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.dnssec.node_answers import NodeAnswer, Verdict, ask_nodes
from dnspanel.fleet.models import Node, NodeState
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.models import Zone, ZoneKey
from dnspanel.zones.signing import sign
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.dnssec.nameservers import Answers, nobody, serving
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.oracle import powerdns
from tests.people import NOW
from tests.people import alice as alice
from tests.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)

SOA = "@ 3600 IN SOA ns.test. hostmaster.test. 7 10800 3600 604800 900\n@ 3600 IN NS ns.test.\n"
Change = Callable[[dns.message.Message], None]


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    zone = make_zone("www 300 A 192.0.2.1")
    sign.sign(zones=[zone], acting=Acting(author=None, channel="web", now=NOW))
    return zone


@pytest.fixture
def port(zone: Zone) -> Iterator[int]:
    """Run a PowerDNS that signs the zone with its key. Yield its port."""
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    [key] = ZoneKey.objects.all()
    assert key.private_encrypted is not None
    with installation.place("answers") as place:
        place.load_zone(zone.name, SOA)
        (place.directory / "key").write_bytes(decrypt_secret(key.private_encrypted))
        place.pdnsutil("import-zone-key", zone.name.rstrip("."), place.seen(place.directory / "key"), "ksk")
        with place.server() as port:
            yield port


def behind(port: int, change: Change) -> Answers:
    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        assert not query.flags & dns.flags.RD
        reply = dns.query.tcp(query, "127.0.0.1", 5, port)
        change(reply)
        return reply

    return answer


def without(type: str) -> Change:
    """Return a change that removes the records of a type from answers."""

    def change(reply: dns.message.Message) -> None:
        reply.answer = [each for each in reply.answer if dns.rdatatype.to_text(each.rdtype) != type]

    return change


def another_serial(reply: dns.message.Message) -> None:
    for each in reply.answer:
        if each.rdtype == dns.rdatatype.SOA:
            each.add(each.pop().replace(serial=8))


def refused(reply: dns.message.Message) -> None:
    reply.set_rcode(dns.rcode.REFUSED)


def not_authoritative(reply: dns.message.Message) -> None:
    reply.flags &= ~dns.flags.AA


def found(zone: Zone, *, later: timedelta = timedelta()) -> dict[str, NodeAnswer]:
    return {each.node: each for each in ask_nodes(zone, now=datetime.now(UTC) + later)}


def test_each_node_says_its_keys_its_serial_and_until_when_its_signature_is_good(
    zone: Zone, port: int, active_node: MakeNode
) -> None:
    changes = {
        "bare": without("RRSIG"),
        "forged": another_serial,
        "keyless": without("DNSKEY"),
        "refusing": refused,
        "lame": not_authoritative,
    }
    servers = {f"127.0.10.{n}": behind(port, change) for n, change in enumerate(changes.values(), 1)}
    other_port = free_port()
    for n, name in enumerate(changes, 1):
        Node.objects.filter(pk=active_node(name).pk).update(dns_address=f"127.0.10.{n}", dns_port=other_port)
    for name, more in (("good", {}), ("drained", {"state": NodeState.DRAINED}), ("ring0", {"is_ring0": True})):
        Node.objects.filter(pk=active_node(name).pk).update(dns_address="127.0.0.1", dns_port=port, **more)
    with serving(servers, other_port):
        answers = found(zone)
    [tag] = ZoneKey.objects.values_list("tag", flat=True)
    assert list(answers) == ["bare", "drained", "forged", "good", "keyless", "lame", "refusing"]
    good = answers["good"]
    assert (good.verdict, good.reason, good.serial, good.tags) == (Verdict.VALIDATES, "", 7, (tag,))
    assert good.signature_ends is not None
    assert timedelta(days=5) < good.signature_ends - datetime.now(UTC) < timedelta(days=30)
    assert {name: (each.verdict, each.reason, each.serial) for name, each in answers.items() if name != "good"} == {
        "bare": (Verdict.BOGUS, f"the DNSKEY for {zone.name} is not signed by {zone.name}", 7),
        "drained": (Verdict.VALIDATES, "", 7),
        "forged": (Verdict.BOGUS, f"the signature for the SOA for {zone.name} is invalid", 8),
        "keyless": (Verdict.UNSIGNED, "", 7),
        "lame": (Verdict.SILENT, "not authoritative", None),
        "refusing": (Verdict.SILENT, "response code REFUSED", None),
    }
    with serving(servers, other_port):
        late = found(zone, later=timedelta(days=60))["good"]
    assert late.verdict is Verdict.BOGUS
    assert "expired" in late.reason


def test_a_key_that_is_none_of_the_panels_proves_nothing(zone: Zone, port: int, active_node: MakeNode) -> None:
    Node.objects.filter(pk=active_node().pk).update(dns_address="127.0.0.1", dns_port=port)
    other = key_material.generate(13).public
    ZoneKey.objects.update(public=other)
    [answer] = found(zone).values()
    assert (answer.verdict, answer.reason) == (
        Verdict.BOGUS,
        "the DNSKEY records don’t contain any of the panel’s keys",
    )


def test_who_is_silent_is_given_up_and_more_nodes_than_that_are_not_queried(
    zone: Zone, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_answers, "SECONDS", 0.3)
    port = free_port()
    for n in range(1, 4):
        Node.objects.filter(pk=active_node(f"ns{n}").pk).update(dns_address=f"127.0.10.{n}", dns_port=port)
    with serving({f"127.0.10.{n}": nobody for n in range(1, 4)}, port):
        answers = found(zone)
    assert [(each.verdict, each.reason) for each in answers.values()] == [(Verdict.SILENT, "no answer")] * 3
    monkeypatch.setattr(node_answers, "MOST_NODES", 2)
    with serving({f"127.0.10.{n}": nobody for n in range(1, 4)}, port):
        assert len(found(zone)) == 2
    Node.objects.update(state=NodeState.RETIRED)
    assert found(zone) == {}
