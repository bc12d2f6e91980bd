"""Changes by another program to a live node's files: found in seconds, named, and repaired zone by zone.

Tests `agent.zones` too.
"""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.agent.integrity_scan import AVERAGE_SHARE, PAUSE_SECONDS, SHARE, IntegrityScanner, share_of
from replication.codec import keys, values
from replication.compile import compile_zone
from replication.dns import rdtypes
from replication.errors import Refused
from replication.node_client import NodeClient, RepairAnswer
from replication.store.repair_zone import repair_header, seal_repair
from replication.store.store import Store
from replication.wire.operations import ZoneMark
from replication.wire.segment import open_segment
from tests.replication.agent.conftest import RunningNode
from tests.replication.panel import (
    CLUSTER,
    MAP_SIZE,
    PUBLIC_KEYS,
    SIGNING_KEY,
    TIME_NS,
    Panel,
    records,
    small_zone,
    zone_digest,
)

ZONE = "example.test."
WWW = "www.example.test."
OTHER = "other.test."


def flip_a_bit(path: Path, body: bytes) -> None:
    """Flip one bit in every copy of a value in the file, without LMDB noticing."""
    content = path.read_bytes()
    at = content.find(body)
    assert at >= 0
    with path.open("r+b") as file:
        while at >= 0:
            os.pwrite(file.fileno(), bytes((content[at + 5] ^ 0x04,)), at + 5)
            at = content.find(body, at + 1)


@pytest.fixture
def filled(node: RunningNode, panel: Panel) -> RunningNode:
    """Return the node with two zones that its agent has already checked."""
    sealed = panel.create(small_zone(ZONE), small_zone(OTHER))
    node.client.push(sealed, len(sealed))
    before = node.client.status().checked_at
    node.client.check()
    until(lambda: node.client.status().checked_at > before, seconds=10)
    assert node.client.status().diverged == ()
    return node


def until(condition: object, *, seconds: float) -> float:
    began = time.monotonic()
    while not condition():  # type: ignore[operator]
        assert time.monotonic() - began < seconds, "not in time"
        time.sleep(0.05)
    return time.monotonic() - began


