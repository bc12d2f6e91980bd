"""Tests of the detection of a server whose setup differs from the panel's settings."""

from typing import Any

import pytest

from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes.reported_setup import setup_differences


def node(report: dict[str, Any], **known: Any) -> Node:
    given = {"name": "ns1", "dns_address": "192.0.2.53", "dns_port": 5399, "agent_port": 8533, "schema": 4}
    return Node(**(given | known), report=report)


AS_KNOWN = {"node": "ns1", "listen": ["192.0.2.53:5399"], "agent_port": 8533, "role": "node", "schema": 4}


@pytest.mark.parametrize("report", [{}, {"node": "ns1", "schema": 4}, AS_KNOWN, AS_KNOWN | {"role": ""}])
def test_what_is_as_the_panel_has_it_or_is_not_said_is_no_difference(report: dict[str, Any]) -> None:
    assert setup_differences(node(report), is_rebuilding=False) == ()


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"listen": ["192.0.2.53:53"]}, "DNS address: 192.0.2.53:53 on the server, 192.0.2.53:5399 in the panel."),
        ({"listen": ["192.0.2.1:5399"]}, "DNS address: 192.0.2.1:5399 on the server, 192.0.2.53:5399 in the panel."),
        ({"agent_port": 9000}, "Agent port: 9000 on the server, 8533 in the panel."),
        ({"role": "canary"}, "Role: the canary on the server, a node in the panel."),
        ({"node": "ns2"}, "Node name: ns2 on the server, ns1 in the panel."),
        ({"schema": 6}, "Schema: 6 on the server, 4 in the panel."),
    ],
)
def test_each_difference_is_a_sentence_with_both_values(told: dict[str, Any], sentence: str) -> None:
    assert setup_differences(node(AS_KNOWN | told), is_rebuilding=False) == (sentence,)


def test_a_schema_may_differ_while_the_files_are_rebuilt_and_at_a_front() -> None:
    assert setup_differences(node(AS_KNOWN | {"schema": 6}), is_rebuilding=True) == ()
    front = node(AS_KNOWN | {"schema": 6, "role": "front"}, is_front=True)
    assert setup_differences(front, is_rebuilding=False) == ()


@pytest.mark.parametrize("listening", ["0.0.0.0:5399", "[::]:5399"])
def test_a_front_may_listen_at_all_addresses_or_at_more_than_one(listening: str) -> None:
    for listen in ([listening], ["192.0.2.9:53", "192.0.2.53:5399"]):
        front = node(AS_KNOWN | {"role": "front", "listen": listen}, is_front=True)
        assert setup_differences(front, is_rebuilding=False) == ()


@pytest.mark.parametrize("nonsense", ["192.0.2.1:53", ["here"], 7, {"a": 1}])
def test_a_report_that_cannot_be_read_breaks_nothing(nonsense: object) -> None:
    assert setup_differences(node(AS_KNOWN | {"listen": nonsense}), is_rebuilding=False) == ()
