"""Replacement of the files of a node that can't be repaired in place: damage, other schemas, kills in between."""

import contextlib
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from replication.agent.agent_config import parse_identity
from replication.errors import Busy, NodeUnreachable, NotServed, Refused
from replication.node_client import NodeClient
from replication.push import send_snapshot
from replication.store.store import Store
from replication.wire.position import Position
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.updates.test_snapshot_upload import Made, made, push, status_of, until
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, Panel, records, small_zone

ZONE = "example.test."
WWW = "www.example.test."


@pytest.fixture
def node(supervised_node: RunningNode) -> RunningNode:
    return supervised_node


def state_dir(node: RunningNode) -> Path:
    return node.files.directory / "state"


def schema_of(node: RunningNode) -> int:
    return parse_identity(json.loads((node.files.directory / "identity" / "identity.json").read_text())).schema


def tear_pages(path: Path) -> None:
    """Simulate a torn write: all pages except the first ten lose their contents."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        for page in range(10, size // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(4096))


# --- damaged trees


def test_files_that_are_no_lmdb_quarantine_the_node_and_a_snapshot_replaces_them(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    first = panel.create(small_zone(ZONE))
    push(node, first)
    node.agent.stop()
    for name in ("", "-0"):
        Path(f"{node.pdns.lmdb_path}{name}").write_bytes(b"not an LMDB file" * 4096)
    node.agent.start()
    status = status_of(node)
    assert status.position is None
    assert status.state.startswith("quarantined, waiting for whole new files; PowerDNS answers as it can: ")
    assert "damaged" in status.state
    with pytest.raises(Refused) as refused:
        push(node, first)
    assert refused.value.error == "Unfinished"
    made(panel, tmp_path).send(node.client)
    assert node.answer(WWW) == ["192.0.2.1"]
    assert status_of(node).state == "in order"
    push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2")))
    assert node.answer(WWW) == ["192.0.2.2"]
    assert not (state_dir(node) / "quarantine").exists()
    assert not list((state_dir(node) / "snapshot").iterdir())


@pytest.mark.turn(2, reason="damaged files of a node")
def test_a_torn_tree_is_found_by_the_agent_and_replaced(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    push(node, panel.create(*(small_zone(f"z{number}.test.") for number in range(3000))))
    node.agent.signal(signal.SIGKILL)
    tear_pages(Path(f"{node.pdns.lmdb_path}-0"))
    start_until_quarantined(node)
    made(panel, tmp_path).send(node.client)
    assert node.answer("www.z2999.test.") == ["192.0.2.1"]
    assert status_of(node).position == Position(EPOCH, 1)


def start_until_quarantined(node: RunningNode) -> None:
    """Restart the agent after each crash, as a supervisor does, until it has quarantined its files."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not node.agent.is_running:
            with contextlib.suppress(AssertionError):
                node.agent.start()
        with contextlib.suppress(NodeUnreachable):
            if node.client.status().state.startswith("quarantined"):
                return
        time.sleep(0.1)
    raise AssertionError("the agent does not see the damage: " + node.agent.log()[-8000:])


