"""Tests of the push tasks over real TLS to agents with a real LMDB."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections as database_connections
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.models import Ack, Node
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.fleet.push.agent_connections import AgentConnection
from dnspanel.fleet.tasks import late_nodes, push_node
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.models import Segment
from dnspanel.transfer.imports.import_pace import publications_under_way
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.errors import DiskFull, MapFull
from tests.dnspanel.fleet.conftest import Served

pytestmark = pytest.mark.django_db(transaction=True)

Serve = Callable[..., Served]


def publish(name: str) -> None:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", timezone.now()))
    assert encode_step(now=timezone.now()) is not None


def node(name: str = "ns1") -> Node:
    return Node.objects.get(name=name)


def test_a_push_brings_the_node_to_the_head_and_records_the_proof(served: Serve) -> None:
    made = served()
    publish("one.test.")
    publish("two.test.")
    push_node(made.node.pk)
    head = LogHead.objects.get()
    assert (node().epoch, node().acked, node().refusal) == (head.epoch, 2, "")
    assert bytes(node().digest or b"") == bytes(Segment.objects.get(last=2).digest)
    assert Ack.objects.get().sequence == 2
    assert made.agent.store.position() is not None


def test_a_push_without_work_sends_nothing(served: Serve) -> None:
    made = served()
    publish("one.test.")
    push_node(made.node.pk)
    requests = made.agent.requests
    push_node(made.node.pk)
    assert made.agent.requests == requests


def test_a_node_that_lost_its_files_is_filled_again_and_never_counted_backwards(served: Serve, tmp_path: Any) -> None:
    from tests.dnspanel.fleet.agents import open_store

    made = served()
    for number in range(3):
        publish(f"z{number}.test.")
        push_node(made.node.pk)
    made.agent.store.close()
    made.agent.store = open_store(tmp_path / "new disk", LogHead.objects.get().cluster)
    publish("last.test.")
    push_node(made.node.pk)
    assert node().acked == 4
    assert made.agent.store.zone_id("z0.test.") is not None


def test_a_new_node_takes_a_log_of_many_pages(served: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from dnspanel.fleet.push import segment_log

    monkeypatch.setattr(segment_log, "PAGE", 2)
    made = served()
    for number in range(7):
        publish(f"z{number}.test.")
    assert late_nodes() == [made.node.pk]
    push_node(made.node.pk)
    assert (node().acked, node().refusal, late_nodes()) == (7, "", [])


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that records the nodes to ask again soon, instead of asking them."""
    found: list[int] = []
    monkeypatch.setattr(tasks, "_ask_again", lambda node_id, connection: found.append(node_id))
    return found


@pytest.fixture
def listing(served: Serve, scheduled: list[int]) -> Served:
    """Return a node that has acked sequence 1, and has stored 2 while its PowerDNS still reads the list of zones."""
    made = served()
    publish("one.test.")
    push_node(made.node.pk)
    made.agent.lists_later = True
    publish("two.test.")
    push_node(made.node.pk)
    return made


def test_a_node_whose_list_is_read_later_gets_more_meanwhile_and_proves_it_then(
    listing: Served, scheduled: list[int]
) -> None:
    made = listing
    assert (node().acked, node().applied, scheduled) == (1, 2, [made.node.pk])
    assert late_nodes() == [made.node.pk]
    publish("three.test.")
    push_node(made.node.pk)
    assert (node().acked, node().applied, made.agent.requests) == (1, 3, 3), "each segment once"
    moved_at = node().applied_at
    push_node(made.node.pk)
    assert (node().acked, made.agent.requests) == (1, 3), "it was asked for its ack"
    assert node().applied_at == moved_at, "it did not move"
    assert publications_under_way() == 0
    made.agent.lists_later = False
    scheduled.clear()
    push_node(made.node.pk)
    assert (node().acked, late_nodes(), scheduled) == (3, [], [])
    assert sorted(Ack.objects.values_list("sequence", flat=True)) == [1, 3]
    assert made.agent.requests == 3


def test_a_refusal_is_over_with_the_next_push_also_while_the_list_is_read(listing: Served) -> None:
    publish("three.test.")
    listing.agent.refuse_with = MapFull(path="pdns.lmdb", map_size=1 << 20)
    push_node(listing.node.pk)
    assert "map size" in node().refusal
    listing.agent.refuse_with = None
    push_node(listing.node.pk)
    assert (node().acked, node().applied, node().refusal) == (1, 3, "")


def test_a_node_whose_agent_forgot_its_ack_is_given_everything_since_again(listing: Served) -> None:
    made = listing
    made.agent.lists_later, made.agent.last_ack = False, None
    push_node(made.node.pk)
    assert (node().acked, node().refusal) == (1, "")
    push_node(made.node.pk)
    assert (node().acked, made.agent.requests) == (2, 3)


