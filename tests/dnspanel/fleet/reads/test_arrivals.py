"""Tests of the progress of a publication."""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.fleet.models import Node
from dnspanel.fleet.push import acks
from dnspanel.fleet.reads.arrivals import arrivals
from dnspanel.zones.models import LogHead, Publication
from replication.wire import protocol
from replication.wire.position import Position
from tests.dnspanel.fleet.conftest import NOW, MakeNode

pytestmark = pytest.mark.django_db


def prove(node: Node, sequence: int, ms: int) -> None:
    ack = protocol.Ack(Position(LogHead.objects.get().epoch, sequence), bytes(16), bytes(16))
    acks.record_ack(node_id=node.pk, ack=ack, now=NOW + timedelta(milliseconds=ms))


def publications(count: int) -> list[Publication]:
    epoch = LogHead.objects.get().epoch
    LogHead.objects.update(sequence=count)
    return [
        Publication.objects.create(sequence=number, epoch=epoch, at=NOW, channel="system")
        for number in range(1, count + 1)
    ]


def test_the_first_proof_at_or_beyond_the_publication_counts(
    active_node: MakeNode, django_assert_num_queries: Any
) -> None:
    first, second, _ = publications(3)
    one, two = active_node("ns1"), active_node("ns2")
    prove(one, 1, 20)
    prove(one, 3, 41)
    prove(two, 1, 30)
    with django_assert_num_queries(4):
        found = arrivals(second, now=NOW)
    assert [(r.node.name, r.ms) for r in found] == [("ns1", 41.0), ("ns2", None)]
    assert found[1].message != ""
    assert [r.ms for r in arrivals(first, now=NOW)] == [20.0, 30.0]


def test_nodes_that_take_no_pushes_are_not_waited_for(active_node: MakeNode) -> None:
    from dnspanel.fleet.nodes import node_lifecycle

    [publication] = publications(1)
    node_lifecycle.drain(node=active_node(), now=NOW, by=None)
    assert arrivals(publication, now=NOW) == []


def test_one_that_failed_since_it_was_read_has_arrived_nowhere(active_node: MakeNode) -> None:
    # Regression test: the client had read the row before the failure, so a later position counted as "everywhere".
    first, second = publications(2)
    prove(active_node("ns1"), second.sequence, 20)
    Publication.objects.filter(pk=first.pk).update(failed_reason="It fails.")
    assert [found.arrived_at for found in arrivals(first, now=NOW)] == [None]
