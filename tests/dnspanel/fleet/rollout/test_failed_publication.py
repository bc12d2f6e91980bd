"""Tests of the publication that ring 0 rejects, with a real PowerDNS and records that it can't answer.

Tests `rollout.bogus_zones` too.
"""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.fleet.models import Isolation, Node, NodeEvent, UnprovenZone
from dnspanel.fleet.rollout import bogus_zones, failed_publication
from dnspanel.fleet.rollout.failed_publication import Suspect, culprit, examine, suspects
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.models import LogHead, Publication, Zone
from dnspanel.zones.publishing import bulk, edit
from dnspanel.zones.signing import sign
from replication.codec.dnssec import MetadataObject
from replication.dns import rrset
from replication.dns.rrset import RRset
from replication.errors import NotServed
from replication.store.store import Store
from replication.wire.position import Position
from replication.wire.segment import open_segment
from tests.dnspanel.fleet.conftest import MakeNode
from tests.replication.agent.servers import PDNS_SERVER, Pdns, short_directory
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS, SECRETS, Panel, csk, records, small_zone

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = "poison.test."
# Types in the IANA registry, so the panel's rules accept them. PowerDNS 4.7 parses neither: SERVFAIL.
IPSECKEY = ("key", "IPSECKEY", "10 1 3 192.0.2.38 AQIDBA==")
APL = ("list", "APL", "3:09ac268c/33")
WWW = ("www", "A", "192.0.2.77")
# KEYLESS has algorithm 0, which allows no key. PowerDNS 4.7 drops the key and answers something else.
CHAINLESS = "chainless.test."
NSEC3PARAM = MetadataObject(CHAINLESS, "NSEC3PARAM", "1 0 0 -")
KEYLESS = ("keyless", "IPSECKEY", "10 1 0 192.0.2.38 AQIDBA==")


def rr(label: str, type: str, value: str) -> RRset:
    return records(ZONE, label, type, 60, value)


@pytest.fixture(scope="module")
def server() -> Iterator[Pdns]:
    """Run a PowerDNS with a zone of three bad records and `www`. A second, signed zone lacks its denial chain."""
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    with short_directory() as directory:
        (directory / "panel").mkdir()
        panel = Panel(directory / "panel")
        created = panel.create(small_zone(ZONE, *(rr(*each) for each in (IPSECKEY, APL, KEYLESS))))
        pdns = Pdns(directory)
        store = Store.open(pdns.lmdb_path, 4, MAP_SIZE, cluster=CLUSTER, sealing_keys=SECRETS.get)
        also = panel.create(small_zone(CHAINLESS))
        chainless = panel.attach(CHAINLESS, keys_=[csk(CHAINLESS)], metadata=[NSEC3PARAM])
        for sealed in (created, also, chainless, panel.change(ZONE, rr(*WWW))):
            store.apply(open_segment(sealed, PUBLIC_KEYS))
        pdns.start()
        try:
            yield pdns
        finally:
            pdns.kill()
            store.close()
            panel.close()


def suspect(sequence: int, label: str, type: str, value: str) -> Suspect:
    found = rr(label, type, value)
    return Suspect(sequence, found.name, found.type, found.ttl, found.served)


def complaint(question: str = "purge on the control socket", found: str = "none") -> NotServed:
    return NotServed(question=question, expected="1 records", found=found)


def ask(server: Pdns) -> failed_publication._Server:
    return failed_publication._Server("127.0.0.1", server.port)


@pytest.mark.parametrize("bad", [IPSECKEY, APL], ids=["IPSECKEY", "APL"])
def test_servfail_gives_the_culprit_away_whatever_the_agent_complained_of(
    server: Pdns, bad: tuple[str, str, str]
) -> None:
    found = culprit([suspect(3, *WWW), suspect(2, *bad)], complaint(), ask(server))
    assert found is not None
    assert (found[0].sequence, found[1]) == (2, "SERVFAIL")


def test_another_answer_counts_only_where_the_agent_complained_of_just_that(server: Pdns) -> None:
    keyless = suspect(2, *KEYLESS)
    assert culprit([keyless], complaint(), ask(server)) is None
    found = culprit([suspect(3, *WWW), keyless], complaint(str(keyless), "other records"), ask(server))
    assert found is not None
    assert found[0] == keyless
    assert found[1].startswith("wrong answer (other records: 10 1 0 192.0.2.38")


def test_a_server_that_answers_well_blames_nobody(server: Pdns) -> None:
    assert culprit([suspect(3, *WWW)], complaint("www.poison.test. A"), ask(server)) is None


