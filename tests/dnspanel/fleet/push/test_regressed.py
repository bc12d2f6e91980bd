"""Tests of nodes that report less than they had confirmed."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.models import Bootstrap, Node, NodeState
from dnspanel.fleet.push.bootstrap import REPORT_DELAY, regressed_nodes, regression
from replication.wire.position import Position
from tests.dnspanel.fleet.conftest import MakeNode

EPOCH = UUID("e1000000-0000-4000-8000-000000000001")
OTHER = UUID("e2000000-0000-4000-8000-000000000002")


def reporting(sequence: int, epoch: UUID = EPOCH) -> dict[str, Any]:
    return {"position": Position(epoch, sequence).to_json()}


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({"position": None}, "lost its data"),
        (reporting(6), "went back from sequence 7 to 6"),
        (reporting(7), ""),
        (reporting(9), ""),
        (reporting(1, OTHER), ""),
        ({"position": "nonsense"}, ""),
        ({}, ""),
    ],
)
def test_only_less_than_was_proved_is_a_loss(report: dict[str, Any], words: str) -> None:
    reason = regression(EPOCH, 7, report)
    assert words in reason
    assert bool(words) == bool(reason)


@pytest.mark.django_db(transaction=True)
def test_a_node_that_lost_its_disk_gets_a_snapshot_without_any_edit(
    active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(tasks.bootstrap_node, "apply_async", lambda args, **_: woken.extend(args))
    node, now = active_node(), timezone.now()
    here = Node.objects.filter(pk=node.pk)
    here.update(epoch=EPOCH, acked=7, acked_at=now, report={"position": None}, reported_at=now + REPORT_DELAY)
    assert regressed_nodes() == []  # the report may be older than the ack
    here.update(reported_at=now + REPORT_DELAY + timedelta(seconds=1))
    assert [node_id for node_id, _ in regressed_nodes()] == [node.pk]
    here.update(state=NodeState.DRAINED)
    assert regressed_nodes() == []
    here.update(state=NodeState.ACTIVE)
    tasks.bootstrap_waiting_nodes()
    assert woken == [node.pk]
    assert "lost its data" in Bootstrap.objects.get().reason
    assert regressed_nodes() == []
