"""Tests of fronts in the API: their settings, and the state of the nodes behind them."""

import pytest

from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import fronts
from dnspanel.fleet.nodes.fronts import Terms
from replication.wire.front_messages import BackendReport, FrontReport
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.fleet.conftest import MakeNode, create_front
from tests.people import NOW

FRONT = "/api/v2/nodes/front1/front"
IN = BackendReport("ns1", "192.0.2.53:53", 2, True, True, "has everything", 41, 0, 900, 120.5, 2, 0.31)


@pytest.fixture
def front(active_node: MakeNode) -> Node:
    active_node("ns1")
    active_node("ns2")
    front = create_front()
    fronts.set_terms(node=front, terms=Terms({"ns1": 2}, cache_entries=10), now=NOW, by=None)
    Node.objects.filter(pk=front.pk).update(report={"front": FrontReport("ab", 1, 0, (IN,)).to_json()})
    return front


def test_a_front_shows_what_it_is_set_to_and_its_nodes(api: MakeApi, front: Node) -> None:
    found = api(Caller.MONITORING).get(FRONT).json()
    assert (found["backends"], found["cache_entries"]) == ({"ns1": 2}, 10)
    assert (found["nodes"][0]["name"], found["nodes"][0]["qps"], found["nodes"][0]["is_in"]) == ("ns1", 120.5, True)
    kinds = {node["name"]: node["is_front"] for node in api().get("/api/v2/nodes").json()["items"]}
    assert kinds == {"ns1": False, "ns2": False, "front1": True}
    assert api().get("/api/v2/nodes/ns1/front").status_code == 404


def test_a_front_is_changed_if_it_is_as_it_was_read(api: MakeApi, front: Node) -> None:
    tag = api().get(FRONT)["ETag"]
    changed = api().patch(FRONT, {"backends": {"ns1": 1, "ns2": 1}, "minimum": 2}, headers={"If-Match": tag})
    assert changed.status_code == 200
    assert fronts.terms_of(front) == Terms({"ns1": 1, "ns2": 1}, minimum=2, cache_entries=10)
    assert api().patch(FRONT, {"minimum": 1}, headers={"If-Match": tag}).status_code == 412
    refused = api().patch(FRONT, {"backends": {"ns9": 1}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/backends"
