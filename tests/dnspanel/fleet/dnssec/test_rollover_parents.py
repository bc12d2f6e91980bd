"""Tests of a parent zone in this panel: possible answers of its nodes, and of its other name servers."""

from collections.abc import Iterator
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec import dns_exchange
from dnspanel.fleet.dnssec.rollover_parents import ASK_EVERY, ParentAnswer, ask_parents
from dnspanel.fleet.models import Divergence
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing import rollovers
from replication.dns import rdtypes
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.dnssec.nameservers import DS, changed, has, serving
from tests.dnspanel.fleet.dnssec.test_drive import World
from tests.dnspanel.zones.conftest import rr
from tests.people import alice
from tests.ports import free_port

__all__ = ["alice"]
pytestmark = pytest.mark.django_db(transaction=True)

OUTSIDE = "127.0.5.7"


@pytest.fixture(autouse=True)
def surroundings(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SOURCE_NETWORKS, settings.DNS_RESOLVERS = ["127.0.0.0/8"], ["127.0.0.1:9"]
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.2)


@pytest.fixture
def world(alice: User, active_node: MakeNode) -> Iterator[World]:
    """Create a world with a rollover of the child zone, and let every node confirm everything."""
    found = World(alice, [active_node("ns1", agent_port=8533), active_node("ns2", agent_port=8534)])
    found.sign()
    rollovers.begin(zone=found.zone, kind=Kind.CSK, acting=found.acting)
    found.answer()
    return found


def add_nameserver(world: World, host: str, *addresses: str) -> None:
    """Add a name server to the parent, with its addresses."""
    key = "example.com.", rdtypes.NS
    world.publish(world.parent, key, zone_patches.add_records(rr(f"@ 3600 NS {host}", origin="example.com.")))
    if addresses:
        rrset = rr(f"{host} 3600 A {' | '.join(addresses)}", origin="example.com.")
        world.publish(world.parent, (host, rdtypes.A), zone_patches.replace_with(rrset))
    world.answer()


def answer_of(world: World, port: int = 9) -> ParentAnswer | None:
    acked = LogHead.objects.get().sequence
    return ask_parents([world.row], acked=acked, now=world.now, port=port).get(world.row.pk)


def test_nodes_are_known_by_what_they_have_acked(world: World) -> None:
    found = answer_of(world)
    assert found is not None
    assert (found.silent, [len(each) for each in found.sets]) == ("", [1])


def test_a_node_that_answers_with_something_else_in_the_parent_proves_nothing(world: World) -> None:
    """Regression test: only divergences in the rollover's own zone were considered."""
    Divergence.objects.create(
        node=world.nodes[0], zone_id=world.parent.pk, zone_name=world.parent.name, found_at=world.now
    )
    found = answer_of(world)
    assert found is not None
    assert found.silent == "ns1 answered with different records in example.com."
    world.look()
    assert world.row.parent_silent == found.silent


def test_name_servers_that_are_no_nodes_are_asked(world: World) -> None:
    """Regression test: foreign secondaries weren't asked. A new key could take over while one had only the old DS."""
    add_nameserver(world, "outside.example.com.", OUTSIDE)
    ours = ask_parents([world.row], acked=LogHead.objects.get().sequence, now=world.now, port=9)[world.row.pk]
    assert "outside.example.com. 127.0.5.7: no" in ours.silent
    port = free_port()
    with serving({OUTSIDE: has(DS, ttl=7200)}, port):
        found = answer_of(world, port)
    assert found is not None
    assert (found.silent, found.ttl) == ("", 7200)
    assert found.sets[-1] == (DS,)
    assert len(found.sets) == 2
    world.row.__class__.objects.update(parent_silent="", parent_at=world.row.clock)
    assert answer_of(world, port) is None, "a moment ago"
    world.row.__class__.objects.update(parent_at=world.row.clock - ASK_EVERY)
    with serving({OUTSIDE: changed(has(DS), lambda reply: setattr(reply, "flags", reply.flags & ~0x0400))}, port):
        found = answer_of(world, port)
    assert found is not None
    assert "not authoritative" in found.silent


def test_a_name_server_without_an_address_here_is_looked_up(world: World) -> None:
    add_nameserver(world, "ns.elsewhere.test.")
    found = answer_of(world)
    assert found is not None
    assert "ns.elsewhere.test.: resolver" in found.silent


def test_a_name_server_at_the_address_of_a_node_is_one(world: World) -> None:
    add_nameserver(world, "node.example.com.", "192.0.2.53")
    found = answer_of(world)
    assert found is not None
    assert found.silent == ""
