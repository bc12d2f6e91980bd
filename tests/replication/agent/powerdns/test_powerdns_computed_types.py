"""ALIAS and LUA on a real PowerDNS: configured by the panel's choice, queried after each push, and reported if they
fail.
"""

import pytest

from replication.agent.powerdns.powerdns_computed_types import computed_types_in
from replication.agent.powerdns.running_config import parse_configuration
from replication.dns import rdtypes
from replication.errors import Refused
from replication.wire.position import Position
from replication.wire.protocol import NEITHER, ComputedTypes, split_resolver
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.resolver import SILENT, resolver
from tests.replication.agent.test_agent import push
from tests.replication.agent.updates.test_snapshot_upload import until
from tests.replication.panel import EPOCH, Panel, records, small_zone

ZONE = "example.test."
TARGET = "cdn.target.test."
RECORDS = {(TARGET, "A"): "192.0.2.80", (TARGET, "AAAA"): "2001:db8::80", ("v4.target.test.", "A"): "192.0.2.81"}


def lacking(node: RunningNode) -> dict[str, str]:
    return {found.name: found.problem for found in node.client.status().unanswered}


@pytest.mark.turn(2, reason="ALIAS and LUA on a real node")
def test_a_node_answers_alias_and_lua_from_the_moment_the_panel_chooses_them(
    supervised_node: RunningNode, panel: Panel
) -> None:
    """Previously, ALIAS passed every check and was "everywhere", but pdns.conf kept expand-alias=no."""
    node = supervised_node
    apex = records(ZONE, "@", "ALIAS", 300, TARGET)
    lua = records(ZONE, "lua", "LUA", 60, "A \"'192.0.2.9'\"")
    push(node, panel.create(small_zone(ZONE, apex, lua)))
    until(lambda: node.client.status().computed_types == NEITHER, "PowerDNS said what it computes")
    assert lacking(node) == {
        ZONE: "it is not followed: no resolver is set up",
        "lua.example.test.": "its code is not run: LUA is off",
    }
    with resolver(RECORDS) as upstream:
        chosen = ComputedTypes(upstream.address, lua=True)
        node.client.choose_computed_types(chosen)
        assert node.client.status().computed_types == chosen
        assert node.answer(ZONE) == ["192.0.2.80"]
        assert node.answer(ZONE, rdtypes.AAAA) == ["2001:db8::80"]
        assert node.answer("lua.example.test.") == ["192.0.2.9"]
        pid = node.pdns.pid
        node.client.choose_computed_types(chosen)
        assert node.pdns.pid == pid, "what is so already restarts nothing"
        push(node, panel.change(ZONE, records(ZONE, "v4", "ALIAS", 300, "v4.target.test.")))
        until(lambda: not lacking(node), "what lacked an answer was asked for again")
        bad = [("nx", "nx.target.test."), ("slow", SILENT)]
        ack = node.client.push(*_one(panel.change(ZONE, *(records(ZONE, n, "ALIAS", 300, to) for n, to in bad))))
        assert ack.position == Position(EPOCH, panel.sequence), "somebody's target stops nobody's publication"
        assert {(found.zone, found.name, found.type) for found in ack.unanswered} == {
            (ZONE, "nx.example.test.", "ALIAS"),
            (ZONE, "slow.example.test.", "ALIAS"),
        }
        assert lacking(node) == {
            "nx.example.test.": "SERVFAIL: its target cannot be resolved",
            "slow.example.test.": "no answer for A: the resolver may be too slow",
        }
        node.agent.stop()
        node.agent.start()
        assert set(lacking(node)) == {"nx.example.test.", "slow.example.test."}, "also after a restart of the agent"
        push(node, panel.change(ZONE, ("nx.example.test.", 65401), ("slow.example.test.", 65401)))
        assert not lacking(node)
    push(node, panel.change(ZONE, records(ZONE, "v6", "ALIAS", 300, TARGET)))
    until(lambda: node.client.status().resolver_problem != "", "the resolver is known to be gone")
    assert "does not answer" in node.client.status().state


def _one(sealed: bytes) -> tuple[bytes, int]:
    return sealed, len(sealed)


def test_an_agent_whose_pdns_conf_is_the_operators_refuses_to_choose(shared_node: RunningNode) -> None:
    assert not shared_node.client.status().takes_computed_types
    with pytest.raises(Refused, match="names no pdns_conf"):
        shared_node.client.choose_computed_types(ComputedTypes(lua=True))


@pytest.mark.parametrize("text", ["", "192.0.2.53\nlaunch=bind", "fe80::1%\nx", "resolver.test", 53])
def test_what_would_become_another_line_of_pdns_conf_is_refused(shared_node: RunningNode, text: object) -> None:
    message = ComputedTypes(text, lua=text == "")  # type: ignore[arg-type]
    with pytest.raises(Refused, match="pdns_conf" if text == "" else "computed types"):
        shared_node.client.choose_computed_types(message)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("# expand-alias=no\n# resolver=no\n# enable-lua-records=no\n", NEITHER),
        ("expand-alias=yes\nresolver=192.0.2.53\nenable-lua-records=shared\n", ComputedTypes("192.0.2.53", lua=True)),
        ("expand-alias=yes\n# resolver=no\n", NEITHER),
        ("expand-alias=no\nresolver=192.0.2.53\n", NEITHER),
        ("garbage", NEITHER),
    ],
)
def test_what_powerdns_says_of_itself_is_read(lines: str, expected: ComputedTypes) -> None:
    assert computed_types_in(parse_configuration(lines)) == expected


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.53", ("192.0.2.53", 53)),
        ("192.0.2.53:5300", ("192.0.2.53", 5300)),
        ("2001:db8::53", ("2001:db8::53", 53)),
        ("[2001:db8::53]:5300", ("2001:db8::53", 5300)),
    ],
)
def test_a_resolver_has_an_address_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert split_resolver(text) == address
