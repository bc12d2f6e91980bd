"""Tests of alert conditions for a node's setup: an old agent, and settings that differ from the panel's."""

import pytest

from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.alert_rules import conditions
from dnspanel.fleet.conditions.condition_inputs import Setup
from dnspanel.fleet.conditions.nodes import setup_conditions
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, beat
from replication import __version__
from tests.dnspanel.fleet.conftest import MakeNode
from tests.people import NOW

NEWER = "99.0.0"


def test_a_node_that_is_set_up_as_it_should_be_raises_nothing() -> None:
    assert list(setup_conditions("ns1", Setup(agent="1.0.0", panel="1.0.0"), 1)) == []


def test_each_fault_names_the_node_and_both_values() -> None:
    setup = Setup(
        "1.0.0.dev1+ga", "1.0.0.dev2+gb", is_older=True, differences=("DNS address: A on the server, B in the panel.",)
    )
    assert [(fault.kind, fault.message) for fault in setup_conditions("ns1", setup, 1)] == [
        (
            "node.agent",
            "The agent on ns1 (1.0.0.dev1+ga) is older than the panel. "
            "Install the panel’s version, 1.0.0.dev2+gb, on the node.",
        ),
        (
            "node.setup",
            "The setup on ns1 differs from the panel’s settings. DNS address: A on the server, B in the panel.",
        ),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("agent", "expected"),
    [("0.1.0", ["node.agent:ns1"]), (__version__, []), (NEWER, []), ("of my own", [])],
    ids=["older", "equal", "newer", "unknown"],
)
def test_only_an_agent_that_is_older_raises_an_alert(active_node: MakeNode, agent: str, expected: list[str]) -> None:
    report = {"versions": {"agent": agent}, "machine": "m"}
    Node.objects.filter(pk=active_node("ns1").pk).update(contact_at=NOW, report=report, reported_at=NOW)
    beat(process=COLLECTOR, now=NOW)
    found = [each.key for each in conditions(read(NOW), NOW) if each.key.startswith("node.agent")]
    assert found == expected


@pytest.mark.django_db
def test_a_node_at_another_port_than_the_panel_has_raises_an_alert(active_node: MakeNode) -> None:
    report = {"versions": {"agent": __version__}, "machine": "m", "listen": ["192.0.2.53:5399"]}
    Node.objects.filter(pk=active_node("ns1").pk).update(contact_at=NOW, report=report, reported_at=NOW)
    beat(process=COLLECTOR, now=NOW)
    [found] = [each for each in conditions(read(NOW), NOW) if each.kind == "node.setup"]
    assert found.message.endswith("DNS address: 192.0.2.53:5399 on the server, 192.0.2.53:53 in the panel.")
