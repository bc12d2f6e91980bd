"""A PowerDNS without caches, as on ring 0: it answers applied data at once, and nothing is purged.

Tests `powerdns.running_config` too.
"""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.agent.agent_config import read_config
from replication.agent.powerdns.running_config import RunningConfig
from replication.agent.powerdns.zonecache import MAX_SINGLE
from replication.agent.updates.purge import ControlSocket
from replication.wire.position import Position
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode, running
from tests.replication.agent.servers import PDNS_SERVER, AgentFiles, Authority, Pdns
from tests.replication.panel import EPOCH, Panel, records, small_zone

ZONE = "example.test."
WWW = "www.example.test."


@pytest.fixture
def files(directory: Path, authority: Authority) -> AgentFiles:
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    files = AgentFiles(directory, authority, Pdns(directory, caches=False))
    files.settings |= {"caches": False, "metrics_port": free_port()}
    files.write()
    return files


@pytest.fixture
def node(files: AgentFiles, authority: Authority) -> Iterator[RunningNode]:
    with running(files, authority) as node:
        yield node


def purges(node: RunningNode) -> float:
    url = f"http://127.0.0.1:{node.files.settings['metrics_port']}/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        (line,) = (line for line in answer.read().decode().splitlines() if line.startswith("dnspanel_purges_total"))
    return float(line.split()[-1])


def push(node: RunningNode, *sealed: bytes) -> None:
    body = b"".join(sealed)
    node.client.push(body, len(body))


def test_every_kind_of_change_is_answered_at_once_and_nothing_is_purged(node: RunningNode, panel: Panel) -> None:
    assert node.answer(WWW) == ["REFUSED"], "which a cache of answers would keep"
    push(node, panel.create(small_zone(ZONE)))
    assert node.answer(WWW) == ["192.0.2.1"]
    assert node.answer(f"new.{ZONE}") == ["NXDOMAIN"], "which a cache of rows would keep"
    for last in range(2, 12):
        push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}")))
        assert node.answer(WWW) == [f"192.0.2.{last}"]
    push(node, panel.change(ZONE, records(ZONE, "new", "A", 300, "192.0.2.99")))
    assert node.answer(f"new.{ZONE}") == ["192.0.2.99"]
    names = [f"zone{number}.test." for number in range(MAX_SINGLE + 10)]
    push(node, *(panel.create(small_zone(name)) for name in names))
    assert [node.answer(f"www.{name}") for name in names] == [["192.0.2.1"]] * len(names)
    assert node.client.status().answered == Position(EPOCH, 12 + len(names))
    assert purges(node) == 0
    assert node.pdns.questions() < 80 * (12 + 1), "one to each receiver for each push"


def test_a_powerdns_that_was_started_with_caches_is_purged_all_the_same(node: RunningNode, panel: Panel) -> None:
    """The agent.toml file can be newer than the running PowerDNS process."""
    text = (node.files.directory / "pdns.conf").read_text()
    node.pdns.kill()
    (node.files.directory / "pdns.conf").write_text(text.replace("cache-ttl=0", "cache-ttl=60"))
    node.pdns.start()
    push(node, panel.create(small_zone(ZONE)))
    assert node.answer(WWW) == ["192.0.2.1"]
    push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2")))
    assert node.answer(WWW) == ["192.0.2.2"]
    assert purges(node) > 0


def test_powerdns_is_asked_once_for_each_of_its_processes(node: RunningNode) -> None:
    config = RunningConfig(ControlSocket(str(node.pdns.control_socket)))
    first = config.read()
    assert first is not None
    assert first["cache-ttl"] == "0"
    assert not config.has_caches()
    assert config.read() is first
    node.pdns.kill()
    assert config.read() is None
    assert config.has_caches(), "nobody knows"
    node.pdns.start()
    assert config.read() is not first
    assert not config.has_caches()


def test_its_configuration_is_written_without_caches(files: AgentFiles) -> None:
    text = (files.directory / "pdns.conf").read_text()
    for name in ("cache-ttl", "query-cache-ttl", "negquery-cache-ttl", "zone-cache-refresh-interval"):
        assert f"\n{name}=0\n" in text
    assert not read_config(files.path).caches
