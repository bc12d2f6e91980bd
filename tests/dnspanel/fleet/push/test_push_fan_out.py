"""Tests of pushes to several nodes at once, over real TLS to agents with a real LMDB."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db import connections as database_connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.fleet.models import Ack, Isolation, Node
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.push import push_fan_out
from dnspanel.fleet.push.agent_connections import AgentConnection, connections
from dnspanel.fleet.push.push_fan_out import push_together
from dnspanel.fleet.tasks import push_node
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.models import Segment
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.errors import DiskFull
from replication.wire.position import Position
from tests.dnspanel.fleet.conftest import Served

pytestmark = pytest.mark.django_db(transaction=True)


def publish(name: str) -> None:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", timezone.now()))
    assert encode_step(now=timezone.now()) is not None


@pytest.fixture
def nodes(served: Callable[..., Served]) -> dict[str, Served]:
    """Create three nodes that have sequence 1 but not 2."""
    made = {name: served(name) for name in ("ns1", "ns2", "ns3")}
    publish("one.test.")
    for each in made.values():
        push_node(each.node.pk)
    publish("two.test.")
    return made


def acked() -> dict[str, int]:
    return dict(Node.objects.values_list("name", "acked"))


def never(node_id: int, connection: AgentConnection) -> None:
    raise AssertionError("nobody asked for a push of its own")


def push(nodes: dict[str, Served]) -> tuple[list[int], list[int]]:
    """Push to these nodes. Return the ids of nodes to push singly, and of nodes to push again."""
    lefts = list(push_together([each.node.pk for each in nodes.values()], never))
    return sorted(n for left in lefts for n in left.singly), sorted(n for left in lefts for n in left.again)


def test_nodes_that_lack_the_same_get_it_with_three_statements(nodes: dict[str, Served]) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert push(nodes) == ([], [])
    assert acked() == {"ns1": 2, "ns2": 2, "ns3": 2}
    # The nodes, their missing segments, and one statement for each batch of acks.
    assert 3 <= len(queries) <= 5
    assert [each.agent.requests for each in nodes.values()] == [2, 2, 2]
    head = LogHead.objects.get()
    assert Ack.objects.filter(epoch=head.epoch, sequence=2).count() == 3
    assert {bytes(node.digest or b"") for node in Node.objects.all()} == {bytes(Segment.objects.get(last=2).digest)}


def test_who_lacks_nothing_is_not_called(nodes: dict[str, Served]) -> None:
    push(nodes)
    assert push(nodes) == ([], [])
    assert [each.agent.requests for each in nodes.values()] == [2, 2, 2]


def test_nodes_at_other_places_get_what_each_of_them_lacks(nodes: dict[str, Served]) -> None:
    push_node(nodes["ns1"].node.pk)
    publish("three.test.")
    assert push(nodes) == ([], [])
    assert acked() == {"ns1": 3, "ns2": 3, "ns3": 3}
    assert [each.agent.requests for each in nodes.values()] == [3, 2, 2]


def refuse(node: Served) -> None:
    node.agent.refuse_with = DiskFull(path="pdns.lmdb", reason="no space left")


def lie(node: Served) -> None:
    node.agent.lie = True


def stop(node: Served) -> None:
    node.agent.stop()
    connections[node.node.pk].close()


def list_later(node: Served) -> None:
    node.agent.lists_later = True


def was_refused(node: Served) -> None:
    Node.objects.filter(pk=node.node.pk).update(refusal="disk full", refused_at=timezone.now())


def has_applied(node: Served) -> None:
    connections[node.node.pk].applied = Position(LogHead.objects.get().epoch, 1)


@pytest.mark.parametrize("trouble", [refuse, lie, stop, list_later, was_refused, has_applied])
def test_a_node_that_is_not_plain_is_left_to_a_push_of_its_own(
    nodes: dict[str, Served], trouble: Callable[[Served], None]
) -> None:
    trouble(nodes["ns2"])
    assert push(nodes) == ([nodes["ns2"].node.pk], [])
    assert acked() == {"ns1": 2, "ns2": 1, "ns3": 2}
    assert connections[nodes["ns2"].node.pk].take(lambda _: None), "nothing keeps its connection"


def test_an_ack_with_another_digest_is_no_proof_and_its_own_push_says_so(nodes: dict[str, Served]) -> None:
    nodes["ns2"].agent.lie = True
    push(nodes)
    push_node(nodes["ns2"].node.pk)
    node = Node.objects.get(name="ns2")
    assert node.acked == 1
    assert "digest" in node.refusal


def test_a_node_that_takes_no_pushes_gets_none(nodes: dict[str, Served]) -> None:
    node_lifecycle.drain(node=nodes["ns2"].node, now=timezone.now(), by=None)
    assert push(nodes) == ([], [])
    assert acked() == {"ns1": 2, "ns2": 1, "ns3": 2}


def test_what_is_too_large_to_be_in_memory_for_each_is_left_to_single_pushes(
    nodes: dict[str, Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_fan_out, "MOST_BYTES", 10)
    assert push(nodes) == (sorted(each.node.pk for each in nodes.values()), [])
    assert acked() == {"ns1": 1, "ns2": 1, "ns3": 1}


def test_a_segment_that_cannot_be_read_is_left_to_single_pushes(nodes: dict[str, Served]) -> None:
    Segment.objects.filter(last=2).update(object_name="segments/gone")
    assert push(nodes) == (sorted(each.node.pk for each in nodes.values()), [])


def test_what_comes_meanwhile_is_for_another_round(nodes: dict[str, Served], monkeypatch: pytest.MonkeyPatch) -> None:
    agent = nodes["ns1"].agent
    apply = agent.apply

    def apply_later(body: bytes) -> Any:
        if agent.requests == 2:
            publish("three.test.")
            database_connections.close_all()
        return apply(body)

    monkeypatch.setattr(agent, "apply", apply_later)
    lefts = push_together([nodes["ns1"].node.pk], never)
    assert [left.again for left in lefts] == [[], [nodes["ns1"].node.pk]]
    assert acked()["ns1"] == 2
    assert push(nodes) == ([], [])
    assert acked() == {"ns1": 3, "ns2": 3, "ns3": 3}


def test_a_push_that_is_requested_meanwhile_is_for_another_round(nodes: dict[str, Served]) -> None:
    requested = nodes["ns2"].node.pk
    lefts = push_together([each.node.pk for each in nodes.values()], never)
    first = next(lefts)
    connections[requested].push(lambda connection: never(requested, connection))
    assert ([*first.singly], [*first.again]) == ([], [])
    assert [node_id for left in lefts for node_id in left.again] == [requested]


def test_a_node_to_which_somebody_pushes_is_passed_over(nodes: dict[str, Served]) -> None:
    busy = nodes["ns2"].node.pk
    looked: list[int] = []
    with connections[busy].reserve(1):
        list(push_together([each.node.pk for each in nodes.values()], lambda node_id, _: looked.append(node_id)))
        assert acked() == {"ns1": 2, "ns2": 1, "ns3": 2}
    assert looked == [busy], "by whoever had its connection"


def test_others_go_on_by_the_acks_of_a_gate(nodes: dict[str, Served], monkeypatch: pytest.MonkeyPatch) -> None:
    advanced: list[Any] = []
    monkeypatch.setattr(push_fan_out.deliver_groups, "advance", lambda *, now: advanced.append(acked()))
    push(nodes)
    assert advanced == []
    publish("three.test.")
    Isolation.objects.create(epoch=LogHead.objects.get().epoch, failed=9, inverse=10, found_at=timezone.now())
    push(nodes)
    assert advanced
    assert set(advanced[-1].values()) == {3}


def test_without_postgresql_no_connection_is_kept(nodes: dict[str, Served], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("PostgreSQL is away")

    monkeypatch.setattr(push_fan_out.acks, "record_acks", fail)
    with pytest.raises(RuntimeError):
        push(nodes)
    assert all(connections[each.node.pk].take(lambda _: None) for each in nodes.values())
