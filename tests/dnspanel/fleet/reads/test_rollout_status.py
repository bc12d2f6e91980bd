"""Tests of the delivery status on pages."""

import pytest
from django.utils import timezone

from dnspanel.fleet.models import Ack, Delivery, Isolation, Node, NodeGroup
from dnspanel.fleet.nodes import heartbeats
from dnspanel.fleet.reads.rollout_status import arrivals_by_stage, rollout_status
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Publication
from dnspanel.zones.publishing import edit
from tests.dnspanel.fleet.conftest import MakeNode

pytestmark = pytest.mark.django_db(transaction=True)

HEAD = 3


@pytest.fixture(autouse=True)
def log() -> LogHead:
    for number in range(HEAD):
        edit.create_zone(zone=edit.NewZone(f"z{number}.test."), acting=Acting(None, "system", timezone.now()))
    heartbeats.beat(process=heartbeats.COLLECTOR, now=timezone.now())
    return LogHead.objects.get()


def prove(node: Node, sequence: int, **fields: object) -> None:
    now, epoch = timezone.now(), LogHead.objects.get().epoch
    Ack.objects.create(node=node, epoch=epoch, sequence=sequence, at=now)
    Node.objects.filter(pk=node.pk).update(epoch=epoch, acked=sequence, acked_at=now, contact_at=now, **fields)


@pytest.fixture
def staged(active_node: MakeNode) -> None:
    canary, rest = (NodeGroup.objects.create(name=n, order=i) for i, n in enumerate(("canary", "rest")))
    prove(active_node("ring0"), 3, is_ring0=True)
    prove(active_node("ns1"), 2, group=canary)
    prove(active_node("ns2"), 1, group=rest)


def test_each_stage_has_its_nodes_and_why_it_waits(staged: None) -> None:
    view = rollout_status(now=timezone.now())
    assert view.is_staged
    assert view.newest_acked == HEAD
    rows = [(s.name, s.is_ring0, [n.node.name for n in s.nodes], s.acked, s.sequence, s.waits) for s in view.stages]
    assert rows == [
        ("the panel’s canary", True, ["ring0"], 3, None, ""),
        ("canary", False, ["ns1"], 2, 3, ""),
        ("rest", False, ["ns2"], 1, 2, "waiting for ns1 in canary, at sequence 2 of 3"),
    ]


def test_what_a_person_set_comes_before_whom_a_stage_waits_for(staged: None) -> None:
    Delivery.objects.create(id=1, pinned=2, pinned_reason="freeze")
    waits = {s.name: s.waits for s in rollout_status(now=timezone.now()).stages}
    assert waits["rest"] == "the fleet is pinned at sequence 2"
    Delivery.objects.update(stopped_whole=True, stopped_reason="x")
    waits = {s.name: s.waits for s in rollout_status(now=timezone.now()).stages}
    assert waits == dict.fromkeys(("canary", "rest"), "delivery to the whole fleet is stopped") | {
        "the panel’s canary": ""
    }


def test_a_publication_is_followed_stage_by_stage(staged: None) -> None:
    stages = arrivals_by_stage(Publication.objects.get(sequence=2), now=timezone.now())
    assert [(s.name, s.is_ring0, [n.ms is not None for n in s.nodes]) for s in stages] == [
        ("the panel’s canary", True, [True]),
        ("canary", False, [True]),
        ("rest", False, [False]),
    ]


def test_a_plain_fleet_is_one_stage_without_a_name(active_node: MakeNode) -> None:
    prove(active_node("ns1"), 2)
    (stage,) = arrivals_by_stage(Publication.objects.get(sequence=2), now=timezone.now())
    assert (stage.name, len(stage.nodes), stage.waits) == ("", 1, "")
    assert not rollout_status(now=timezone.now()).is_staged


def test_a_publication_that_failed_was_reached_by_nobody(staged: None, log: LogHead) -> None:
    Publication.objects.filter(sequence=2).update(failed_reason="It fails.")
    assert arrivals_by_stage(Publication.objects.get(sequence=2), now=timezone.now()) == []
    Isolation.objects.create(epoch=log.epoch, failed=2, inverse=3, found_at=timezone.now())
    found = rollout_status(now=timezone.now()).isolation
    assert found is not None
    assert found.failed == 2