def test_a_server_that_is_down_blames_nobody(server: Pdns, active_node: MakeNode, monkeypatch: object) -> None:
    node = active_node("ring0")
    Node.objects.filter(pk=node.pk).update(dns_address="127.0.0.1", dns_port=9, is_ring0=True)
    node.refresh_from_db()
    monkeypatch.setattr(failed_publication, "BACK_SECONDS", 0.2)  # type: ignore[attr-defined]
    assert examine(node=node, error=complaint(), now=timezone.now()) is None
    assert not Isolation.objects.exists()


def test_suspects_are_what_was_published_since_the_newest_first(active_node: MakeNode) -> None:
    now = timezone.now()
    created = edit.create_zone(
        zone=edit.NewZone(ZONE, [rrset.make(f"www.{ZONE}", 1, 60, ["192.0.2.1"])]), acting=Acting(None, "system", now)
    )
    zone = Zone.objects.get()
    change = bulk.ZoneChange(zone.pk, 1, {(f"www.{ZONE}", 1): None})
    changed, _ = bulk.change_zones(changes=[change], acting=Acting(None, "system", now))
    assert changed is not None
    found = suspects(after=0, up_to=changed.sequence)
    assert [each.sequence for each in found] == sorted([each.sequence for each in found], reverse=True)
    (gone,) = [each for each in found if each.name == f"www.{ZONE}"]
    assert (gone.sequence, gone.rdata) == (changed.sequence, ())
    assert suspects(after=changed.sequence, up_to=99) == []
    # The RRsets of the new zone that are unchanged since. The SOA isn't, because its serial moved.
    assert [(each.name, each.type) for each in suspects(after=0, up_to=created.sequence)] == [(ZONE, 2)]


def test_what_is_at_the_name_that_fails_is_suspected_however_much_else_was_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Regression test: only the first of many RRsets were examined, so no publication was found.
    monkeypatch.setattr(failed_publication, "MOST_SUSPECTS", 5)
    hosts = [rrset.make(f"h{number}.{ZONE}", 1, 60, ["192.0.2.1"]) for number in range(20)]
    now = timezone.now()
    edit.create_zone(zone=edit.NewZone(ZONE, hosts), acting=Acting(None, "system", now))
    zone = Zone.objects.get()
    for number in (15, 16):
        change = bulk.ZoneChange(zone.pk, number - 14, {(f"h{number}.{ZONE}", 1): None})
        bulk.change_zones(changes=[change], acting=Acting(None, "system", now))
    for accused in (f"h15.{ZONE}", f"h19.{ZONE}"):
        found = suspects(after=0, up_to=99, accused=accused)
        assert (found[0].name, len(found)) == (accused, 5)


def test_of_a_name_that_is_servfail_the_newest_row_is_to_blame_whatever_was_asked_for(server: Pdns) -> None:
    older = Suspect(2, suspect(2, *APL).name, rrset.make(ZONE, 1, 60, ["192.0.2.1"]).type)
    newer = suspect(3, *APL)
    found = culprit([suspect(4, *WWW), newer, older], complaint(str(older), "SERVFAIL"), ask(server))
    assert found is not None
    assert found[0] == newer


def test_the_culprits_publication_is_taken_back_with_the_reason(server: Pdns, active_node: MakeNode) -> None:
    now = timezone.now()
    edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(None, "system", now))
    bad = rr(*IPSECKEY)
    change = bulk.ZoneChange(Zone.objects.get().pk, 1, {(bad.name, bad.type): bad})
    failed, _ = bulk.change_zones(changes=[change], acting=Acting(None, "system", now))
    assert failed is not None
    node = active_node("ring0")
    Node.objects.filter(pk=node.pk).update(dns_address="127.0.0.1", dns_port=server.port, is_ring0=True, acked=1)
    node.refresh_from_db()
    inverse = examine(node=node, error=complaint(f"{bad.name} IPSECKEY", "SERVFAIL"), now=now)
    assert inverse is not None
    reason = "PowerDNS failed to answer a query for key.poison.test. IPSECKEY: SERVFAIL."
    assert Publication.objects.get(sequence=failed.sequence).failed_reason == reason
    assert inverse.reason == f"Publication {failed.sequence} was reverted: {reason}"
    assert Isolation.objects.get().inverse == inverse.sequence
    assert "reverted before reaching other nodes" in NodeEvent.objects.get(kind="isolated").sentence
    assert not Zone.objects.get().rrsets.filter(type=bad.type).exists()


