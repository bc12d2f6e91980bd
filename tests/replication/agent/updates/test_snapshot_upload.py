"""Snapshots sent to a real agent next to a real pdns_server: received, resumed, installed and interrupted."""

import contextlib
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import lmdb
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replication.agent.updates import snapshot_upload
from replication.disk import Disk
from replication.errors import Busy, NodeUnreachable, NotServed, Refused
from replication.node_client import NodeClient
from replication.push import send_snapshot
from replication.store.file_row import INSTALLING_KEY
from replication.store.opening import OWN_DBI
from replication.store.snapshot import Manifest, chunk_name, snapshot_id, write_snapshot
from replication.store.store import Store
from replication.wire.position import Position
from replication.wire.protocol import Status
from tests.full import Sample
from tests.replication.agent.conftest import RunningNode
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, SIGNING_KEY, TIME_NS, Panel, records, small_zone

ZONE = "example.test."
WWW = "www.example.test."


@dataclass
class Made:
    """A snapshot as the panel stores it."""

    directory: Path
    manifest: Manifest
    sealed: bytes

    @property
    def name(self) -> str:
        return snapshot_id(self.sealed)

    def chunk(self, number: int) -> bytes:
        return (self.directory / chunk_name(number)).read_bytes()

    def send(self, client: NodeClient) -> None:
        ack = send_snapshot(client, self.sealed, self.chunk, raw_size=self.manifest.raw_size)
        assert ack.position == self.manifest.position
        assert (ack.digest_main, ack.digest_records) == (self.manifest.digest_main, self.manifest.digest_records)


def made(panel: Panel, tmp_path: Path) -> Made:
    directory = tmp_path / f"snapshot-{panel.schema}-{panel.sequence}"
    manifest = write_snapshot(panel.store, directory, key=SIGNING_KEY, time_ns=TIME_NS)
    return Made(directory, manifest, (directory / "manifest").read_bytes())


def push(node: RunningNode, sealed: bytes) -> None:
    node.client.push(sealed, len(sealed))