def test_a_node_is_scheduled_once_however_often_that_is_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[int] = []
    done = threading.Event()
    monkeypatch.setattr(tasks, "ASK_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(tasks, "push_node", lambda node_id: (pushed.append(node_id), done.set()))
    connection = tasks.connections[77]
    tasks._ask_again(77, connection)
    assert done.wait(10)
    connection.is_scheduled = True
    tasks._ask_again(77, connection)
    assert pushed == [77]


def test_a_dead_node_is_no_refusal_and_delays_nobody(served: Serve) -> None:
    made, other = served("ns1"), served("ns2")
    publish("one.test.")
    made.agent.stop()
    push_node(made.node.pk)
    push_node(other.node.pk)
    assert (node("ns1").acked, node("ns1").refusal, node("ns2").acked) == (0, "", 1)


def test_a_refusal_is_shown_in_words_and_gone_after_the_next_success(served: Serve) -> None:
    made = served()
    publish("one.test.")
    made.agent.refuse_with = MapFull(path="pdns.lmdb", map_size=1 << 20)
    push_node(made.node.pk)
    assert "map size" in node().refusal
    assert node().refused_at is not None
    made.agent.refuse_with = None
    push_node(made.node.pk)
    assert (node().acked, node().refusal, node().refused_at) == (1, "", None)


def test_a_node_whose_disk_is_full_says_so_too(served: Serve) -> None:
    made = served()
    publish("one.test.")
    made.agent.refuse_with = DiskFull(path="pdns.lmdb", reason="no space left")
    push_node(made.node.pk)
    assert "pdns.lmdb" in node().refusal


def test_other_digests_than_the_panels_are_no_proof(served: Serve) -> None:
    made = served()
    publish("one.test.")
    made.agent.lie = True
    push_node(made.node.pk)
    assert node().acked == 0
    assert "digest" in node().refusal


def test_a_node_ahead_of_the_panel_gets_nothing_more(served: Serve) -> None:
    made = served()
    publish("one.test.")
    publish("two.test.")
    push_node(made.node.pk)
    # PostgreSQL was restored from a backup before the second publication.
    Segment.objects.filter(last=2).delete()
    LogHead.objects.update(sequence=1)
    requests = made.agent.requests
    push_node(made.node.pk)
    assert made.agent.requests == requests
    assert "sequence 2" in node().refusal


def test_a_node_of_another_epoch_gets_nothing_more(served: Serve) -> None:
    from uuid import uuid4

    made = served()
    publish("one.test.")
    push_node(made.node.pk)
    Node.objects.update(epoch=uuid4())
    push_node(made.node.pk)
    assert "epoch" in node().refusal


def test_a_drained_node_gets_nothing_until_it_is_resumed(served: Serve) -> None:
    made = served()
    publish("one.test.")
    node_lifecycle.drain(node=made.node, now=timezone.now(), by=None)
    push_node(made.node.pk)
    assert (node().acked, late_nodes()) == (0, [])
    node_lifecycle.resume(node=made.node, now=timezone.now(), by=None)
    push_node(made.node.pk)
    assert node().acked == 1


def test_beat_finds_the_late_nodes_and_lets_refusing_ones_rest(served: Serve) -> None:
    first, second = served("ns1"), served("ns2")
    assert late_nodes() == []
    publish("one.test.")
    assert set(late_nodes()) == {first.node.pk, second.node.pk}
    push_node(first.node.pk)
    assert late_nodes() == [second.node.pk]
    Node.objects.filter(pk=second.node.pk).update(refusal="disk full", refused_at=timezone.now())
    assert late_nodes() == []
    Node.objects.filter(pk=second.node.pk).update(refused_at=timezone.now() - timedelta(minutes=1))
    assert late_nodes() == [second.node.pk]


def test_a_sealed_segment_wakes_the_push_of_every_active_node(served: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(tasks.push_node, "apply_async", lambda args, **_: woken.extend(args))
    first, second = served("ns1"), served("ns2")
    node_lifecycle.drain(node=second.node, now=timezone.now(), by=None)
    publish("one.test.")
    assert woken == [first.node.pk]


def test_several_nodes_are_woken_by_one_message(served: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(tasks.push_nodes, "apply_async", lambda args, **_: woken.extend(args))
    nodes = [served(name).node.pk for name in ("ns1", "ns2", "ns3")]
    publish("one.test.")
    tasks.push_late_nodes()
    tasks.wake_released_nodes(node_ids=nodes)
    assert [sorted(ids) for ids in woken] == [nodes] * 3, "by the publication, by beat, and by who releases"


class Threads:
    """A pool that runs each submitted call in its own thread, and closes the thread's database connection."""

    def __init__(self) -> None:
        self.submitted: list[tuple[Any, ...]] = []
        self._threads: list[threading.Thread] = []

    def submit(self, act: Callable[..., None], *args: Any) -> None:
        def run() -> None:
            act(*args)
            database_connections.close_all()

        self.submitted.append(args)
        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def join(self) -> None:
        while self._threads:
            self._threads.pop().join(30)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Threads]:
    """Replace all pools of the worker by threads. Yield the replacement."""
    made = Threads()
    for pool in ("_together", "_singly", "_away"):
        monkeypatch.setattr(tasks, pool, made)
    yield made
    made.join()


class Queue:
    """A pool that keeps submitted calls and doesn't run them."""

    def __init__(self) -> None:
        self.submitted: list[tuple[Any, ...]] = []

    def submit(self, *args: Any) -> None:
        self.submitted.append(args)

    def run(self) -> None:
        for act, *args in [self.submitted.pop(0) for _ in range(len(self.submitted))]:
            act(*args)


def test_nodes_that_are_away_wait_among_themselves_and_once_each(
    served: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beat requests every late node every two seconds, and an absent node blocks a thread for seconds."""
    pools = {name: Queue() for name in ("_together", "_singly", "_away")}
    for name, pool in pools.items():
        monkeypatch.setattr(tasks, name, pool)
    made = {name: served(name) for name in ("ns1", "ns2")}
    ids = [each.node.pk for each in made.values()]
    made["ns2"].agent.stop()
    publish("one.test.")
    for _ in range(3):
        tasks.push_nodes(ids)
    assert sorted(args[-1] for args in pools["_singly"].submitted) == ids
    pools["_singly"].run()
    assert (node("ns1").acked, node("ns2").acked) == (1, 0)
    for _ in range(3):
        tasks.push_nodes(ids)
    assert (len(pools["_singly"].submitted), [args[-1] for args in pools["_away"].submitted]) == (0, ids[1:])
    made["ns2"].agent.start(made["ns2"].pem, ensure_authority(now=timezone.now()).ca_pem, made["ns2"].node.agent_port)
    pools["_away"].run()
    assert node("ns2").acked == 1
    publish("two.test.")
    tasks.push_nodes(ids)
    assert (node("ns1").acked, node("ns2").acked, [*map(len, (p.submitted for p in pools.values()))]) == (
        2,
        2,
        [0, 0, 0],
    )


def test_what_cannot_be_pushed_together_is_pushed_singly(served: Serve, threads: Threads) -> None:
    """New nodes have no connection yet. After the first push, they get news together with the others."""
    made = [served(name) for name in ("ns1", "ns2", "ns3")]
    ids = [each.node.pk for each in made]
    made[2].agent.stop()
    publish("one.test.")
    for sequence, singly in ((1, ids), (2, ids[2:])):
        tasks.push_nodes(ids)
        threads.join()
        assert [node(name).acked for name in ("ns1", "ns2", "ns3")] == [sequence, sequence, 0]
        assert sorted(node_id for _, node_id in threads.submitted) == singly
        threads.submitted.clear()
        publish(f"z{sequence}.test.")


def test_what_is_new_meanwhile_is_pushed_too(served: Serve, threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [served(name) for name in ("ns1", "ns2")]
    publish("one.test.")
    for each in made:
        push_node(each.node.pk)
    publish("two.test.")
    agent = made[0].agent
    apply = agent.apply

    def apply_later(body: bytes) -> Any:
        if agent.requests == 2:
            publish("three.test.")
            database_connections.close_all()
        return apply(body)

    monkeypatch.setattr(agent, "apply", apply_later)
    tasks.push_nodes([each.node.pk for each in made])
    threads.join()
    assert node("ns1").acked == 3


def test_only_a_worker_that_pushes_pushes_by_itself_to_nodes_that_are_released(
    served: Serve, threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [served(name).node.pk for name in ("ns1", "ns2")]
    monkeypatch.setattr(threading.current_thread(), "name", "push-together_0")
    tasks.wake_released_nodes(node_ids=ids)
    tasks.wake_released_nodes(node_ids=ids[:1])
    assert [whom for _, whom in threads.submitted[:2]] == [ids, ids[0]]


def test_a_dead_broker_delays_a_push_and_nothing_else(served: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from kombu.exceptions import OperationalError

    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks.push_node, "apply_async", refuse)
    served()
    publish("one.test.")
    assert late_nodes() != []


def test_without_postgresql_the_work_is_left_to_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def refuse(*_: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks, "late_nodes", refuse)
    tasks.push_late_nodes()


def test_a_push_requested_during_a_push_makes_it_look_once_more() -> None:
    connection = AgentConnection()
    looked: list[int] = []

    def attempt(_: AgentConnection) -> None:
        looked.append(len(looked))
        if len(looked) == 1:
            # Another thread requests it, finds the connection in use, and returns at once.
            other = threading.Thread(target=lambda: connection.push(attempt))
            other.start()
            other.join(5)

    connection.push(attempt)
    assert looked == [0, 1]
