"""Tests of the addresses at which resolvers reach nodes: the public ones, or else the DNS address."""

import pytest

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.reads.queries import public_addresses
from tests.dnspanel.fleet.conftest import MakeNode

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_node_is_reached_by_its_public_addresses_else_by_that_of_its_dns(active_node: MakeNode) -> None:
    own = active_node("ns1").dns_address
    active_node("ns2")
    Node.objects.filter(name="ns2").update(public_addresses=["192.0.2.1", "2001:db8::1"])
    assert public_addresses({"ns1", "ns2", "nowhere"}) == {"ns1": (own,), "ns2": ("192.0.2.1", "2001:db8::1")}
    assert public_addresses(set()) == {}


def test_a_node_that_is_gone_is_not_reached_and_one_that_is_drained_is(active_node: MakeNode) -> None:
    for name, state in (("ns1", NodeState.RETIRED), ("ns2", NodeState.DRAINED)):
        active_node(name)
        Node.objects.filter(name=name).update(state=state)
    assert list(public_addresses({"ns1", "ns2"})) == ["ns2"]
