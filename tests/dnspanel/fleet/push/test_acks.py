"""Tests of acks, which conditional updates store."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.fleet.models import Ack, Node
from dnspanel.fleet.push import acks
from dnspanel.publish.models import Segment
from dnspanel.zones.models import LogHead
from replication.wire import protocol
from replication.wire.position import Position
from tests.dnspanel.fleet.conftest import NOW, MakeNode

pytestmark = pytest.mark.django_db
EPOCH = uuid4()


def ack(sequence: int, epoch: UUID = EPOCH) -> protocol.Ack:
    return protocol.Ack(Position(epoch, sequence), bytes(16), bytes(16))


def test_a_late_ack_does_not_move_a_node_backwards(active_node: MakeNode) -> None:
    node = active_node()
    assert acks.record_ack(node_id=node.pk, ack=ack(7), now=NOW)
    assert not acks.record_ack(node_id=node.pk, ack=ack(5), now=NOW)
    assert not acks.record_ack(node_id=node.pk, ack=ack(7), now=NOW + timedelta(seconds=9))
    node.refresh_from_db()
    assert (node.acked, node.acked_at) == (7, NOW)
    assert [(row.sequence, row.at) for row in Ack.objects.all()] == [(7, NOW)]


def test_an_ack_of_another_epoch_changes_nothing(active_node: MakeNode) -> None:
    node = active_node()
    acks.record_ack(node_id=node.pk, ack=ack(7), now=NOW)
    assert not acks.record_ack(node_id=node.pk, ack=ack(9, uuid4()), now=NOW)
    node.refresh_from_db()
    assert (node.epoch, node.acked) == (EPOCH, 7)


def test_an_ack_ends_a_refusal(active_node: MakeNode) -> None:
    node = active_node()
    acks.record_refusal(node_id=node.pk, message="disk full", now=NOW)
    acks.record_refusal(node_id=node.pk, message="disk full", now=NOW + timedelta(seconds=10))
    node.refresh_from_db()
    assert (node.refusal, node.refused_at) == ("disk full", NOW + timedelta(seconds=10))
    acks.record_ack(node_id=node.pk, ack=ack(1), now=NOW)
    node.refresh_from_db()
    assert (node.refusal, node.refused_at) == ("", None)


def test_contact_never_goes_back(active_node: MakeNode) -> None:
    node = active_node()
    acks.record_contact(node_ids=[node.pk], versions={node.pk: {"agent": "2"}}, now=NOW)
    acks.record_contact(node_ids=[node.pk], versions={}, now=NOW - timedelta(seconds=5))
    found = Node.objects.get()
    assert (found.contact_at, found.versions) == (NOW, {"agent": "2"})


def test_a_snapshots_ack_moves_a_node_to_another_epoch_and_also_back(active_node: MakeNode) -> None:
    node = active_node()
    acks.record_ack(node_id=node.pk, ack=ack(7), now=NOW)
    other = uuid4()
    before = Position(EPOCH, 7)
    assert acks.record_snapshot_ack(node_id=node.pk, ack=ack(3, other), schema=6, before=before, now=NOW)
    node.refresh_from_db()
    assert (node.epoch, node.acked, node.schema) == (other, 3, 6)
    assert Ack.objects.filter(epoch=other, sequence=3).exists()


def test_a_snapshots_ack_is_ignored_when_the_node_was_proved_elsewhere_since(active_node: MakeNode) -> None:
    node = active_node()
    acks.record_ack(node_id=node.pk, ack=ack(7), now=NOW)
    for before in (None, Position(EPOCH, 6), Position(uuid4(), 7)):
        assert not acks.record_snapshot_ack(node_id=node.pk, ack=ack(9), schema=4, before=before, now=NOW)
    node.refresh_from_db()
    assert (node.epoch, node.acked) == (EPOCH, 7)


def test_the_first_proof_may_be_a_snapshot(active_node: MakeNode) -> None:
    node = active_node()
    assert acks.record_snapshot_ack(node_id=node.pk, ack=ack(9), schema=4, before=None, now=NOW)
    node.refresh_from_db()
    assert (node.epoch, node.acked, node.acked_at) == (EPOCH, 9, NOW)


def test_what_a_node_cannot_answer_comes_with_its_ack_and_an_older_report_does_not_undo_it(
    active_node: MakeNode,
) -> None:
    node = active_node()
    lacks = protocol.Unanswered("a.test.", "a.test.", "ALIAS", "SERVFAIL")
    acks.record_ack(node_id=node.pk, ack=replace(ack(7), unanswered=(lacks,)), now=NOW)

    def after_report(sequence: int) -> list[list[str]]:
        report = {"position": Position(EPOCH, sequence).to_json(), "unanswered": []}
        acks.record_reports(reports={node.pk: (NOW, report)})
        node.refresh_from_db()
        return list(node.unanswered)

    assert after_report(6) == [list(lacks)]
    assert after_report(7) == []


def test_acks_that_came_together_are_recorded_together(active_node: MakeNode) -> None:
    first, second, late = active_node("ns1"), active_node("ns2"), active_node("ns3")
    acks.record_ack(node_id=late.pk, ack=ack(9), now=NOW)
    acks.record_refusal(node_id=late.pk, message="disk full", now=NOW)
    lacks = protocol.Unanswered("a.test.", "a.test.", "ALIAS", "SERVFAIL")
    together = {second.pk: replace(ack(8), unanswered=(lacks,)), late.pk: ack(8), first.pk: ack(7)}
    with CaptureQueriesContext(connection) as queries:
        recorded = acks.record_acks(acks=together, now=NOW + timedelta(seconds=1))
    assert len(queries) == 2, "one for all, and one because an ack was late"
    assert recorded == {first.pk: acks.Recorded(None), second.pk: acks.Recorded(None)}
    found = {node.name: (node.acked, node.refusal, node.unanswered) for node in Node.objects.all()}
    assert found == {"ns1": (7, "", []), "ns2": (8, "", [list(lacks)]), "ns3": (9, "", [])}
    assert sorted(Ack.objects.values_list("node__name", "sequence")) == [("ns1", 7), ("ns2", 8), ("ns3", 9)]


def test_an_ack_is_recorded_with_the_newest_that_there_is_for_its_schema(active_node: MakeNode) -> None:
    head = LogHead.objects.get()
    nodes = {schema: active_node(f"ns{schema}") for schema in (4, 5, 6)}
    for schema, node in nodes.items():
        Node.objects.filter(pk=node.pk).update(schema=schema)
    for schema, first, last in ((4, 1, 3), (4, 4, 7), (5, 1, 5)):
        name = f"{schema}-{last}"
        Segment.objects.create(
            schema=schema,
            epoch=head.epoch,
            first=first,
            last=last,
            size=1,
            object_name=name,
            digest=bytes(32),
            sealed_at=NOW,
        )
    recorded = acks.record_acks(acks={node.pk: ack(2, head.epoch) for node in nodes.values()}, now=NOW)
    assert {schema: recorded[node.pk].newest for schema, node in nodes.items()} == {4: 7, 5: 5, 6: None}
