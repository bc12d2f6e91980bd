"""Tests of the state of all nodes, in few queries."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.fleet.errors import UnknownNode
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.reads.queries import head, node_status, node_statuses
from dnspanel.fleet.reads.summary import fleet_summary
from dnspanel.publish.models import Stall
from dnspanel.zones.models import Epoch, LogHead, Publication
from tests.dnspanel.fleet.conftest import NOW, MakeNode

pytestmark = pytest.mark.django_db


def publish(count: int) -> None:
    epoch = LogHead.objects.get().epoch
    for sequence in range(1, count + 1):
        at = NOW - timedelta(minutes=10) + timedelta(seconds=sequence)
        Publication.objects.create(sequence=sequence, epoch=epoch, at=at, channel="system")
    LogHead.objects.update(sequence=count)


def at_sequence(node: Node, sequence: int) -> None:
    created = NOW - timedelta(days=1)
    Node.objects.filter(pk=node.pk).update(
        epoch=LogHead.objects.get().epoch, acked=sequence, contact_at=NOW, created_at=created
    )


def test_a_nodes_lag_counts_from_the_first_publication_that_it_lacks(active_node: MakeNode) -> None:
    publish(5)
    at_sequence(active_node(), 3)
    found = node_status(name="ns1", now=NOW).health
    assert (found.word, found.lag, found.lag_seconds) == (Word.STALE, 2, 596.0)
    assert head().sequence == 5


def test_a_new_node_is_behind_since_it_exists(active_node: MakeNode) -> None:
    publish(5)
    node = active_node()
    Node.objects.filter(pk=node.pk).update(contact_at=NOW)
    assert node_status(name="ns1", now=NOW + timedelta(seconds=2)).health.word == Word.CATCHING_UP


def test_standings_take_three_queries_however_many_nodes(active_node: MakeNode, django_assert_num_queries: Any) -> None:
    publish(3)
    for name in ("ns1", "ns2", "ns3", "ns4"):
        at_sequence(active_node(name), 3)
    Node.objects.filter(name="ns4").update(state=NodeState.RETIRED)
    with django_assert_num_queries(3):
        statuses = node_statuses(now=NOW)
    assert [status.node.name for status in statuses] == ["ns1", "ns2", "ns3"]


def test_the_summary_names_who_is_in_trouble(active_node: MakeNode) -> None:
    assert fleet_summary(now=NOW).message == "No active node"
    publish(3)
    for name in ("ns1", "ns2"):
        at_sequence(active_node(name), 3)
    summary = fleet_summary(now=NOW)
    assert (summary.counts.in_sync, summary.tone, summary.message) == (2, "ok", "Live: 2 nodes")
    Node.objects.filter(name="ns2").update(refusal="disk full")
    summary = fleet_summary(now=NOW)
    assert (summary.tone, summary.message) == ("bad", "Live: 1 of 2 nodes; ns2 rejecting")
    for name in ("ns3", "ns4"):
        at_sequence(active_node(name), 3)
    Node.objects.exclude(name="ns1").update(refusal="disk full")
    assert fleet_summary(now=NOW).message == "Live: 1 of 4 nodes; ns2 rejecting; ns3 rejecting; ns4 rejecting"
    Node.objects.update(refusal="disk full")
    assert fleet_summary(now=NOW).message.endswith("; ns3 rejecting; 1 more")


def test_the_summary_says_that_publishing_stands_still(active_node: MakeNode) -> None:
    active_node()
    Stall.objects.create(schema=4, sequence=9, message="example.test. cannot be encoded", since=NOW, tried_at=NOW)
    assert "example.test." in fleet_summary(now=NOW).message
    assert fleet_summary(now=NOW).tone == "bad"


def test_a_node_of_another_epoch_is_not_at_the_head(active_node: MakeNode) -> None:
    publish(3)
    node = active_node()
    at_sequence(node, 3)
    Node.objects.filter(pk=node.pk).update(epoch=uuid4())
    assert node_status(name="ns1", now=NOW).health.lag == 3


def test_a_node_of_the_history_before_is_behind_since_the_new_one_began(active_node: MakeNode) -> None:
    """Regression test: after *take over*, nodes were "behind for 64 min", counted from the very first publication."""
    publish(3)
    node = active_node()
    at_sequence(node, 3)
    LogHead.objects.update(epoch=uuid4(), sequence=7)
    began_at = NOW - timedelta(seconds=3)
    Epoch.objects.create(epoch=LogHead.objects.get().epoch, began_at=began_at, began_after=5, reason="x")
    status = node_status(name="ns1", now=NOW)
    assert (status.health.lag, status.health.lag_seconds, status.lacks) == (2, 3.0, 6)
    assert (status.health.word, status.lacks_since) == (Word.CATCHING_UP, began_at)
    Epoch.objects.update(began_after=7)  # nothing was published since
    assert node_status(name="ns1", now=NOW).health.lag == 1


def test_an_unknown_node_is_unknown() -> None:
    with pytest.raises(UnknownNode):
        node_status(name="ns9", now=NOW)
