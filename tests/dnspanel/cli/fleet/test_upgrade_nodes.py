"""Tests of `dnspanel nodes upgrade`, with real agents. A thread does the work of a node's root and of the collector."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.cli.fleet import nodes
from dnspanel.fleet.models import Node, NodeGroup
from dnspanel.fleet.nodes import agent_upgrades
from dnspanel.fleet.nodes.authority import ensure_authority
from replication import __version__
from replication.agent import upgrade_request
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import EnrolledAgent, enrolled_agent

__all__ = ["enrolled_agent"]

Make = Callable[..., EnrolledAgent]


@pytest.fixture
def upgrade(run: Run, administrator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs the command. All nodes allow upgrades, and the panel has a package."""
    monkeypatch.setattr(upgrade_request, "AUTHORITY", tmp_path / "upgrades.pem")
    monkeypatch.setattr(upgrade_request, "OUTCOME", tmp_path / "outcome")
    monkeypatch.setattr(nodes, "PAUSE_SECONDS", 0.1)
    (tmp_path / "upgrades.pem").write_text(ensure_authority(now=timezone.now()).ca_pem)
    monkeypatch.setattr(agent_upgrades, "DIRECTORIES", (tmp_path,))
    (tmp_path / f"dnspanel-agent_{__version__.replace('.dev', '~dev')}+deb12_amd64.deb").write_bytes(b"package")
    return lambda *words, **more: run("nodes", "upgrade", *words, token=administrator, **more)


def store_report(agent: EnrolledAgent, version: str, **more: object) -> None:
    """Store the agent's report as the collector does. PowerDNS, which is not here, answers according to the report."""
    report = {**agent.status().to_json(), "debian": "12", "unserved": "", **more}
    report["versions"] = {**report["versions"], "agent": version}
    now = timezone.now()
    Node.objects.filter(pk=agent.node.pk).update(report=report, reported_at=now, contact_at=now)


@contextmanager
def root_on(*agents: EnrolledAgent, failing: str = "") -> Iterator[list[str]]:
    """Install what each agent gets, during the block. Yield the order. Installation fails on the node `failing`."""
    installed: list[str] = []
    end = threading.Event()

    def work() -> None:
        while not end.wait(0.05):
            for agent in agents:
                request = agent.directory / "state/upgrade/request"
                if request.exists():
                    request.unlink()
                    installed.append(agent.node.name)
                    if agent.node.name == failing:
                        store_report(agent, "0.9.0", upgrades="failed", upgrade_message=f"{time.time()}: no space")
                    else:
                        store_report(agent, __version__, upgrades="installed")
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield installed
    finally:
        end.set()
        thread.join()


def test_the_agents_are_upgraded_one_after_another(upgrade: Run, enrolled_agent: Make) -> None:
    agents = [enrolled_agent(name) for name in ("ns1", "ns2", "ns3")]
    for agent in agents:
        store_report(agent, "0.9.0")
    store_report(agents[1], __version__)
    with root_on(*agents) as installed:
        done = upgrade("--output", "json")
    assert (done.code, done.json) == (0, {"upgraded": ["ns1", "ns3"], "skipped": {}})
    assert installed == ["ns1", "ns3"]
    assert upgrade().out == "0 agents upgraded.\n"


def test_the_first_failure_stops_the_upgrade_and_the_same_command_continues(upgrade: Run, enrolled_agent: Make) -> None:
    agents = [enrolled_agent(name) for name in ("ns1", "ns2", "ns3")]
    for agent in agents:
        store_report(agent, "0.9.0")
    with root_on(*agents, failing="ns2") as installed:
        stopped = upgrade()
    assert (stopped.code, installed) == (1, ["ns1", "ns2"])
    assert "ns2: " in stopped.err
    assert "no space\nThe upgrade stopped. Nodes without the new agent: ns2, ns3" in stopped.err
    with root_on(*agents) as installed:
        assert upgrade("--at-once", "2").out == "2 agents upgraded.\n"
    assert installed == ["ns2", "ns3"]


def test_a_node_that_cannot_be_upgraded_is_named_with_its_reason(upgrade: Run, enrolled_agent: Make) -> None:
    allowed, forbidden = enrolled_agent("ns1"), enrolled_agent("ns2")
    store_report(allowed, "0.9.0")
    store_report(forbidden, "0.9.0", upgrades="refused")
    with root_on(allowed):
        done = upgrade()
    assert done.out == "1 agent upgraded.\n"
    assert "Not upgraded: ns2: The node doesn’t allow the panel to upgrade the agent." in done.err
    allowed.stop()
    store = {"report": {**Node.objects.get(name="ns1").report, "versions": {"agent": "0.9.0"}}}
    Node.objects.filter(name="ns1").update(**store)
    stopped = upgrade("ns1")
    assert stopped.code == 1
    assert "ns1 didn’t take the package: no connection to 127.0.0.1" in stopped.err


def test_a_node_that_is_not_ready_afterwards_stops_the_upgrade(upgrade: Run, enrolled_agent: Make) -> None:
    agent = enrolled_agent("ns1")
    store_report(agent, "0.9.0")
    stopped = upgrade("--timeout", "1")  # no root installs the package
    assert stopped.code == 1
    assert "ns1 was not ready in time" in stopped.err


def test_only_the_named_nodes_and_groups_are_upgraded(upgrade: Run, enrolled_agent: Make) -> None:
    agents = [enrolled_agent(name) for name in ("ns1", "ns2")]
    for agent in agents:
        store_report(agent, "0.9.0")
    group = NodeGroup.objects.create(name="rest", order=1)
    Node.objects.filter(name="ns2").update(group=group)
    assert upgrade("ns9").code == 2
    with root_on(*agents) as installed:
        assert upgrade("--group", "rest").code == 0
        assert installed == ["ns2"]
        assert upgrade("ns1").code == 0
    assert installed == ["ns2", "ns1"]