def pdnsutil(node: RunningNode, *arguments: str) -> None:
    command = ["pdnsutil", f"--config-dir={node.pdns.directory}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def found(client: NodeClient, *, seconds: float = 8) -> dict[int, tuple[str, str]]:
    """Return the zones that the agent reports as diverged, once it reports any."""
    until(lambda: client.status().diverged, seconds=seconds)
    return {zone_id: (name, reason) for zone_id, name, reason in client.status().diverged}


def repair(node: RunningNode, panel: Panel, zone_id: int, name: str) -> RepairAnswer:
    position = panel.store.position()
    assert position is not None
    is_ours = name in panel.zones and panel.zones[name][0] == zone_id
    mark = ZoneMark(zone_id, name, panel.serial(name) if is_ours else None)
    sealed = seal_repair(
        repair_header(
            schema=panel.store.schema,
            cluster=CLUSTER,
            position=position,
            time_ns=TIME_NS,
            digests=panel.store.digests(),
        ),
        mark=mark,
        records=panel.store.rows(zone_id).raw(),
        key=SIGNING_KEY,
    )
    return node.client.repair(sealed)


def assert_in_order(node: RunningNode, panel: Panel) -> None:
    status = node.client.status()
    assert status.diverged == ()
    assert (status.digest_main, status.digest_records) == panel.store.digests()
    assert status.state == "in order"
    before = status.checked_at
    node.client.check()
    until(lambda: node.client.status().checked_at > before, seconds=10)
    assert node.client.status().diverged == ()


def test_an_rrset_changed_with_pdnsutil_is_found_and_put_right(filled: RunningNode, panel: Panel) -> None:
    pdnsutil(filled, "replace-rrset", "example.test", "www", "A", "60", "192.0.2.66")
    zone_id = panel.zones[ZONE][0]
    name, reason = found(filled.client)[zone_id]
    assert (name, reason) == (ZONE, "its records are not what the panel wrote")
    assert filled.client.status().state.startswith(f"not what the panel wrote: {ZONE}")
    answer = repair(filled, panel, zone_id, ZONE)
    assert f"{WWW} A was not what the panel wrote" in answer.differences
    assert filled.answer(WWW) == ["192.0.2.1"]
    assert_in_order(filled, panel)


def test_an_rrset_deleted_with_pdnsutil_is_found_and_comes_back(filled: RunningNode, panel: Panel) -> None:
    pdnsutil(filled, "delete-rrset", "example.test", "www", "A")
    zone_id = panel.zones[ZONE][0]
    assert set(found(filled.client)) == {zone_id}
    assert f"{WWW} A was missing" in repair(filled, panel, zone_id, ZONE).differences
    assert filled.answer(WWW) == ["192.0.2.1"]
    assert_in_order(filled, panel)


def test_a_zone_that_somebody_created_on_the_node_is_found_and_goes(filled: RunningNode, panel: Panel) -> None:
    pdnsutil(filled, "create-zone", "foreign.test", "ns1.foreign.test")
    pdnsutil(filled, "set-meta", "foreign.test", "ALLOW-AXFR-FROM", "192.0.2.0/24")
    ((zone_id, (name, reason)),) = found(filled.client).items()
    assert name == "foreign.test."
    assert "created on the server, not by the panel" in reason
    repair(filled, panel, zone_id, name)
    assert filled.answer("foreign.test.", rdtypes.SOA) == ["REFUSED"]
    assert_in_order(filled, panel)


def test_a_zone_deleted_with_pdnsutil_is_found_and_comes_back(filled: RunningNode, panel: Panel) -> None:
    pdnsutil(filled, "delete-zone", "example.test")
    zone_id = panel.zones[ZONE][0]
    named = found(filled.client)
    assert set(named) == {zone_id}
    assert "gone from the list of zones" in named[zone_id][1]
    repair(filled, panel, zone_id, ZONE)
    assert filled.answer(WWW) == ["192.0.2.1"]
    assert_in_order(filled, panel)


def test_metadata_added_with_pdnsutil_is_found_and_goes(filled: RunningNode, panel: Panel) -> None:
    pdnsutil(filled, "set-meta", "example.test", "ALLOW-AXFR-FROM", "192.0.2.0/24")
    zone_id = panel.zones[ZONE][0]
    assert found(filled.client)[zone_id] == (ZONE, "metadata was added on the server")
    assert repair(filled, panel, zone_id, ZONE).differences == ("metadata had been added",)
    assert_in_order(filled, panel)


def test_a_flipped_bit_is_found_by_reading_and_the_other_zone_stays_as_it_is(filled: RunningNode, panel: Panel) -> None:
    body = panel.store.rows(panel.zones[ZONE][0]).get(b"www\0", rdtypes.A)
    assert body is not None
    sealed = panel.change(ZONE, records(ZONE, "www", "A", 77, "192.0.2.201"))
    filled.client.push(sealed, len(sealed))
    flip_a_bit(Path(f"{filled.pdns.lmdb_path}-0"), values.encode_rrset([bytes((192, 0, 2, 201))], 77, auth=True))
    took = until(lambda: filled.client.status().diverged, seconds=40)
    zone_id = panel.zones[ZONE][0]
    assert {zone for zone, _, _ in filled.client.status().diverged} == {zone_id}
    answer = repair(filled, panel, zone_id, ZONE)
    assert answer.differences == (f"{WWW} A was not what the panel wrote",)
    assert answer.rows == 1
    assert filled.answer(WWW) == ["192.0.2.201"]
    assert_in_order(filled, panel)
    assert took < 30


def test_a_push_that_meets_foreign_rows_names_the_zone_at_once(filled: RunningNode, panel: Panel) -> None:
    pdnsutil(filled, "replace-rrset", "example.test", "www", "A", "60", "192.0.2.66")
    change = panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
    with pytest.raises(Refused) as refused:
        filled.client.push(change, len(change))
    assert refused.value.error == "Diverged"
    zone_id = panel.zones[ZONE][0]
    assert set(found(filled.client, seconds=3)) == {zone_id}
    at_node = filled.client.status().position
    assert at_node is not None
    # The panel compiles the zone at the node's position, which is before the change.
    compiled = compile_zone(ZONE, small_zone(ZONE))
    rows = [(keys.record_key(zone_id, rel, type), body) for rel, type, body in compiled]
    filled.client.repair(
        seal_repair(
            repair_header(
                schema=panel.store.schema,
                cluster=CLUSTER,
                position=at_node,
                time_ns=TIME_NS,
                digests=(bytes(16), bytes(16)),
            ),
            mark=ZoneMark(zone_id, ZONE, 1),
            records=rows,
            key=SIGNING_KEY,
        )
    )
    filled.client.push(change, len(change))
    assert filled.answer(WWW) == ["192.0.2.2"]
    assert_in_order(filled, panel)


def test_powerdns_itself_commits_nothing(filled: RunningNode, panel: Panel) -> None:
    """Otherwise every start of PowerDNS would look like another program's commit."""
    before = Path(f"{filled.pdns.lmdb_path}").stat(), filled.client.status().checked_at
    filled.pdns.kill()
    filled.pdns.start()
    for name in (WWW, "www.other.test.", "nothing.test."):
        filled.answer(name)
    for command in (["list-zones"], ["rediscover"], ["purge"]):
        subprocess.run(
            ["pdns_control", f"--config-dir={filled.pdns.directory}", *command], check=True, capture_output=True
        )
    pdnsutil(filled, "list-all-zones")
    pdnsutil(filled, "check-zone", "example.test")
    time.sleep(1.5)  # a check would notice a foreign commit within a second
    log = filled.agent.log()
    assert "diverged" not in log
    assert filled.client.status().checked_at == before[1], "a check that nobody asked for, within its pause"


def test_a_node_tells_its_zones_and_their_rows(filled: RunningNode, panel: Panel) -> None:
    zones = list(filled.client.zones())
    assert [(zone.name, zone.serial) for zone in zones] == [(ZONE, 1), (OTHER, 1)]
    for zone in zones:
        assert bytes.fromhex(zone.digest) == zone_digest(panel.store, zone.zone_id)
        assert filled.client.zone_rows(zone.zone_id) == list(panel.store.rows(zone.zone_id).raw())
    assert filled.client.zone_rows(99) == []


# Without processes


@pytest.fixture
def store(tmp_path: Path, panel: Panel) -> Iterator[Store]:
    panel.create(*(small_zone(f"z{number}.test.") for number in range(20)))
    with Store.open(tmp_path / "node.lmdb", 4, MAP_SIZE, cluster=CLUSTER, sync=False) as store:
        store.apply(open_segment(panel.segments[0], PUBLIC_KEYS))
        yield store


def alter(store: Store, zone_id: int) -> None:
    table = store._records
    with table.env.begin(write=True) as txn:
        txn.put(keys.record_key(zone_id, b"www\0", rdtypes.A), b"wrong", db=table.tables[0])


def test_a_check_is_due_at_the_start_then_after_a_pause_or_on_request(store: Store) -> None:
    scanner = IntegrityScanner(store, clock=lambda: 1000.0)
    assert scanner.step(time.monotonic())
    assert (scanner.checked_at, scanner.share) == (1000.0, 1.0)
    assert not scanner.step(time.monotonic())
    assert scanner.step(time.monotonic() + 60)
    scanner.check_now()
    assert scanner.step(time.monotonic())


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.08, 0.1, 0.5, 12.0, 300.0])
def test_checks_and_their_pauses_take_a_small_share_of_the_time(seconds: float) -> None:
    share = share_of(seconds)
    assert 0 < share <= SHARE
    assert seconds / (seconds / share + PAUSE_SECONDS) <= AVERAGE_SHARE * 1.001


