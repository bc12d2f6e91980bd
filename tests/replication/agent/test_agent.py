"""The agent as a process next to a real pdns_server: the behavior that the panel relies on.

Tests `agent.__main__` and `agent.node` too.
"""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import lmdb
import psutil
import pytest

from replication.codec import keys
from replication.dns import rdtypes
from replication.errors import NodeUnreachable, NotServed, Refused
from replication.store.store import Store
from replication.wire.operations import ZoneMark
from replication.wire.position import Position
from replication.wire.segment import open_segment
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import AgentFiles, AgentProcess, client_for
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, PUBLIC_KEYS, Panel, records, small_zone

ZONE = "example.test."
WWW = "www.example.test."


def push(node: RunningNode, *sealed: bytes) -> None:
    """Push segments in one request."""
    body = b"".join(sealed)
    node.client.push(body, len(body))


def processor_seconds(node: RunningNode) -> float:
    """Return the processor seconds that the agent and its PowerDNS have used so far."""
    found = [psutil.Process(pid).cpu_times() for pid in (node.agent.pid, node.pdns.pid)]
    return sum(times.user + times.system for times in found)


def test_an_acknowledged_change_is_what_powerdns_answers(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    assert node.answer(WWW) == ["192.0.2.1"]
    before, questions, seconds = node.client.bytes_sent, node.pdns.questions(), processor_seconds(node)
    for last in range(2, 42):
        push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}")))
        assert node.answer(WWW) == [f"192.0.2.{last}"]
    assert (node.client.bytes_sent - before) / 40 <= 1024
    # `./dev bench push` measures the time. This measures the cost, whatever else runs on the machine.
    assert (node.pdns.questions() - questions) / 40 <= 80, "65 on a quiet machine, one of them the test's"
    assert (processor_seconds(node) - seconds) / 40 <= 0.025, "9 ms on a quiet machine"
    assert node.client.status().answered == Position(EPOCH, 41)


