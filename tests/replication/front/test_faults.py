"""Rows 49 to 53 of the fault table: parts of a front fail or go wrong during publications under load."""

import base64
import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dns.exception
import pytest

from replication.errors import ReplicationError
from replication.wire.position import Position
from tests.faults import clocks
from tests.replication.agent.servers import PDNS_SERVER, short_directory
from tests.replication.front.enrolled import Site, enrolled_site
from tests.replication.front.servers import until
from tests.replication.panel import EPOCH, Panel

ROOT = Path(__file__).parents[3]

if PDNS_SERVER is None or shutil.which("dnsdist") is None:
    pytest.skip("pdns_server or dnsdist is not installed", allow_module_level=True)


@pytest.fixture
def site(panel: Panel) -> Iterator[Site]:
    with short_directory() as directory, enrolled_site(panel, directory) as site:
        yield site


class Load:
    """Clients that query continuously. No answer is allowed to be older than the front's last ack."""

    def __init__(self, site: Site) -> None:
        self.acked = 1  # the last number of the address that counts as in sync
        self.stale: list[str] = []
        self._site, self._stop = site, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(2)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self.stale

    def publish(self, last: int, *to: int) -> bytes:
        """Publish a change to these nodes, and wait until the front has acknowledged it."""
        sealed, pushes = self._site.publish(last, *to)
        for push in pushes:
            push.join()
        until(lambda: self._site.push(sealed).position == Position(EPOCH, last), f"{last} is in sync")
        self.acked = last
        return sealed

    def _ask(self) -> None:
        while not self._stop.is_set():
            least = self.acked
            try:
                found = self._site.answer()
            except (dns.exception.DNSException, ReplicationError, OSError):
                continue  # while dnsdist is down; no answer is not an old answer
            if found.startswith("192.0.2.") and int(found.rpartition(".")[2]) < least:
                self.stale.append(found)


def test_without_its_agent_dnsdist_answers_with_the_rotation_that_was(site: Site) -> None:
    """Row 49 of the fault table."""
    with Load(site) as load:
        late = load.publish(2, 0)
        assert site.rotation() == "ns1"
        site.running.close()
        assert site.answers() == {"192.0.2.2"}, "the late node stays out"
        site.dnsdist.kill()
        until(site.answers_at_all, "dnsdist is back by itself")
        assert site.answers() == {"192.0.2.2"}, "and begins with what was out"
        site.nodes[1].client.push(late, len(late))
        site.start_agent()
        until(lambda: site.rotation() == "ns1 ns2", "the agent goes on where it was")
        load.publish(3, 0, 1)
    assert site.answers() == {"192.0.2.3"}


def test_without_dnsdist_a_front_is_in_sync_with_nothing_new_and_says_why(site: Site) -> None:
    """Row 50 of the fault table."""
    with Load(site) as load:
        load.publish(2, 0, 1)
        with kept_dead(site):
            sealed, pushes = site.publish(3, 0, 1)
            for push in pushes:
                push.join()
            assert site.push(sealed).position.sequence == 2, "nothing comes out, so nothing is acknowledged"
            assert "dnsdist does not do as it should" in site.client.status().state
        until(lambda: site.client.ack().position.sequence == 3, "it is back, and so is the proof")
        load.acked = 3
        load.publish(4, 0, 1)
    assert site.answers() == {"192.0.2.4"}


def test_with_a_wrong_key_of_the_console_nothing_counts_as_done(site: Site) -> None:
    """Row 51 of the fault table. Even then the console program exits with success. Previously, the front assumed that
    nodes were out of rotation and that answers were purged, although neither was true.
    """
    with Load(site) as load:
        load.publish(2, 0, 1)
        until(lambda: site.report().bypassed_zones == 0, "the cache is asked")
        right = site.config.conf_path.read_text()
        key = right.partition('setKey("')[2].partition('"')[0]
        site.config.conf_path.write_text(right.replace(key, base64.b64encode(bytes(32)).decode()))
        sealed, pushes = site.publish(3, 0, 1)
        assert site.push(sealed).position.sequence == 2
        assert "key mismatch" in site.client.status().state
        site.config.conf_path.write_text(right)
        until(lambda: site.client.ack().position.sequence == 3, "with the right one it goes on")
        load.acked = 3
        for push in pushes:
            push.join()
    assert site.answers() == {"192.0.2.3"}


def test_where_every_node_left_is_late_as_many_as_the_minimum_answer_and_the_front_says_so(site: Site) -> None:
    """Row 52 of the fault table."""
    sealed, [push] = site.publish(2, 0)
    push.join()
    site.push(sealed)
    until(lambda: site.client.ack().position.sequence == 2, "the late node is out")
    assert site.rotation() == "ns1"
    site.nodes[0].agent.stop()
    site.nodes[0].pdns.kill()
    until(lambda: site.rotation() == "ns2", "an old answer is better than none")
    assert site.answers() == {"192.0.2.1"}
    assert (
        "The node stays in rotation because at least 1 nodes must remain"
        in {b.name: b.reason for b in site.report().backends}["ns2"]
    )
    status = site.client.status()
    assert status.state == "older answers than before are given: without ns2 too few nodes would be left"
    assert status.unserved == status.state, "of which there is an alert"
    site.nodes[1].client.push(sealed, len(sealed))
    until(lambda: site.answers() == {"192.0.2.2"}, "the late one has caught up")
    until(lambda: site.client.status().state == "in order", "and that is told")
    assert not site.client.status().unserved


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_clock_that_jumps_puts_no_node_out_and_holds_no_publication_up(site: Site, seconds: int) -> None:
    """Row 53 of the fault table."""
    path = site.config.state_dir.parent / "clock"
    try:
        environment = clocks.settable(path)
    except clocks.NoFakeClock as exc:
        pytest.skip(str(exc))
    clocks.set_clock(path, 0)
    site.running.close()
    site.client.close()
    toml = site.config.state_dir.parent / "front.toml"
    command = [sys.executable, "-m", "replication.front", "run", "--config", str(toml)]
    with (site.config.state_dir / "agent.log").open("wb") as log:
        agent = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        until(lambda: is_up(site), "the agent runs")
        with Load(site) as load:
            load.publish(2, 0, 1)
            clocks.set_clock(path, seconds)
            until(lambda: abs(site.client.status().clock - time.time() - seconds) < 60, "its clock has jumped")
            until(lambda: site.rotation() == "ns1 ns2", "it has counted once")
            for last in range(3, 9):
                load.publish(last, 0, 1)
                assert site.rotation() == "ns1 ns2"
    finally:
        agent.terminate()
        agent.wait(timeout=30)


@contextlib.contextmanager
def kept_dead(site: Site) -> Iterator[None]:
    """Kill dnsdist, and keep its supervisor from restarting it during the block."""
    conf = site.config.conf_path
    away = conf.with_name("away")
    conf.rename(away)
    site.dnsdist.kill()
    try:
        until(lambda: not site.answers_at_all(), "dnsdist is dead")
        yield
    finally:
        away.rename(conf)


def is_up(site: Site) -> bool:
    with contextlib.suppress(ReplicationError, OSError):
        return site.client.status().position is not None
    return False