def until(holds: Callable[[], bool], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def status_of(node: RunningNode) -> Status:
    """Return the status, even of an agent that is just starting."""
    for _ in range(100):
        with contextlib.suppress(NodeUnreachable):
            return node.client.status()
        time.sleep(0.1)
    raise AssertionError("the agent does not answer")


@contextmanager
def watching(node: RunningNode, *names: str) -> Iterator[set[str]]:
    """Record all answers for these names while the block runs."""
    found: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for name in names:
                found.update(node.answer(name))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()


# --- installing in place


def test_a_new_node_serves_a_snapshot_and_goes_on_with_segments(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    panel.create(*(small_zone(f"z{number}.test.") for number in range(500)))
    made(panel, tmp_path).send(node.client)
    assert node.answer("www.z499.test.") == ["192.0.2.1"]
    status = node.client.status()
    assert (status.position, status.answered) == (Position(EPOCH, 1), Position(EPOCH, 1))
    assert status.state == "in order"
    assert status.installing is None
    push(node, panel.change("z7.test.", records("z7.test.", "www", "A", 300, "192.0.2.7")))
    assert node.answer("www.z7.test.") == ["192.0.2.7"]
    assert node.client.status().digest_records == panel.store.digests()[1]


def test_zones_that_stay_are_answered_all_the_while(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    names = [f"z{number}.test." for number in range(400)]
    push(node, panel.create(*map(small_zone, names)))
    panel.delete(*names[::3])
    panel.create(*map(small_zone, names[::6]))  # the same names with other ids
    panel.change_all({name: [records(name, "www", "A", 300, "192.0.2.2")] for name in names[1::3]})
    panel.create(*(small_zone(f"n{number}.test.") for number in range(400)))
    stay = [f"www.{name}" for name in (names[0], names[1], names[2], names[391], names[396])]
    with watching(node, *stay) as answers:
        made(panel, tmp_path).send(node.client)
    assert answers == {"192.0.2.1", "192.0.2.2"}
    assert node.answer(f"www.{names[1]}") == ["192.0.2.2"]
    assert node.answer(f"www.{names[3]}") == ["REFUSED"]
    assert node.answer(f"www.{names[6]}") == ["192.0.2.1"]
    assert node.answer("www.n399.test.") == ["192.0.2.1"]


def test_a_node_that_diverged_is_mended_by_a_snapshot_of_its_own_position(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    push(node, panel.create(small_zone(ZONE), small_zone("other.test.")))
    push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2")))
    before = made(panel, tmp_path)
    stray = Panel(tmp_path_of(tmp_path, "stray"))  # a writer of rows that the panel never had
    try:
        stray.create(small_zone(ZONE, records(ZONE, "ghost", "A", 60, "192.0.2.66")))
        stray.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.99"))
        node.agent.stop()
        for name in ("", "-0"):
            shutil.copyfile(f"{tmp_path / 'stray' / 'panel.lmdb'}{name}", f"{node.pdns.lmdb_path}{name}")
    finally:
        stray.close()
    node.pdns.kill()
    node.agent.start()
    node.pdns.start()
    assert node.answer("ghost.example.test.") == ["192.0.2.66"]
    before.send(node.client)
    assert node.answer("ghost.example.test.") == ["NXDOMAIN"]
    assert node.answer(WWW) == ["192.0.2.2"]
    assert node.answer("www.other.test.") == ["192.0.2.1"]


def tmp_path_of(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def test_a_node_of_another_epoch_takes_the_snapshot_of_the_new_one(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    push(node, panel.create(small_zone(ZONE), small_zone("gone.test.")))
    restored = Panel(tmp_path_of(tmp_path, "restored"), epoch=UUID(int=7))
    try:
        restored.create(small_zone(ZONE, serial=9))
        made(restored, tmp_path).send(node.client)
        assert node.client.status().position == Position(UUID(int=7), 1)
        assert node.answer("www.gone.test.") == ["REFUSED"]
        push(node, restored.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.4")))
        assert node.answer(WWW) == ["192.0.2.4"]
    finally:
        restored.close()


def test_a_snapshot_from_before_the_nodes_position_is_refused(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    push(node, panel.create(small_zone(ZONE)))
    old = made(panel, tmp_path)
    push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2")))
    with pytest.raises(Refused, match="this node is at 2") as refused:
        old.send(node.client)
    assert refused.value.error == "BadSnapshot"
    assert node.client.status().position == Position(EPOCH, 2)


def test_while_powerdns_is_down_a_snapshot_is_kept_and_not_acknowledged(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    panel.create(small_zone(ZONE))
    snapshot = made(panel, tmp_path)
    node.pdns.kill()
    with pytest.raises(NotServed):
        snapshot.send(node.client)
    assert node.client.status().position == Position(EPOCH, 1)
    node.pdns.start()
    snapshot.send(node.client)
    assert node.answer(WWW) == ["192.0.2.1"]


# --- receiving


def test_what_was_received_is_kept_across_restarts_of_the_agent(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    panel.create(small_zone(ZONE))
    snapshot = made(panel, tmp_path)
    assert node.client.offer_snapshot(snapshot.sealed) == [0, 1]
    node.client.send_chunk(snapshot.name, 1, snapshot.chunk(1))
    assert node.client.status().installing == (snapshot.name, 1, 2)
    assert node.client.status().state == "bootstrapping: 1 of 2 chunks of the snapshot are here"
    node.agent.signal(signal.SIGKILL)
    node.agent.start()
    assert node.client.status().installing == (snapshot.name, 1, 2)
    assert node.client.offer_snapshot(snapshot.sealed) == [0]
    with pytest.raises(Refused, match="1 of its chunks are not here"):
        node.client.install_snapshot(snapshot.name, 0)
    snapshot.send(node.client)
    assert node.answer(WWW) == ["192.0.2.1"]
    assert not list((node.files.directory / "state" / "snapshot").iterdir())


def test_a_newer_snapshot_takes_the_place_of_one_on_its_way(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    first = made(panel, tmp_path)
    node.client.offer_snapshot(first.sealed)
    panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.2"))
    second = made(panel, tmp_path)
    second.send(node.client)
    with pytest.raises(Refused, match="it was not offered"):
        node.client.send_chunk(first.name, 0, first.chunk(0))
    assert node.answer(WWW) == ["192.0.2.2"]


def test_nothing_altered_is_taken(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    snapshot = made(panel, tmp_path)
    altered = bytearray(snapshot.sealed)
    altered[40] ^= 1
    with pytest.raises(Refused) as refused:
        node.client.offer_snapshot(bytes(altered))
    assert refused.value.error == "BadSignature"
    with pytest.raises(Refused) as refused:
        node.client.offer_snapshot(snapshot.manifest.seal(Ed25519PrivateKey.generate()))
    assert refused.value.error == "BadSignature"
    assert "signature" in node.client.status().refusal
    node.client.offer_snapshot(snapshot.sealed)
    for wrong in (snapshot.chunk(1), snapshot.chunk(0)[:-1], b""):
        with pytest.raises(Refused, match="is not what the manifest names"):
            node.client.send_chunk(snapshot.name, 0, wrong)
    with pytest.raises(Refused, match="no chunk 2"):
        node.client.send_chunk(snapshot.name, 2, snapshot.chunk(1))
    assert node.client.offer_snapshot(snapshot.sealed) == [0, 1]
    snapshot.send(node.client)
    assert node.client.status().refusal == ""


def test_a_snapshot_of_another_cluster_or_for_another_schema_is_refused(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    panel.create(small_zone(ZONE))
    manifest = made(panel, tmp_path).manifest
    for altered, error in (
        (replace(manifest, cluster=UUID(int=5)), "WrongCluster"),
        (replace(manifest, schema=6), "BadSnapshot"),
    ):
        with pytest.raises(Refused) as refused:
            node.client.offer_snapshot(altered.seal(SIGNING_KEY))
        assert refused.value.error == error
    assert node.client.status().installing is None


def test_a_snapshot_larger_than_the_map_is_refused_before_it_travels(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    node.agent.stop()
    node.files.settings["map_size_mib"] = 1
    node.files.write()
    node.agent.start()
    panel.create(*(small_zone(f"z{number}.test.") for number in range(4000)))
    with pytest.raises(Refused, match="map size 1 MiB") as refused:
        made(panel, tmp_path).send(node.client)
    assert refused.value.error == "MapFull"


def test_a_snapshot_of_many_chunks_needs_few_inodes() -> None:
    size = 10_000 * (1 << 20)
    assert snapshot_upload._lack_of_room(size, size, Disk(2 * size, 4 * size, 6, 1000)) == ""
    assert snapshot_upload._lack_of_room(size, size, Disk(2 * size, 4 * size, 0, 0)) == ""
    few = snapshot_upload._lack_of_room(size, size, Disk(2 * size, 4 * size, 5, 1000))
    assert few == "a snapshot needs 6 inodes, and 5 are free"
    assert "and 0 are free" in snapshot_upload._lack_of_room(size, 0, Disk(0, 4 * size, 6, 1000))


# --- killed in between


@pytest.mark.turn(2, reason="kills within the installation of a snapshot")
def test_an_agent_killed_anywhere_in_an_installation_ends_with_all_of_it(
    node: RunningNode, panel: Panel, tmp_path: Path, sample: Sample
) -> None:
    names = [f"z{number}.test." for number in range(3000)]
    push(node, panel.create(*map(small_zone, names)))
    panel.change_all({name: [records(name, "www", "A", 300, "192.0.2.2")] for name in names[1::3]})
    panel.delete(*names[2::3])
    panel.create(*(small_zone(f"n{number}.test.") for number in range(3000)))
    snapshot = made(panel, tmp_path)
    with watching(node, f"www.{names[0]}", f"www.{names[1]}") as answers:
        delays = [0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
        for delay in sample.some(delays, 3, reason="kills within one installation of a snapshot, a second each"):
            killer = threading.Timer(delay, lambda: node.agent.signal(signal.SIGKILL))
            killer.start()
            with contextlib.suppress(NodeUnreachable, Busy):  # faster than the kill, or continuing on its own
                for number in node.client.offer_snapshot(snapshot.sealed):
                    node.client.send_chunk(snapshot.name, number, snapshot.chunk(number))
                node.client.install_snapshot(snapshot.name, snapshot.manifest.raw_size)
            killer.join()
            node.agent.start()
            assert node.client.status().position in (None, Position(EPOCH, 1), snapshot.manifest.position)
        snapshot.send(node.client)
    assert answers == {"192.0.2.1", "192.0.2.2"}
    assert node.answer(f"www.{names[2]}") == ["REFUSED"]
    push(node, panel.change(names[0], records(names[0], "www", "A", 300, "192.0.2.3")))
    assert node.answer(f"www.{names[0]}") == ["192.0.2.3"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, sample: Sample) -> Made:
    """Make a snapshot of many zones, named z0.test., z1.test., and so on."""
    zones = sample.few(10_000, 40_000, reason="zones of a large snapshot")
    directory = tmp_path_factory.mktemp("large")
    panel = Panel(directory)
    for first in range(0, zones, 10_000):
        panel.create_packed(*(small_zone(f"z{number}.test.") for number in range(first, first + 10_000)))
    snapshot = made(panel, directory)
    panel.close()
    return snapshot


@contextmanager
def killed_while_it_installs(node: RunningNode) -> Iterator[None]:
    """Kill the agent once its file shows that an installation has begun. Start it again after the block."""
    over = threading.Event()
    path = str(node.pdns.lmdb_path)

    def kill() -> None:
        with lmdb.open(path, subdir=False, readonly=True, max_dbs=1, max_spare_txns=0) as env:
            own = env.open_db(OWN_DBI, create=False)
            while not over.is_set():
                with env.begin() as reading:
                    if reading.get(INSTALLING_KEY, db=own) is not None:
                        node.agent.signal(signal.SIGKILL)
                        return
                time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()
        if not node.agent.is_running:
            node.agent.start()


def test_an_agent_ends_by_itself_what_a_kill_cut_short(node: RunningNode, large: Made) -> None:
    snapshot = large
    for _ in range(10):  # it may be faster than the killing thread
        with killed_while_it_installs(node), contextlib.suppress(NodeUnreachable):
            for number in node.client.offer_snapshot(snapshot.sealed):
                node.client.send_chunk(snapshot.name, number, snapshot.chunk(number))
            node.client.install_snapshot(snapshot.name, snapshot.manifest.raw_size)
        if status_of(node).state.startswith("bootstrapping"):
            break
    else:
        pytest.fail("it was never killed in the midst of it")
    until(lambda: status_of(node).answered == snapshot.manifest.position, "the agent goes on by itself", 60)
    assert node.answer("www.z9999.test.") == ["192.0.2.1"]


def test_a_half_installed_snapshot_takes_no_segments_until_another_is_installed(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    first = panel.create(small_zone(ZONE))
    node.agent.stop()
    with Store.open(node.pdns.lmdb_path, 4, MAP_SIZE, cluster=CLUSTER) as store:
        store.refuse_segments()
    node.agent.start()
    with pytest.raises(Refused) as refused:
        push(node, first)
    assert refused.value.error == "Unfinished"
    assert node.client.status().position is None
    made(panel, tmp_path).send(node.client)
    assert node.client.status().state == "in order"
    assert node.answer(WWW) == ["192.0.2.1"]


def test_a_large_installation_stays_small_in_memory(node: RunningNode, large: Made) -> None:
    large.send(node.client)
    assert node.client.status().peak_rss_bytes < 64 << 20


def test_powerdns_can_be_told_to_start_again(node: RunningNode) -> None:
    node.client.restart()
    with pytest.raises(NotServed):
        node.client.restart()
    until(lambda: "does not answer" in node.client.status().state, "it is missed")
    node.pdns.kill()
    node.pdns.start()
    until(lambda: node.client.status().unserved == "", "it is seen again")