def test_what_changed_the_signing_is_taken_back_where_only_signatures_are_not_good(
    server: Pdns, active_node: MakeNode
) -> None:
    acting = Acting(None, "system", timezone.now())
    created = edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(None, "system", acting.now))
    zone = Zone.objects.get()
    node = active_node("ring0")
    Node.objects.filter(pk=node.pk).update(
        dns_address="127.0.0.1", dns_port=server.port, is_ring0=True, acked=created.sequence
    )
    node.refresh_from_db()
    [signed] = sign.sign(zones=[zone], acting=acting)
    assert examine(node=node, error=complaint(f"{ZONE} SOA", "none"), now=acting.now) is None
    assert examine(node=node, error=complaint("www.other.test. A with DNSSEC"), now=acting.now) is None
    error = complaint(f"absent-1.{ZONE} A with DNSSEC", "no proof that there is none")
    inverse = examine(node=node, error=error, now=acting.now)
    assert inverse is not None
    assert not signing_of(zone).is_signed
    reason = Publication.objects.get(sequence=signed.sequence).failed_reason
    assert reason.startswith(f"{ZONE} doesn’t validate: wrong answer for absent-1.{ZONE} A with DNSSEC")
    assert Isolation.objects.get().failed == signed.sequence
    assert "reverted before reaching other nodes" in NodeEvent.objects.get(kind="isolated").sentence


def signed_zone(name: str, server: Pdns, active_node: MakeNode) -> tuple[Zone, Node]:
    """Create a signed zone that ring 0, played by `server`, has confirmed. Return the zone and the node."""
    acting = Acting(None, "system", timezone.now())
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", acting.now))
    [signed] = sign.sign(zones=[Zone.objects.get()], acting=acting)
    node = active_node("ring0")
    Node.objects.filter(pk=node.pk).update(
        dns_address="127.0.0.1", dns_port=server.port, is_ring0=True, acked=signed.sequence
    )
    node.refresh_from_db()
    return Zone.objects.get(), node


def put(zone: Zone, label: str) -> Publication:
    wanted = rrset.make(f"{label}.{zone.name}", 1, 60, ["192.0.2.8"])
    change = bulk.ZoneChange(zone.pk, Zone.objects.get().revision, {(wanted.name, wanted.type): wanted})
    published, _ = bulk.change_zones(changes=[change], acting=Acting(None, "system", timezone.now()))
    assert published is not None
    return published


def test_content_is_taken_back_where_only_it_does_not_validate_and_then_nobody_is_to_blame(
    server: Pdns, active_node: MakeNode
) -> None:
    zone, node = signed_zone(CHAINLESS, server, active_node)
    first, second = put(zone, "one"), put(zone, "two")
    error, now = complaint(f"absent-1.{CHAINLESS} A with DNSSEC", "SERVFAIL"), timezone.now()
    failed: list[int] = []
    while examine(node=node, error=error, now=now) is not None:
        failed = sorted(Publication.objects.exclude(failed_reason="").values_list("sequence", flat=True))
    assert failed == [first.sequence, second.sequence]
    assert not zone.rrsets.filter(type=1).exists()
    # The query still fails, although the zone has its old content again.
    assert not bogus_zones.let_pass(node=node, error=error, now=now)
    assert bogus_zones.let_pass(node=node, error=error, now=now, is_exhausted=True)
    assert UnprovenZone.objects.get().problem == str(error)


