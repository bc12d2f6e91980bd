"""Tests of snapshot requests: one per node, with the first reason, and only for nodes that accept pushes."""

import pytest

from dnspanel.fleet.models import Bootstrap, NodeEvent
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.publish.models import UsedSchema
from tests.dnspanel.fleet.conftest import NOW, MakeNode

pytestmark = pytest.mark.django_db


def test_the_first_reason_stays_and_is_told_once(active_node: MakeNode) -> None:
    node = active_node()
    NodeEvent.objects.all().delete()
    assert ask_for_snapshot(node_id=node.pk, reason="it is beyond the log", now=NOW)
    assert not ask_for_snapshot(node_id=node.pk, reason="another", now=NOW)
    row = Bootstrap.objects.get()
    assert (row.node_id, row.reason, row.schema, row.asked_at) == (node.pk, "it is beyond the log", node.schema, NOW)
    assert list(NodeEvent.objects.values_list("sentence", flat=True)) == [
        "Full snapshot requested. Reason: it is beyond the log."
    ]


def test_a_snapshot_of_another_schema_makes_the_publisher_write_that_schema(active_node: MakeNode) -> None:
    node = active_node()
    assert ask_for_snapshot(node_id=node.pk, reason="PowerDNS is newer", now=NOW, schema=6)
    assert Bootstrap.objects.get().schema == 6
    assert UsedSchema.objects.filter(schema=6).exists()


def test_nodes_that_take_no_pushes_get_none(waiting_node: MakeNode, active_node: MakeNode) -> None:
    node = waiting_node("ns1")
    assert not ask_for_snapshot(node_id=node.pk, reason="it has nothing", now=NOW)
    drained = active_node("ns2")
    node_lifecycle.drain(node=drained, now=NOW, by=None)
    assert not ask_for_snapshot(node_id=drained.pk, reason="it has nothing", now=NOW)
    assert not ask_for_snapshot(node_id=4711, reason="it has nothing", now=NOW)
    assert not Bootstrap.objects.exists()