def test_quarantine_outlives_restarts_of_the_agent(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    node.agent.signal(signal.SIGKILL)
    (state_dir(node) / "quarantine").write_text("a page of the records file cannot be read")
    for _ in range(2):
        node.agent.start()
        assert "a page of the records file cannot be read" in status_of(node).state
        assert node.answer(WWW) == ["192.0.2.1"], "what can be answered is answered"
        node.agent.signal(signal.SIGTERM)
    node.agent.start()


@pytest.mark.turn(2, reason="damaged files of a node")
def test_damage_behind_the_back_of_an_agent_that_ended_well_is_found_too(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    """A start after a normal end reads no rows. The next check finds the damage, by an error or by a crash."""
    push(node, panel.create(*(small_zone(f"z{number}.test.") for number in range(3000))))
    assert node.agent.signal(signal.SIGTERM) == 0
    assert not (state_dir(node) / "running").exists()
    tear_pages(Path(f"{node.pdns.lmdb_path}-0"))
    start_until_quarantined(node)
    made(panel, tmp_path).send(node.client)
    assert node.answer("www.z2999.test.") == ["192.0.2.1"]


# --- killed in between


def test_a_swap_that_a_kill_cut_short_is_finished_at_the_next_start(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    push(node, panel.create(small_zone(ZONE)))
    panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
    node.agent.signal(signal.SIGKILL)
    path = node.pdns.lmdb_path
    panel.store.copy(f"{path}.next")
    Store.open(f"{path}.next", 4, MAP_SIZE, cluster=CLUSTER).close()
    os.replace(f"{path}.next-0", f"{path}-0")  # the first of the renames is done
    os.replace(f"{path}.next-0-lock", f"{path}-0-lock")
    (state_dir(node) / "swap.json").write_text('{"schema": 4}')
    node.agent.start()
    assert status_of(node).position == Position(EPOCH, 2)
    until(lambda: node.answer(WWW) == ["192.0.2.2"], "PowerDNS serves the new files")
    assert not (state_dir(node) / "swap.json").exists()
    assert not Path(f"{path}.next").exists()


def sent(snapshot: Made, node: RunningNode) -> bool:
    """Return True if the node installed the snapshot, or False while its PowerDNS doesn't answer."""
    try:
        snapshot.send(node.client)
    except NotServed:
        return False
    return True


@pytest.mark.sample(2, reason="kills within a rebuild of a node's files")
@pytest.mark.parametrize("delay", [0.02, 0.1, 0.25, 0.5, 1.0])
def test_an_agent_killed_anywhere_in_a_rebuild_ends_with_the_new_files(
    node: RunningNode, panel: Panel, tmp_path: Path, delay: float
) -> None:
    push(node, panel.create(*(small_zone(f"z{number}.test.") for number in range(2000))))
    node.agent.signal(signal.SIGKILL)
    (state_dir(node) / "quarantine").write_text("torn")
    node.agent.start()
    snapshot = made(panel, tmp_path)
    killer = threading.Timer(delay, lambda: node.agent.signal(signal.SIGKILL))
    killer.start()
    with contextlib.suppress(NodeUnreachable, Busy):
        send_snapshot(node.client, snapshot.sealed, snapshot.chunk, raw_size=0, restart_seconds=0)
    killer.join()
    node.agent.start()
    status_of(node)
    # The PowerDNS that the killed agent stopped may still be starting; the panel retries too.
    until(lambda: sent(snapshot, node), "the snapshot is taken")
    assert node.answer("www.z1999.test.") == ["192.0.2.1"]
    push(node, panel.change("z5.test.", records("z5.test.", "www", "A", 300, "192.0.2.5")))
    assert node.answer("www.z5.test.") == ["192.0.2.5"]


# --- another schema


def test_a_node_whose_powerdns_was_upgraded_says_so_and_takes_files_of_the_schema_it_needs(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    """The program on disk reports 4.9, but the running PowerDNS is 4.7, so its answers aren't checked."""
    push(node, panel.create(small_zone(ZONE)))
    node.agent.signal(signal.SIGTERM)
    program = tmp_path / "pdns_server"
    program.write_text("#!/bin/sh\necho 'Nov 21 PowerDNS Authoritative Server 4.9.17 (C) PowerDNS.COM BV' >&2\n")
    program.chmod(0o755)
    node.files.settings["pdns_server"] = str(program)
    node.files.write()
    node.agent.start()
    status = status_of(node)
    assert (status.installed_powerdns, status.needed_schema, status.schema) == ("4.9.17", 5, 4)
    until(lambda: "needs schema 5" in status_of(node).state, "it is said in words")
    assert status_of(node).state == "PowerDNS 4.9.17 needs schema 5, the files have 4: rebuild this node"
    (tmp_path / "five").mkdir()
    newer = Panel(tmp_path / "five", 5)
    try:
        newer.create(small_zone(ZONE))
        snapshot = made(newer, tmp_path)
        offer_all(node.client, snapshot)
        with pytest.raises(Busy):  # it restarts; this test has no PowerDNS for schema 5
            node.client.install_snapshot(snapshot.name, 0)
    finally:
        newer.close()
    until(lambda: status_of(node).schema == 5, "the agent has begun anew")
    assert status_of(node).position == Position(EPOCH, 1)
    assert schema_of(node) == 5
    conf = (node.files.directory / "pdns.conf").read_text()
    assert "lmdb-schema-version=5\n" in conf
    assert "resolve-across-zones=no" in conf


def offer_all(client: NodeClient, snapshot: Made) -> None:
    for number in client.offer_snapshot(snapshot.sealed):
        client.send_chunk(snapshot.name, number, snapshot.chunk(number))


def test_a_schema_that_nobody_needs_is_refused(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    (tmp_path / "six").mkdir()
    other = Panel(tmp_path / "six", 6)
    try:
        other.create(small_zone(ZONE))
        with pytest.raises(Refused, match="this node has 4, its PowerDNS needs 4"):
            made(other, tmp_path).send(node.client)
    finally:
        other.close()
    assert schema_of(node) == 4