def test_every_kind_of_change_is_seen_at_once(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    assert node.answer("www2.example.test.") == ["NXDOMAIN"]
    push(node, panel.change(ZONE, records(ZONE, "www2", "A", 300, "192.0.2.7")))
    assert node.answer("www2.example.test.") == ["192.0.2.7"]
    push(node, panel.change(ZONE, ("www2.example.test.", rdtypes.A)))
    assert node.answer("www2.example.test.") == ["NXDOMAIN"]
    assert node.answer("new.test.", rdtypes.SOA) == ["REFUSED"]
    push(node, panel.create(small_zone("new.test.")))
    assert node.answer("www.new.test.") == ["192.0.2.1"]
    push(node, panel.delete("new.test."))
    assert node.answer("www.new.test.") == ["REFUSED"]
    push(node, panel.create(small_zone("new.test.", records("new.test.", "again", "A", 60, "192.0.2.8"))))
    assert node.answer("again.new.test.") == ["192.0.2.8"]
    assert node.answer("position.dnspanel.invalid.", rdtypes.TXT) == [f'"{panel.store.position()}"']


def test_a_zone_deleted_and_created_anew_in_one_segment_never_refuses(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    ops = panel.deleted_ops(1, ZONE) + panel.created_ops(2, ZONE, small_zone(ZONE, serial=9))
    rcodes: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            rcodes.update(node.answer(WWW))

    watcher = threading.Thread(target=watch)
    watcher.start()
    push(node, panel.seal(ops, [ZoneMark(1, ZONE, None), ZoneMark(2, ZONE, 9)]))
    done.set()
    watcher.join()
    assert rcodes == {"192.0.2.1"}


def test_a_node_far_behind_gets_everything_in_one_request(node: RunningNode, panel: Panel) -> None:
    panel.create(small_zone(ZONE))
    for last in range(2, 202):
        panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}"))
    push(node, *panel.segments)
    assert node.answer(WWW) == ["192.0.2.201"]
    assert node.client.status().position == Position(EPOCH, 201)


def test_what_is_repeated_is_verified_and_acknowledged_again(node: RunningNode, panel: Panel) -> None:
    first = panel.create(small_zone(ZONE))
    push(node, first)
    push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2")))
    ack = node.client.push(first, len(first))
    assert ack.position == Position(EPOCH, 2)
    assert node.client.status().segments_applied == 2


def test_while_powerdns_is_down_data_is_kept_and_nothing_is_acknowledged(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    node.pdns.kill()
    change = panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
    with pytest.raises(NotServed):
        push(node, change)
    status = node.client.status()
    assert status.position == Position(EPOCH, 2)
    assert status.answered == Position(EPOCH, 1)
    assert status.state.startswith("PowerDNS does not answer as it should since")
    node.pdns.start()
    assert node.answer(WWW) == ["192.0.2.2"]
    deadline = time.monotonic() + 10
    while node.client.status().answered != Position(EPOCH, 2):
        assert time.monotonic() < deadline, "the agent sees by itself that PowerDNS is back"
        time.sleep(0.1)
    push(node, change)
    assert node.client.status().state == "in order"
    assert node.client.status().answered == Position(EPOCH, 2)


def test_a_killed_agent_comes_back_where_it_was(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    for last in range(2, 8):
        change = panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}"))
        push(node, change)
        node.agent.signal(signal.SIGKILL)
        assert node.answer(WWW) == [f"192.0.2.{last}"]
        node.agent.start()
        assert node.client.status().position == Position(EPOCH, last)
    assert node.client.push(change, len(change)).digest_records == panel.store.digests()[1]


def test_an_agent_killed_in_the_middle_of_a_push_loses_nothing(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(*(small_zone(f"z{number}.test.") for number in range(3000))))
    zones = [f"z{number}.test." for number in range(3000)]
    change = panel.change_all({zone: [records(zone, "www", "A", 300, "192.0.2.2")] for zone in zones})
    for delay in (0.01, 0.03, 0.05, 0.08):
        killer = threading.Timer(delay, lambda: node.agent.signal(signal.SIGKILL))
        killer.start()
        with contextlib.suppress(NodeUnreachable):  # unless the push was faster than the kill
            push(node, change)
        killer.join()
        node.agent.start()
    ack = node.client.push(change, len(change))
    assert (ack.digest_main, ack.digest_records) == panel.store.digests()
    assert node.answer("www.z2999.test.") == ["192.0.2.2"]


def test_a_node_that_diverged_stops_serves_on_and_says_so(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    node.agent.stop()
    with lmdb.open(f"{node.pdns.lmdb_path}-0", subdir=False, max_dbs=128, map_size=MAP_SIZE) as env:
        table = env.open_db(b"records", create=False)
        with env.begin(write=True) as txn:
            txn.delete(keys.record_key(1, b"ns1\0", rdtypes.A), db=table)
    node.agent.start()
    with pytest.raises(Refused) as refused:
        push(node, panel.change(ZONE, records(ZONE, "ns1", "A", 300, "192.0.2.2")))
    assert refused.value.error == "Diverged"
    status = node.client.status()
    assert status.position == Position(EPOCH, 1)
    assert "digest" in status.refusal
    assert status.refused_at > 0
    assert node.answer(WWW) == ["192.0.2.1"]


def test_what_an_agent_left_unpurged_the_next_one_purges(node: RunningNode, panel: Panel) -> None:
    """A fault: the agent is killed after the commit and before the purge, with the old answer in the caches."""
    push(node, panel.create(small_zone(ZONE)))
    assert node.answer(WWW) == ["192.0.2.1"]
    node.agent.stop()
    change = panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
    with Store.open(node.pdns.lmdb_path, 4, MAP_SIZE, cluster=CLUSTER) as store:
        store.apply(open_segment(change, PUBLIC_KEYS))
    assert node.answer(WWW) == ["192.0.2.1"]
    node.agent.start()
    deadline = time.monotonic() + 5
    while node.client.status().answered != Position(EPOCH, 2):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert node.answer(WWW) == ["192.0.2.2"]


def test_a_repeated_old_segment_does_not_hide_a_refusal(node: RunningNode, panel: Panel) -> None:
    first = panel.create(small_zone(ZONE))
    push(node, first)
    damaged = bytearray(panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2")))
    damaged[-1] ^= 1
    with pytest.raises(Refused):
        push(node, bytes(damaged))
    push(node, first)
    assert "signature" in node.client.status().refusal
    push(node, panel.segments[1])
    assert node.client.status().refusal == ""
    assert node.client.status().state == "in order"


def test_an_empty_push_is_refused(shared_node: RunningNode) -> None:
    with pytest.raises(Refused, match="empty"):
        push(shared_node, b"")


def test_a_second_agent_on_the_same_node_refuses_to_start(shared_node: RunningNode) -> None:
    done = run_agent("run", "--config", str(shared_node.files.path))
    assert done.returncode == 1
    assert "in use by another process" in done.stderr


def test_stopping_the_agent_leaves_powerdns_alone(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    assert node.agent.signal(signal.SIGTERM) == 0
    assert node.answer(WWW) == ["192.0.2.1"]
    assert f"stopped node=ns1 position=epoch={EPOCH} sequence=1" in node.agent.log()


def test_one_push_is_one_line_of_the_log(node: RunningNode, panel: Panel) -> None:
    sealed = panel.create(small_zone(ZONE))
    push(node, sealed)
    [line] = [line for line in node.agent.log().splitlines() if "applied" in line]
    assert f"applied from=0 to=1 bytes={len(sealed)} apply_ms=" in line
    assert "192.0.2" not in node.agent.log()


def test_a_peaceful_node_is_small(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(*(small_zone(f"z{number}.test.") for number in range(2000))))
    assert node.client.status().peak_rss_bytes < 64 << 20


# --- the command line


def run_agent(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "replication.agent", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=Path(__file__).parents[3],
    )


def test_prepared_files_let_powerdns_start_before_the_agent(files: AgentFiles, panel: Panel) -> None:
    done = run_agent("prepare", "--config", str(files.path))
    assert done.returncode == 0, done.stderr
    assert "is ready for PowerDNS, schema 4" in done.stdout
    printed = run_agent("pdnsconf", "--config", str(files.path))
    (files.pdns.directory / "pdns.conf").write_text(printed.stdout)
    agent = AgentProcess(files)
    client = client_for(files, files.authority.client_context())
    try:
        files.pdns.start()
        agent.start()
        sealed = panel.create(small_zone(ZONE))
        assert client.push(sealed, len(sealed)).position == Position(EPOCH, 1)
    finally:
        client.close()
        agent.stop()
        files.pdns.kill()


def test_a_bad_configuration_is_one_clear_text_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text("dns_port = 0\n")
    done = run_agent("run", "--config", str(tmp_path / "agent.toml"))
    assert done.returncode == 1
    assert "dns_port has to be between" in done.stderr
    assert "identity_dir is missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_agent_with_a_directory_of_its_own_refuses_the_same_lmdb_files(node: RunningNode) -> None:
    node.files.settings["state_dir"] = "other"
    node.files.write()
    done = run_agent("run", "--config", str(node.files.path))
    assert done.returncode == 1
    assert "pdns.lmdb (an agent) is in use by another process" in done.stderr


def test_a_port_that_is_taken_gives_one_line(node: RunningNode) -> None:
    node.files.settings |= {"state_dir": "other", "lmdb_path": "other.lmdb"}
    node.files.write()
    done = run_agent("run", "--config", str(node.files.path))
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr
