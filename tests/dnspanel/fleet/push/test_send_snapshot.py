"""Tests of snapshots for nodes that need more than segments, over real TLS to agents with a real LMDB."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.models import Ack, Bootstrap, Node, NodeEvent
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.push import send_snapshot as module
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.fleet.push.lease import LIFETIME
from dnspanel.fleet.reads.queries import node_statuses
from dnspanel.fleet.tasks import bootstrap_node, late_nodes, push_node
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.snapshots import make_snapshot
from dnspanel.publish.models import Segment, Snapshot
from dnspanel.publish.storage.prune import prune_log
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Epoch, LogHead, Zone
from dnspanel.zones.publishing import edit
from replication.errors import DiskFull, MapFull, ReplicationError
from replication.store import snapshot as wire
from tests.dnspanel.fleet.agents import open_store
from tests.dnspanel.fleet.conftest import Served
from tests.faults.disk import flip_bit

pytestmark = pytest.mark.django_db(transaction=True)

Serve = Callable[..., Served]


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Return a list that records enqueued tasks in place of a broker."""
    heard: list[tuple[str, int]] = []
    for task in (tasks.push_node, tasks.bootstrap_node):
        name = task.name.rpartition(".")[2]
        monkeypatch.setattr(task, "apply_async", lambda args, name=name, **_: heard.append((name, *args)))
    monkeypatch.setattr(module, "request_snapshot", lambda *, schema: heard.append(("make_snapshot", schema)))
    return heard


def publish(name: str) -> None:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", timezone.now()))
    assert encode_step(now=timezone.now()) is not None


def delete(name: str) -> None:
    zone = Zone.objects.get(name=name, deleted_at=None)
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    assert encode_step(now=timezone.now()) is not None


def snapshot_and_prune() -> None:
    """Make a snapshot, and prune the log of everything before it. Nodes that are behind need the snapshot."""
    make_snapshot(schema=4, now=timezone.now())
    prune_log(needed={}, now=timezone.now())


def node(name: str = "ns1") -> Node:
    return Node.objects.get(name=name)


def zones(made: Served) -> set[str]:
    names = [f"{letter}.test." for letter in "abcdefgh"]
    return {name for name in names if made.agent.store.zone_id(name) is not None}


def give(made: Served) -> None:
    """Send the node its snapshot and then the later segments, as two workers would."""
    bootstrap_node(made.node.pk)
    push_node(made.node.pk)


def test_a_new_node_gets_the_snapshot_and_then_the_segments(served: Serve, woken: list[Any]) -> None:
    for name in ("a.test.", "b.test."):
        publish(name)
    snapshot_and_prune()
    publish("c.test.")
    made = served()
    push_node(made.node.pk)
    bootstrap = Bootstrap.objects.get()
    assert "no segments lead on" in bootstrap.reason
    assert ("bootstrap_node", made.node.pk) in woken
    woken.clear()
    bootstrap_node(made.node.pk)
    assert not Bootstrap.objects.exists()
    assert (node().acked, woken) == (2, [("push_node", made.node.pk)])
    push_node(made.node.pk)
    assert (node().acked, zones(made)) == (3, {"a.test.", "b.test.", "c.test."})
    assert bytes(node().digest or b"") == bytes(Segment.objects.get(last=3).digest)
    assert list(Ack.objects.order_by("sequence").values_list("sequence", flat=True)) == [2, 3]
    assert late_nodes() == []


def test_a_node_behind_the_pruned_log_comes_back_and_nothing_is_resurrected(served: Serve) -> None:
    publish("a.test.")
    publish("b.test.")
    made = served()
    push_node(made.node.pk)
    delete("a.test.")
    publish("c.test.")
    snapshot_and_prune()
    publish("d.test.")
    assert not Segment.objects.filter(first=3).exists()
    push_node(made.node.pk)
    assert Bootstrap.objects.exists()
    give(made)
    assert (node().acked, zones(made)) == (5, {"b.test.", "c.test.", "d.test."})
    assert made.agent.store.digests() == newest_digests(made)


def newest_digests(made: Served) -> tuple[bytes, bytes]:
    digest = bytes(Segment.objects.order_by("-last")[0].digest)
    return digest[:16], digest[16:]


def test_a_node_that_lost_its_disk_is_filled_by_a_snapshot(served: Serve, tmp_path: Path) -> None:
    made = served()
    for name in ("a.test.", "b.test."):
        publish(name)
        push_node(made.node.pk)
    snapshot_and_prune()
    made.agent.store.close()
    made.agent.store = open_store(tmp_path / "new disk", LogHead.objects.get().cluster)
    publish("c.test.")
    push_node(made.node.pk)
    give(made)
    assert (node().acked, zones(made)) == (3, {"a.test.", "b.test.", "c.test."})


def test_a_damaged_segment_is_led_around(served: Serve, publisher_directory: Path, woken: list[Any]) -> None:
    made = served()
    publish("a.test.")
    push_node(made.node.pk)
    publish("b.test.")
    publish("c.test.")
    path = publisher_directory / "segments" / Segment.objects.get(first=2).object_name
    flip_bit(path, path.stat().st_size - 1)
    push_node(made.node.pk)
    assert Segment.objects.get(first=2).damaged
    assert node().refusal == ""
    give(made)
    assert "creating the snapshot" in Bootstrap.objects.get().error
    assert ("make_snapshot", 4) in woken
    make_snapshot(schema=4, now=timezone.now())
    Bootstrap.objects.update(beat_at=None)
    give(made)
    assert (node().acked, zones(made)) == (3, {"a.test.", "b.test.", "c.test."})


def test_a_missing_segment_is_led_around(served: Serve, publisher_directory: Path) -> None:
    made = served()
    publish("a.test.")
    publish("b.test.")
    (publisher_directory / "segments" / Segment.objects.get(first=1).object_name).unlink()
    make_snapshot(schema=4, now=timezone.now())
    push_node(made.node.pk)
    give(made)
    assert (node().acked, zones(made)) == (2, {"a.test.", "b.test."})


def test_a_damaged_snapshot_is_replaced(served: Serve, publisher_directory: Path, woken: list[Any]) -> None:
    publish("a.test.")
    snapshot_and_prune()
    snapshot = Snapshot.objects.get()
    (publisher_directory / "segments" / snapshot.object_name).with_name("00001").write_bytes(b"nothing")
    made = served()
    push_node(made.node.pk)
    bootstrap_node(made.node.pk)
    assert not Snapshot.objects.exists()
    assert ("make_snapshot", 4) in woken
    make_snapshot(schema=4, now=timezone.now())
    Bootstrap.objects.update(beat_at=None)
    give(made)
    assert (node().acked, zones(made)) == (1, {"a.test."})


def test_an_attempt_that_was_cut_off_is_resumed_where_it_was(served: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "CHUNK_SIZE", 8 << 10)
    for number in range(4):
        publish(f"{'abcd'[number]}.test.")
    snapshot_and_prune()
    made = served()
    chunks = Snapshot.objects.get().chunks
    assert chunks > 4
    push_node(made.node.pk)
    made.agent.chunks_until_death = 3
    bootstrap_node(made.node.pk)
    bootstrap = Bootstrap.objects.get()
    assert (bootstrap.chunks, bootstrap.chunks_sent) == (chunks, 3)
    assert bootstrap.bytes_sent > 0
    assert bootstrap.error
    made.agent.chunks_until_death = chunks - 3
    Bootstrap.objects.update(beat_at=None)
    give(made)
    assert made.agent.chunks_until_death == 0
    assert (node().acked, len(zones(made))) == (4, 4)


def test_while_another_worker_is_at_it_nothing_is_done_twice(served: Serve) -> None:
    publish("a.test.")
    snapshot_and_prune()
    made = served()
    push_node(made.node.pk)
    Bootstrap.objects.update(beat_at=timezone.now())
    requests = made.agent.requests
    give(made)
    assert made.agent.requests == requests
    Bootstrap.objects.update(beat_at=timezone.now() - LIFETIME - timedelta(seconds=1))
    give(made)
    assert node().acked == 1


def test_a_worker_whose_turn_was_taken_stops_and_writes_nothing(served: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    publish("a.test.")
    snapshot_and_prune()
    made = served()
    push_node(made.node.pk)
    real = module.read_chunk

    def taken_over(*args: Any) -> bytes:
        Bootstrap.objects.update(beat_at=timezone.now() + timedelta(seconds=1))
        return real(*args)

    monkeypatch.setattr(module, "read_chunk", taken_over)
    bootstrap_node(made.node.pk)
    assert node().acked == 0
    assert Bootstrap.objects.get().error == ""


def test_a_node_under_bootstrap_is_left_alone_by_pushes(served: Serve) -> None:
    made = served()
    publish("a.test.")
    assert ask_for_snapshot(node_id=made.node.pk, reason="a test wants it", now=timezone.now())
    push_node(made.node.pk)
    assert (made.agent.requests, late_nodes()) == (0, [])


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (DiskFull(path="state", reason="no space left"), "no space left"),
        (MapFull(path="the records file", map_size=2 << 20), "map size 2 MiB"),
    ],
    ids=["disk full", "map full"],
)
def test_what_the_agent_refuses_is_shown_and_tried_again(served: Serve, refusal: ReplicationError, words: str) -> None:
    publish("a.test.")
    snapshot_and_prune()
    made = served()
    push_node(made.node.pk)
    made.agent.refuse_snapshots_with = refusal
    bootstrap_node(made.node.pk)
    assert words in Bootstrap.objects.get().error
    [status] = node_statuses(now=timezone.now())
    assert status.health.word is Word.REJECTING
    assert words in status.health.message
    made.agent.refuse_snapshots_with = None
    Bootstrap.objects.update(beat_at=None)
    give(made)
    assert (node().acked, node().refusal, node().refused_since) == (1, "", None)
    assert NodeEvent.objects.filter(kind="snapshot").latest("pk").sentence.startswith("Full snapshot installed")


