"""Tests of the demo's nodes and front: they enroll with real agents at a real panel, and recover from interruptions.

Tests `demo.demo_front` too.
"""

import os
import secrets
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.demo import fleet, unprivileged
from dnspanel.demo.demo_front import DemoFront
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import fronts, node_lifecycle
from replication.front.front_config import read_config

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def nodes(directory: Path) -> list[DemoNode]:
    made = [
        DemoNode(
            name=f"ns{number}",
            directory=directory / f"ns{number}",
            socket_directory=directory,
            dns_port=5300 + number,
            agent_port=8530 + number,
            statistics_port=8080 + number,
        )
        for number in (1, 2)
    ]
    for node in made:
        unprivileged.make_directory(node.directory)
    return made


def enroll_all(nodes: list[DemoNode], live_server: Any) -> list[Node]:
    return fleet.enroll_nodes(nodes, panel=live_server.url, now=timezone.now())


def test_each_server_becomes_an_active_node_once(nodes: list[DemoNode], live_server: Any) -> None:
    assert [node.name for node in enroll_all(nodes, live_server)] == ["ns1", "ns2"]
    assert set(Node.objects.values_list("state", flat=True)) == {NodeState.ACTIVE}
    assert all((node.identity / "identity.json").exists() for node in nodes)
    # The node's user can read the key without a capability.
    account = unprivileged.account()
    user = account.pw_uid if account else os.geteuid()
    assert {path.stat().st_uid for node in nodes for path in node.identity.iterdir()} == {user}
    assert enroll_all(nodes, live_server) == []


def test_a_front_asks_every_node_until_a_person_says_otherwise(
    nodes: list[DemoNode], directory: Path, live_server: Any
) -> None:
    front = DemoFront("front1", directory / "front1", 5300, 8534, 5199, 8083)
    front.configure()
    now = timezone.now()
    made = fleet.enroll_nodes([*nodes, front], panel=live_server.url, now=now)
    assert [(node.name, node.is_front) for node in made] == [("ns1", False), ("ns2", False), ("front1", True)]
    config = read_config(front.front_toml)
    assert (config.identity.node, str(config.listen[0]), config.panel_port) == ("front1", "127.0.0.1:5300", 8534)
    fleet.put_before(front, nodes, now=now)
    assert fronts.terms_of(made[2]).backends == {"ns1": 1, "ns2": 1}
    fronts.set_terms(node=made[2], terms=fronts.Terms({"ns2": 1}), now=now, by=None)
    fleet.put_before(front, nodes, now=now)
    assert fronts.terms_of(made[2]).backends == {"ns2": 1}


def test_no_code_is_left_behind(nodes: list[DemoNode], live_server: Any) -> None:
    enroll_all(nodes, live_server)
    assert [path for node in nodes for path in node.directory.glob("*code*")] == []


def test_a_node_that_was_approved_but_never_heard_of_it_goes_on(nodes: list[DemoNode], live_server: Any) -> None:
    one = nodes[:1]
    agent = fleet._ask_to_enroll(one[0], panel=live_server.url, now=timezone.now())
    known = node_lifecycle.node_by_name("ns1")
    while node_lifecycle.request_of(known) is None:
        assert agent.poll() is None
    agent.kill()
    agent.wait()
    node_lifecycle.approve(node=known, now=timezone.now(), by=None)
    assert [node.name for node in enroll_all(one, live_server)] == ["ns1"]
    assert Node.objects.count() == 1


def test_a_code_may_begin_with_a_hyphen(
    nodes: list[DemoNode], live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression test: the agent took a code with a leading hyphen, one in 64, as an option, and the demo failed."""
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: "-" + "a" * size)
    assert [node.name for node in enroll_all(nodes[:1], live_server)] == ["ns1"]


def test_a_panel_that_refuses_is_quoted(
    nodes: list[DemoNode], live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_lifecycle, "make_code", lambda **_: "wrong." + "0" * 32)
    with pytest.raises(fleet.NotEnrolled, match=r"ns1 did not enrol .* said: .*refused"):
        enroll_all(nodes[:1], live_server)
