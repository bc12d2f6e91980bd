"""Tests of nodes in the API: state, samples per second, and operations."""

from typing import Any

import pytest
from django.utils import timezone

from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import node_lifecycle
from replication.wire.protocol import Sample
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.fleet.conftest import signing_request
from tests.people import NOW

NODES = "/api/v2/nodes"


@pytest.fixture
def node(active_node: Any, live_redis: None) -> Node:
    found: Node = active_node("ns1")
    return found


def test_a_node_shows_its_state_and_its_live_numbers(api: MakeApi, node: Node, sample: Sample) -> None:
    telemetry.keep_samples(node_id=node.pk, samples=[sample])
    [listed] = api(Caller.MONITORING).get(NODES).json()["items"]
    assert (listed["name"], listed["state"], listed["health"]) == ("ns1", "active", "offline")
    assert listed["live"]["qps"] == pytest.approx(sample.qps)
    assert listed["live"]["cache_hit"] == 0.75
    points = api().get(f"{NODES}/ns1/points").json()["points"]
    assert [point["at"] for point in points] == [sample.at]
    assert api().get(f"{NODES}/ns1/points", after=sample.at).json()["points"] == []
    assert api().get(f"{NODES}/ns1/points", after="soon").status_code == 422
    assert api().get(f"{NODES}/ns1/points", step="minute").json()["points"] == []
    assert api().get(f"{NODES}/ns1/points", step="year").status_code == 422


def test_the_list_has_the_canary_and_says_which_it_is(api: MakeApi, node: Node, active_node: Any) -> None:
    Node.objects.filter(pk=active_node("ring0").pk).update(is_ring0=True)
    listed = api().get(NODES).json()["items"]
    assert [(each["name"], each["is_ring0"]) for each in listed] == [("ns1", False), ("ring0", True)]


def test_a_node_shows_why_the_panel_cannot_upgrade_its_agent(api: MakeApi, node: Node) -> None:
    report = {"versions": {"agent": "0.9.0"}, "upgrades": "refused"}
    Node.objects.filter(pk=node.pk).update(report=report)
    found = api().get(f"{NODES}/ns1").json()
    reason = "The node doesn’t allow the panel to upgrade the agent."
    assert (found["upgrade"], found["upgrade_message"], found["is_answering"]) == ("unavailable", reason, True)
    refused = api(Caller.ADMINISTRATOR).post(f"{NODES}/ns1/upgrade", {})
    assert (refused.status_code, reason.rstrip(".") in refused.json()["detail"]) == (409, True)


@pytest.fixture
def sample() -> Sample:
    """Return a node's sample of the last second, with a hundred queries."""
    return Sample(
        at=int(timezone.now().timestamp()) - 1,
        seconds=1.0,
        uptime=60,
        udp=90,
        tcp=10,
        rcodes={"NOERROR": 100},
        packet_hits=75,
        packet_misses=25,
        query_hits=0,
        query_misses=0,
        latency_us=300,
        memory_bytes=1 << 20,
    )


def test_a_node_is_drained_and_resumed_as_its_state_allows(api: MakeApi, node: Node) -> None:
    act = f"{NODES}/ns1"
    tag = api().get(f"{NODES}/ns1").headers["ETag"]
    assert api().post(f"{act}/drain", headers={"If-Match": tag}).json()["state"] == "drained"
    assert api().post(f"{act}/drain", headers={"If-Match": tag}).status_code == 412
    assert api().post(f"{act}/drain").status_code == 409
    assert api().post(f"{act}/resume").json()["state"] == "active"
    assert api().post(f"{act}/explode").status_code == 404


def test_approval_needs_the_fingerprint_that_the_agent_printed(api: MakeApi, waiting_node: Any) -> None:
    waiting = waiting_node("ns2")
    code = node_lifecycle.make_code(node=waiting, now=NOW, by=None)
    printed = node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW)
    assert isinstance(printed, node_lifecycle.Waiting)
    url = f"{NODES}/ns2/approve"
    assert api().post(url, {"fingerprint": "0" * 64}).json()["errors"][0]["pointer"] == "/fingerprint"
    assert api().get(f"{NODES}/ns2").json()["fingerprint"] == printed.fingerprint
    assert api().post(url, {"fingerprint": printed.fingerprint}).json()["state"] == "active"


def test_a_node_that_there_is_not_answers_404(api: MakeApi) -> None:
    assert api().get(f"{NODES}/ns9").status_code == 404
    assert api().get(f"{NODES}/%00").status_code == 404


def test_a_node_that_never_joined_is_changed_and_removed(api: MakeApi, waiting_node: Any, live_redis: None) -> None:
    waiting_node("ns7")
    changed = api().patch(f"{NODES}/ns7", {"name": "ns8", "dns_address": "192.0.2.88", "tags": ["Berlin"]})
    assert changed.status_code == 200
    assert [changed.json()[name] for name in ("name", "dns_address", "agent_port", "tags")] == [
        "ns8",
        "192.0.2.88",
        8533,
        ["berlin"],
    ]
    assert api().patch(f"{NODES}/ns8", {"group": "none"}).json()["errors"][0]["pointer"] == "/group"
    assert api().patch(f"{NODES}/ns8", {"dns_address": "nonsense"}).json()["errors"][0]["pointer"] == "/dns_address"
    assert api().delete(f"{NODES}/ns8").status_code == 204
    assert not Node.objects.exists()


def test_a_node_that_has_joined_is_neither_changed_nor_removed(api: MakeApi, node: Node) -> None:
    assert api().patch(f"{NODES}/ns1", {"dns_port": 54}).status_code == 409
    assert api().delete(f"{NODES}/ns1").status_code == 409
    assert api(Caller.MONITORING).delete(f"{NODES}/ns1").status_code == 403
    assert Node.objects.get().dns_port == 53


def test_a_retired_node_is_at_its_slug_when_another_one_has_its_name(
    api: MakeApi, node: Node, active_node: Any
) -> None:
    retired = api(Caller.ADMINISTRATOR).post(f"{NODES}/ns1/retire", {}).json()
    assert (retired["state"], retired["slug"]) == ("retired", f"ns1_{node.pk}")
    active_node("ns1")
    now = {path: api().get(f"{NODES}/{path}").json() for path in ("ns1", retired["slug"])}
    assert [(each["name"], each["slug"], each["state"]) for each in now.values()] == [
        ("ns1", "ns1", "active"),
        ("ns1", retired["slug"], "retired"),
    ]
    assert [each["slug"] for each in api().get(NODES).json()["items"]] == ["ns1"]
    refused = api(Caller.ADMINISTRATOR).post(f"{NODES}/{retired['slug']}/drain", {})
    assert refused.status_code == 409


def test_a_node_tells_how_its_setup_differs_and_whether_its_agent_is_old(api: MakeApi, node: Node) -> None:
    report = {"machine": "m", "versions": {"agent": "0.1.0"}, "agent_port": 9000}
    Node.objects.filter(pk=node.pk).update(report=report)
    found = api().get(f"{NODES}/ns1").json()
    assert found["agent_is_older"] is True
    assert found["setup_differences"] == ["Agent port: 9000 on the server, 8533 in the panel."]