def test_other_digests_than_the_manifests_are_no_proof(served: Serve) -> None:
    publish("a.test.")
    snapshot_and_prune()
    made = served()
    push_node(made.node.pk)
    made.agent.lie = True
    bootstrap_node(made.node.pk)
    assert node().acked == 0
    assert "digest" in Bootstrap.objects.get().error


def begin_epoch(after: int) -> None:
    epoch = uuid4()
    Epoch.objects.create(epoch=epoch, began_at=timezone.now(), began_after=after, reason="a test")
    LogHead.objects.update(epoch=epoch, sequence=after)
    assert encode_step(now=timezone.now()) is not None


def test_a_node_of_an_earlier_epoch_gets_a_snapshot_of_the_present_one(served: Serve) -> None:
    made = served()
    publish("a.test.")
    publish("b.test.")
    push_node(made.node.pk)
    begin_epoch(after=100)
    publish("c.test.")
    push_node(made.node.pk)
    assert "earlier epoch" in Bootstrap.objects.get().reason
    give(made)
    assert (node().epoch, node().acked) == (LogHead.objects.get().epoch, 101)
    assert zones(made) == {"a.test.", "b.test.", "c.test."}


def test_what_only_the_node_knows_is_not_overwritten_by_a_snapshot(served: Serve) -> None:
    made = served()
    publish("a.test.")
    publish("b.test.")
    push_node(made.node.pk)
    # PostgreSQL was restored from a backup before the second publication, and someone requests a snapshot.
    Segment.objects.filter(last=2).delete()
    LogHead.objects.update(sequence=1)
    Node.objects.update(acked=0, epoch=None)
    ask_for_snapshot(node_id=made.node.pk, reason="a test wants it", now=timezone.now())
    bootstrap_node(made.node.pk)
    assert zones(made) == {"a.test.", "b.test."}
    assert "sequence 2" in Bootstrap.objects.get().error


def test_no_answer_goes_back_by_a_snapshot_older_than_the_node(served: Serve, woken: list[Any]) -> None:
    made = served()
    publish("a.test.")
    make_snapshot(schema=4, now=timezone.now())
    publish("b.test.")
    push_node(made.node.pk)
    ask_for_snapshot(node_id=made.node.pk, reason="its content is not the panel's", now=timezone.now())
    bootstrap_node(made.node.pk)
    assert ("make_snapshot", 4) in woken
    make_snapshot(schema=4, now=timezone.now())
    Bootstrap.objects.update(beat_at=None)
    give(made)
    assert node().acked == 2
    assert not Bootstrap.objects.exists()


def test_beat_rings_those_that_wait_and_nobody_is_at(served: Serve, woken: list[Any]) -> None:
    first, second = served("ns1"), served("ns2")
    for made in (first, second):
        ask_for_snapshot(node_id=made.node.pk, reason="a test wants it", now=timezone.now())
    Bootstrap.objects.filter(node=second.node).update(beat_at=timezone.now())
    tasks.bootstrap_waiting_nodes()
    assert woken == [("bootstrap_node", first.node.pk)]


def test_a_node_that_does_not_answer_yet_is_tried_again_soon(served: Serve, woken: list[tuple[str, int]]) -> None:
    made = served()
    made.agent.stop()
    ask_for_snapshot(node_id=made.node.pk, reason="it is new", now=timezone.now())
    woken.clear()
    bootstrap_node(made.node.pk)
    assert woken == [("bootstrap_node", made.node.pk)]
    assert Bootstrap.objects.get().error
    Bootstrap.objects.update(asked_at=timezone.now() - timedelta(hours=1), beat_at=None)
    woken.clear()
    bootstrap_node(made.node.pk)
    assert woken == []