def test_what_no_publication_did_holds_up_nobody_but_a_change_of_the_signing(
    server: Pdns, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The panel considers the zone signed, but the server has no key, so every DNSSEC query fails."""
    zone, node = signed_zone(ZONE, server, active_node)
    put(zone, "one")
    error, now = complaint(f"{ZONE} DNSKEY with DNSSEC", "no such RRset"), timezone.now()
    assert examine(node=node, error=error, now=now) is None
    assert not Publication.objects.exclude(failed_reason="").exists()
    monkeypatch.setattr(bogus_zones, "SECONDS", 0.5)
    silent = Node(pk=node.pk, dns_address="127.0.0.1", dns_port=9, acked=node.acked)
    assert not bogus_zones.let_pass(node=silent, error=error, now=now, is_exhausted=True)
    assert bogus_zones.let_pass(node=node, error=error, now=now)
    assert not bogus_zones.let_pass(node=node, error=error, now=now), "an agent that does not know of it refuses still"
    assert bogus_zones.names_of(node) == [ZONE]
    bogus_zones.look(now=now + bogus_zones.LOOK_EVERY)
    assert UnprovenZone.objects.get().since == now
    assert "this wasn’t caused by a publication" in NodeEvent.objects.get(kind="unproven").sentence
    acting = Acting(None, "system", now)
    sign.set_cds(zone=zone, cds="2", cdnskey=True, acting=acting)
    assert bogus_zones.names_of(node) == []
    assert not bogus_zones.let_pass(node=node, error=error, now=now, is_exhausted=True)
    sign.unsign(zones=[zone], acting=acting)
    bogus_zones.look(now=now)
    assert not UnprovenZone.objects.exists()


def test_a_zone_that_comes_and_does_not_validate_is_in_the_trash(server: Pdns, active_node: MakeNode) -> None:
    zone, node = signed_zone(ZONE, server, active_node)
    Node.objects.filter(pk=node.pk).update(acked=0)
    node.refresh_from_db()
    error = complaint(f"{ZONE} DNSKEY with DNSSEC", "no such RRset")
    assert examine(node=node, error=error, now=timezone.now()) is not None
    zone.refresh_from_db()
    assert zone.deleted_at is not None
    assert not bogus_zones.let_pass(node=node, error=error, now=timezone.now(), is_exhausted=True)


def test_what_came_in_a_snapshot_is_looked_at_before_it_counts(server: Pdns, active_node: MakeNode) -> None:
    """The agent's own sample finds neither fault. An ack would have released both to all other nodes."""
    acting = Acting(None, "system", timezone.now())
    edit.create_zone(zone=edit.NewZone(ZONE), acting=Acting(None, "system", acting.now))
    change = bulk.ZoneChange(Zone.objects.get().pk, 1, {(rr(*APL).name, rr(*APL).type): rr(*APL)})
    bad, _ = bulk.change_zones(changes=[change], acting=Acting(None, "system", acting.now))
    assert bad is not None
    created = edit.create_zone(zone=edit.NewZone(CHAINLESS), acting=Acting(None, "system", acting.now))
    [signed] = sign.sign(zones=[Zone.objects.get(name=CHAINLESS)], acting=acting)
    node, epoch = active_node("ring0"), LogHead.objects.get().epoch
    at = Position(epoch, signed.sequence)
    terms = {"dns_address": "127.0.0.1", "dns_port": server.port, "is_ring0": True}
    Node.objects.filter(pk=node.pk).update(**terms)
    node.refresh_from_db()
    assert failed_publication.examine_snapshot(node=node, position=at, now=acting.now) is None, (
        "nobody waits for it yet"
    )
    Node.objects.filter(pk=node.pk).update(epoch=epoch, acked=1)
    node.refresh_from_db()
    failed = Publication.objects.exclude(failed_reason="").values_list("sequence", flat=True)
    found = failed_publication.examine_snapshot(node=node, position=at, now=acting.now)
    assert found is not None
    assert (found.question, list(failed)) == ("list.poison.test. APL", [bad.sequence])
    # A later snapshot that still has it is no better, although nothing is left to take back.
    assert failed_publication.examine_snapshot(node=node, position=at, now=acting.now) is not None
    node.acked = created.sequence
    found = failed_publication.examine_snapshot(node=node, position=at, now=acting.now)
    assert found is not None
    assert found.question.endswith("A with DNSSEC")
    assert list(failed.order_by("sequence")) == [bad.sequence, signed.sequence]


def test_a_snapshot_of_a_later_epoch_is_all_new_to_ring_0(server: Pdns, active_node: MakeNode) -> None:
    zone, node = signed_zone(CHAINLESS, server, active_node)
    node.epoch, node.acked = uuid4(), 1_000
    at = Position(LogHead.objects.get().epoch, LogHead.objects.get().sequence)
    assert failed_publication.examine_snapshot(node=node, position=at, now=timezone.now()) is not None
    assert node.acked == 1_000
    zone.refresh_from_db()
    assert zone.deleted_at is not None, "of that epoch it came by a publication too"


def test_a_zone_that_ring_0_passes_over_holds_up_no_new_node(server: Pdns, active_node: MakeNode) -> None:
    zone, ring0 = signed_zone(CHAINLESS, server, active_node)
    now = timezone.now()
    new = active_node("ns1")
    Node.objects.filter(pk=new.pk).update(dns_address="127.0.0.1", dns_port=server.port)
    new.refresh_from_db()
    assert bogus_zones.names_for_snapshot(new) == []
    UnprovenZone.objects.create(node=ring0, zone=zone, problem="none", since=now, looked_at=now)
    assert (bogus_zones.names_of(new), bogus_zones.names_for_snapshot(new)) == ([], [CHAINLESS])
    bogus_zones.let_pass_as_ring0(node=new, names=[CHAINLESS], now=now)
    assert "with DNSSEC" in UnprovenZone.objects.get(node=new).problem
    UnprovenZone.objects.filter(node=new).delete()
    well = Node(pk=new.pk, name="ns1", dns_address="127.0.0.1", dns_port=9)
    bogus_zones.let_pass_as_ring0(node=well, names=[CHAINLESS], now=now)
    assert not UnprovenZone.objects.filter(node=new).exists(), "silence says nothing"
