"""The filters and sorting in the URL of the fleet page."""

from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict

from dnspanel.fleet.models import Node, NodeGroup
from dnspanel.fleet.node_health import Health, Word
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.web.fleet.list_query import FleetView, arrange, fleet_view, states_of, tags_of


def node_status(name: str, pk: int, word: Word = Word.LIVE, lag: int = 0, **facts: Any) -> NodeStatus:
    node = Node(pk=pk, name=name, dns_address="192.0.2.1", **facts)
    return NodeStatus(node, Health(word, "why", lag, 0.0), UUID(int=1))


CANARY, WORLD = NodeGroup(pk=1, name="canary", order=1), NodeGroup(pk=2, name="world", order=2)
NODES = (
    node_status("ns1", 1, Word.OFFLINE, 9, group=WORLD, tags=["berlin"]),
    node_status("ns2", 2, group=CANARY),
    node_status("ns3", 3, Word.LATE, 20),
)


def named(view: FleetView) -> list[str]:
    return [each.node.name for each in arrange(NODES, view)]


def test_nodes_stand_by_group_and_name_and_those_without_a_group_are_last() -> None:
    assert named(FleetView()) == ["ns2", "ns1", "ns3"]


def test_other_orders_put_first_what_is_looked_for() -> None:
    assert named(FleetView(sort="lag")) == ["ns3", "ns1", "ns2"]
    assert named(FleetView(sort="state")) == ["ns1", "ns3", "ns2"]
    assert named(FleetView(sort="lag", frozen=(2, 3))) == ["ns2", "ns3", "ns1"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("group=world", ["ns1"]),
        ("tag=berlin", ["ns1"]),
        ("state=late", ["ns3"]),
        ("state=faults", ["ns1"]),
        ("state=healthy", ["ns2"]),
        ("q=NS2", ["ns2"]),
        ("q=192.0.2.1", ["ns2", "ns1", "ns3"]),
        ("q=nothing", []),
    ],
)
def test_filters(query: str, names: list[str]) -> None:
    assert named(fleet_view(QueryDict(query))) == names


def test_a_view_is_the_address_that_made_it() -> None:
    view = fleet_view(QueryDict("group=world&tag=berlin&state=late&q=ns&layout=table&sort=lag&order=3.1.2"))
    assert fleet_view(QueryDict(view.query())) == view
    assert fleet_view(QueryDict(view.query(frozen=()))).frozen == ()
    assert FleetView().query() == ""


def test_rubbish_in_an_address_means_nothing() -> None:
    assert fleet_view(QueryDict("layout=x&sort=y&order=a.b.-1.")) == FleetView()


def test_the_filter_offers_what_there_is() -> None:
    assert tags_of(NODES) == ["berlin"]
    assert states_of(NODES) == ["healthy", "faults", "late", "live", "offline"]
