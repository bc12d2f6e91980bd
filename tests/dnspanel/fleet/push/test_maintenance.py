"""Tests of log maintenance: the entries that the fleet needs, snapshots, merges and pruning."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.fleet.models import Ack, Bootstrap, Delivery, Node, NodeState
from dnspanel.fleet.push import maintenance
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.fleet.push.maintenance import ACKS_KEPT, lowest_limit, maintain_log, needed_by_schema, schemas_of_nodes
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.models import Segment, Snapshot
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.publish.storage import consolidate
from dnspanel.zones.models import LogHead
from replication.dns import rdtypes
from replication.errors import Busy
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.publish.encoding.test_encode import change, create, rrset

pytestmark = pytest.mark.django_db(transaction=True)


def make_log(changes: int) -> None:
    zone = create("example.test.")
    encode_step(now=timezone.now())
    for number in range(changes):
        change(zone, rrset("www.example.test.", rdtypes.A, f"192.0.2.{number + 1}"))
        encode_step(now=timezone.now())


def place(node: Node, acked: int, **fields: Any) -> None:
    Node.objects.filter(pk=node.pk).update(**{"epoch": LogHead.objects.get().epoch, "acked": acked} | fields)


def test_the_slowest_node_of_each_schema_says_what_is_needed(active_node: MakeNode) -> None:
    nodes = [active_node(f"ns{number}", agent_port=8600 + number) for number in range(6)]
    place(nodes[0], 7)
    place(nodes[1], 5, state=NodeState.DRAINED)
    place(nodes[2], 2, state=NodeState.RETIRED)
    place(nodes[3], 3, epoch=uuid4())
    place(nodes[4], 9, schema=6)
    assert needed_by_schema() == {4: 5, 6: 9}
    assert schemas_of_nodes() == {4, 6}


def test_a_node_that_is_being_rebuilt_has_two_schemas(active_node: MakeNode) -> None:
    node = active_node()
    ask_for_snapshot(node_id=node.pk, reason="a newer PowerDNS", now=timezone.now())
    Bootstrap.objects.update(schema=6)
    assert schemas_of_nodes() == {4, 6}


def test_one_round_makes_a_snapshot_merges_and_prunes(active_node: MakeNode) -> None:
    make_log(20)
    node = active_node()
    place(node, 21)
    Node.objects.filter(pk=active_node("ns2", agent_port=8600).pk).update(schema=5)
    later = timezone.now() + consolidate.MERGE_AFTER + timedelta(seconds=1)
    maintain_log(now=later)
    assert schemas_in_use() == [4, 5]
    assert list(Snapshot.objects.values_list("schema", "sequence")) == [(4, 21)]
    assert not Segment.objects.filter(schema=4).exists()
    assert encode_step(now=timezone.now()) is not None
    assert Segment.objects.get().schema == 5


def test_nothing_is_merged_that_a_pinned_node_may_still_get_half_of(active_node: MakeNode) -> None:
    make_log(20)
    place(active_node(), 1)
    assert lowest_limit() is None
    Delivery.objects.update_or_create(defaults={"pinned": 18, "pinned_at": timezone.now()})
    assert lowest_limit() == 18
    maintain_log(now=timezone.now() + consolidate.MERGE_AFTER + timedelta(seconds=1))
    assert list(Segment.objects.order_by("first").values_list("first", "last")) == [
        (2, 18),
        (19, 19),
        (20, 20),
        (21, 21),
    ]


def test_what_cannot_be_done_now_stops_nothing_else(
    active_node: MakeNode, monkeypatch: pytest.MonkeyPatch, publisher_directory: Path
) -> None:
    def busy(**_: Any) -> None:
        raise Busy(what="the LMDB")

    make_log(20)
    place(active_node(), 1)
    monkeypatch.setattr(maintenance, "make_snapshot", busy)
    maintain_log(now=timezone.now() + consolidate.MERGE_AFTER + timedelta(seconds=1))
    assert not Snapshot.objects.exists()
    assert list(Segment.objects.order_by("first").values_list("first", "last")) == [(1, 1), (2, 21)]


def test_old_proofs_are_forgotten_but_for_where_each_node_is(active_node: MakeNode) -> None:
    node = active_node()
    place(node, 3)
    epoch = LogHead.objects.get().epoch
    old = timezone.now() - ACKS_KEPT - timedelta(days=1)
    for sequence, at in ((1, old), (2, timezone.now()), (3, old)):
        Ack.objects.create(node=node, epoch=epoch, sequence=sequence, at=at)
    maintain_log(now=timezone.now())
    assert sorted(Ack.objects.values_list("sequence", flat=True)) == [2, 3]