def test_a_foreign_commit_is_looked_at_at_once_and_only_once(store: Store) -> None:
    scanner = IntegrityScanner(store)
    scanner.step(time.monotonic())
    alter(store, 3)
    assert scanner.step(time.monotonic())
    assert [zone_id for zone_id, _, _ in scanner.diverged] == [3]
    assert scanner.diverged_count == 1
    assert not scanner.step(time.monotonic())


def test_suspects_come_first_and_leave_what_is_known_of_others(store: Store) -> None:
    scanner = IntegrityScanner(store)
    alter(store, 3)
    scanner.step(time.monotonic())
    alter(store, 5)
    scanner.suspect([5, 6])
    assert scanner.step(time.monotonic())
    assert [zone_id for zone_id, _, _ in scanner.diverged] == [3, 5]
    table = store._records
    with table.env.begin(write=True) as txn:
        txn.put(
            keys.record_key(3, b"www\0", rdtypes.A),
            values.encode_rrset([bytes((192, 0, 2, 1))], 300, auth=True),
            db=table.tables[0],
        )
    scanner.recheck([3])
    assert [zone_id for zone_id, _, _ in scanner.diverged] == [5]


def test_a_check_stands_back_while_a_push_is_under_way_but_not_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []
    monkeypatch.setattr("replication.agent.integrity_scan.LONGEST_WAIT", 0.02)
    monkeypatch.setattr("replication.agent.integrity_scan.SLICE_SECONDS", 0.0)
    scanner = IntegrityScanner(store, is_busy=lambda within: bool(calls.append(time.monotonic()) or True))
    assert scanner.step(time.monotonic())
    assert scanner.checked_at > 0
    assert len(calls) > 3


def test_files_that_cannot_be_read_are_told_and_end_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(self: object) -> None:
        raise RuntimeError("MDB_CORRUPTED")

    monkeypatch.setattr("replication.store.checking.Check.everything", damaged)
    scanner = IntegrityScanner(store)
    assert scanner.step(time.monotonic())
    assert scanner.diverged == ((0, "", "the files cannot be read: MDB_CORRUPTED"),)
    monkeypatch.undo()
    scanner.check_now()
    assert scanner.step(time.monotonic())
    assert scanner.diverged == ()


def test_a_thread_checks_until_it_is_stopped(store: Store) -> None:
    scanner = IntegrityScanner(store)
    thread = threading.Thread(target=scanner.run)
    thread.start()
    until(lambda: scanner.checked_at, seconds=10)
    alter(store, 4)
    until(lambda: scanner.diverged, seconds=10)
    scanner.stop()
    thread.join(5)
    assert not thread.is_alive()
