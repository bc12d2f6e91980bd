"""Tests that a node's two configurations agree."""

import tomllib
from pathlib import Path

import pytest

from dnspanel.demo.demo_nodes import DemoNode


@pytest.fixture
def node(directory: Path) -> DemoNode:
    made = DemoNode(
        name="ns1",
        directory=directory / "nodes" / "ns1",
        socket_directory=directory / "run" / "ns1",
        dns_port=5301,
        agent_port=8533,
        statistics_port=8081,
    )
    made.configure()
    return made


def settings_of(node: DemoNode) -> dict[str, str]:
    lines = (node.pdns / "pdns.conf").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_agent_and_server_mean_the_same_files_and_ports(node: DemoNode) -> None:
    agent, server = tomllib.loads(node.agent_toml.read_text()), settings_of(node)
    assert agent["lmdb_path"] == server["lmdb-filename"] == str(node.lmdb)
    assert agent["control_socket"] == server["socket-dir"] + "/pdns.controlsocket"
    assert str(agent["dns_port"]) == server["local-port"] == "5301"
    assert str(agent["receiver_threads"]) == server["receiver-threads"]
    assert str(agent["api_port"]) == server["webserver-port"] == "8081"
    assert agent["api_key"] == server["api-key"] != ""


def test_the_server_is_reached_on_loopback_only(node: DemoNode) -> None:
    agent, server = tomllib.loads(node.agent_toml.read_text()), settings_of(node)
    assert {agent["listen_host"], agent["dns_address"], server["local-address"]} == {"127.0.0.1"}


def test_a_later_start_keeps_the_key(node: DemoNode) -> None:
    before = node.agent_toml.read_text()
    node.configure()
    assert node.agent_toml.read_text() == before


def test_the_configurations_are_private(node: DemoNode) -> None:
    for path in (node.agent_toml, node.pdns / "pdns.conf"):
        assert path.stat().st_mode & 0o777 == 0o600
