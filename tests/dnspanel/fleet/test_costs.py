"""Tests of the panel's cost of one edit, in counts that are the same on all machines, unlike benchmarks.

A count that rises is a decision: change it together with the reason in the commit, after `./dev bench compare`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import heartbeats
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.models import Segment
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.publishing import edit
from replication.dns.rrset import make
from tests.dnspanel.fleet.conftest import Served
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Return a function that counts SQL statements of all connections, except BEGIN and COMMIT of transactions."""
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def noting(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        sent.append(str(query))
        return execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", noting)

    @contextmanager
    def counting() -> Iterator[list[str]]:
        sent.clear()
        yield sent

    return counting


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...]]]:
    """Return a list that records the messages to the broker."""
    messages: list[tuple[str, tuple[Any, ...]]] = []
    for task in (tasks.push_node, tasks.push_nodes, tasks.mend_node):
        name = task.name.rpartition(".")[2]
        monkeypatch.setattr(task, "apply_async", lambda args, *, of=name, **options: messages.append((of, args)))
    return messages


def publish(zone: Zone, number: int) -> None:
    rrset = make(f"www.{zone.name}", 1, 300, [f"192.0.2.{number}"])
    change_rrsets(
        zone=zone, changes={(rrset.name, rrset.type): rrset}, author=None, channel="system", now=timezone.now()
    )


def encode() -> None:
    assert encode_step(now=timezone.now()) is not None


def test_one_edit(
    served: Callable[..., Served], statements: Callable[[], Any], woken: list[tuple[str, tuple[Any, ...]]]
) -> None:
    edit.create_zone(zone=edit.NewZone("example.test."), acting=Acting(None, "system", timezone.now()))
    zone = Zone.objects.get()
    heartbeats.beat(process=heartbeats.COLLECTOR, now=timezone.now())
    encode()
    nodes = {name: served(name) for name in ("ring0", "ns1", "ns2")}
    Node.objects.filter(name="ring0").update(is_ring0=True)
    Node.objects.update(contact_at=timezone.now())
    others = [nodes[name].node.pk for name in ("ns1", "ns2")]
    for node in nodes.values():  # creates connections, sessions and rows
        tasks.push_node(node.node.pk)
    for turn in (1, 2):
        if turn == 2:
            Node.objects.update(contact_at=timezone.now())
        requests = {name: made.agent.requests for name, made in nodes.items()}
        counts = {}
        woken.clear()
        for step, act in (
            ("publish", lambda turn=turn: publish(zone, turn)),
            ("encode", encode),
            ("ring 0", lambda: tasks.push_node(nodes["ring0"].node.pk)),
            ("others", lambda: tasks.push_nodes(others)),
        ):
            with statements() as sent:
                act()
                counts[step] = len(sent)
    assert {node.acked for node in Node.objects.all()} == {LogHead.objects.get().sequence}
    # One statement of encode asks for secondaries to notify. Acks are recorded on arrival: both at once, or one by one.
    assert counts in [{"publish": 5, "encode": 16, "ring 0": 9, "others": others} for others in (3, 4)]
    assert {name: made.agent.requests - requests[name] for name, made in nodes.items()} == dict.fromkeys(nodes, 1)
    assert Segment.objects.latest("last").size < 300
    assert woken == [("push_node", (nodes["ring0"].node.pk,)), ("push_nodes", (others,))]
