"""Tests of the inputs of delivery: the nodes' limits in a statement of their own, and the state of stages."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Ack, Delivery, Isolation, Node, NodeGroup, Release
from dnspanel.fleet.nodes import heartbeats
from dnspanel.fleet.rollout.gates import EVERYONE, RING0, free_nodes, read_gates, with_limit
from dnspanel.fleet.rollout.stages import Answers, Ring0
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.wire.protocol import Sample
from tests.dnspanel.fleet.conftest import MakeNode

pytestmark = pytest.mark.django_db(transaction=True)

HEAD = 5


@pytest.fixture(autouse=True)
def log() -> LogHead:
    """Create a log of a few publications, and a heartbeat of the collector."""
    for number in range(HEAD):
        edit.create_zone(zone=edit.NewZone(f"z{number}.test."), acting=Acting(None, "system", timezone.now()))
    heartbeats.beat(process=heartbeats.COLLECTOR, now=timezone.now())
    return LogHead.objects.get()


def at(node: Node, sequence: int, *, ago: float = 0.0, heard_ago: float = 0.0) -> Node:
    """Let the node have confirmed this sequence `ago` seconds ago, and have reported `heard_ago` seconds ago."""
    now, epoch = timezone.now(), LogHead.objects.get().epoch
    moment = now - timedelta(seconds=ago)
    Ack.objects.create(node=node, epoch=epoch, sequence=sequence, at=moment)
    Node.objects.filter(pk=node.pk).update(
        epoch=epoch, acked=sequence, acked_at=moment, contact_at=now - timedelta(seconds=heard_ago)
    )
    node.refresh_from_db()
    return node


def limit_of(node: Node) -> int | None:
    return with_limit(Node.objects.filter(pk=node.pk)).get().limit


def test_a_plain_fleet_has_no_limit_and_no_further_query(active_node: MakeNode) -> None:
    node = active_node("ns1")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        loaded = with_limit(Node.objects.filter(pk=node.pk)).get()
    assert (loaded.limit, loaded.is_gate) == (None, False)
    assert len(queries) == 1
    assert free_nodes(schema=4) == [node.pk]


def test_the_least_of_pin_and_release_limits_a_node_and_a_whole_stop_takes_everything(
    active_node: MakeNode, log: LogHead
) -> None:
    group = NodeGroup.objects.create(name="rest", order=1)
    node = active_node("ns1")  # without a group, it is released with the last one
    Release.objects.create(group=group, epoch=log.epoch, sequence=4, at=timezone.now())
    assert limit_of(node) == 4
    Delivery.objects.create(id=1, pinned=3)
    assert limit_of(node) == 3
    Delivery.objects.update(stopped_whole=True)
    assert limit_of(node) == 0
    assert free_nodes(schema=4) == []


def test_ring_0_is_limited_by_a_pin_and_by_no_release(active_node: MakeNode, log: LogHead) -> None:
    ring0 = active_node("ring0")
    Node.objects.filter(pk=ring0.pk).update(is_ring0=True)
    Release.objects.create(group=None, epoch=log.epoch, sequence=2, at=timezone.now())
    assert limit_of(ring0) is None
    assert limit_of(active_node("ns1")) == 2
    assert free_nodes(schema=4) == [ring0.pk]


def test_in_a_new_epoch_held_groups_stay_where_they_are_until_something_is_released(
    active_node: MakeNode, log: LogHead
) -> None:
    node = active_node("ns1")
    other = "00000000-0000-4000-8000-000000000001"
    Release.objects.create(group=None, epoch=other, sequence=99, at=timezone.now())
    assert limit_of(node) == 0


def test_stages_come_in_order_with_nodes_that_have_no_group_in_the_last(active_node: MakeNode) -> None:
    NodeGroup.objects.create(name="rest", order=2)
    canary = NodeGroup.objects.create(name="canary", order=1, verify_seconds=7)
    at(active_node("ns1"), 3)
    Node.objects.filter(name="ns1").update(group=canary)
    at(active_node("ns2"), 2)
    at(active_node("r0"), 5)
    Node.objects.filter(name="r0").update(is_ring0=True)
    stages = read_gates(now=timezone.now()).stages
    assert [(s.name, [m.name for m in s.members]) for s in stages] == [
        (RING0, ["r0"]),
        ("canary", ["ns1"]),
        ("rest", ["ns2"]),
    ]
    assert [s.ring0 for s in stages] == [Ring0.WAITED_FOR, Ring0.NO, Ring0.NO]


def test_a_fleet_without_groups_is_one_stage_behind_ring_0(active_node: MakeNode) -> None:
    at(active_node("ns1"), 1)
    assert [s.name for s in read_gates(now=timezone.now()).stages] == [EVERYONE]


def test_what_a_node_proved_a_moment_ago_is_not_settled_yet(active_node: MakeNode) -> None:
    NodeGroup.objects.create(name="canary", order=1, verify_seconds=30)
    node = active_node("ns1")
    at(node, 2, ago=100)
    at(node, 3, ago=40)
    at(node, 5, ago=10)
    (member,) = read_gates(now=timezone.now()).stages[0].members
    assert (member.acked, member.verified) == (5, 3)
    (member,) = read_gates(now=timezone.now() + timedelta(seconds=21)).stages[0].members
    assert member.verified == 5


def test_a_silent_node_and_one_without_any_proof_are_not_live(active_node: MakeNode) -> None:
    at(active_node("silent"), 3, heard_ago=60)
    at(active_node("well"), 3)
    active_node("new")
    Node.objects.filter(name="new").update(contact_at=timezone.now())
    members = read_gates(now=timezone.now()).stages[0].members
    assert {m.name: m.is_live for m in members} == {"silent": False, "well": True, "new": False}


def test_nobodys_silence_counts_while_the_collector_does_not_run(active_node: MakeNode) -> None:
    at(active_node("ns1"), 3, heard_ago=3600)
    later = timezone.now() + timedelta(minutes=5)
    assert [m.is_live for m in read_gates(now=later).stages[0].members] == [True]


@pytest.mark.parametrize(
    ("heard_ago", "required", "role"),
    [
        (30, False, Ring0.WAITED_FOR),
        (90, False, Ring0.AWAY),
        (90, True, Ring0.WAITED_FOR),
    ],
    ids=["seen in the last minute", "away", "away, but required"],
)
def test_ring_0_is_waited_for_for_a_minute(
    active_node: MakeNode, settings: object, heard_ago: float, required: bool, role: Ring0
) -> None:
    settings.RING0_REQUIRED = required  # type: ignore[attr-defined]
    at(active_node("r0"), 3, heard_ago=heard_ago)
    Node.objects.update(is_ring0=True)
    assert read_gates(now=timezone.now()).stages[0].ring0 is role


def test_a_refusal_counts_once_it_lasts(active_node: MakeNode) -> None:
    node = at(active_node("ns1"), 3)
    for seconds, seen in ((5, ""), (20, "the disk is full")):
        since = timezone.now() - timedelta(seconds=seconds)
        Node.objects.filter(pk=node.pk).update(refusal="the disk is full", refused_since=since)
        assert read_gates(now=timezone.now()).stages[0].members[0].refusal == seen


def test_nobody_goes_beyond_what_made_ring_0_fail_until_it_is_merged(active_node: MakeNode, log: LogHead) -> None:
    at(active_node("r0"), HEAD)
    Node.objects.update(is_ring0=True)
    at(active_node("ns1"), 1)
    Isolation.objects.create(epoch=log.epoch, failed=3, inverse=4, found_at=timezone.now())
    cleared = read_gates(now=timezone.now()).clearances()
    assert [c.sequence for c in cleared] == [None, 2]
    assert cleared[1].reason == "sequence 3 failed on the canary and is being reverted"
    Isolation.objects.update(merged_at=timezone.now())
    assert [c.sequence for c in read_gates(now=timezone.now()).clearances()] == [None, HEAD]


def test_the_answers_before_and_since_the_newest_publication_are_counted(
    active_node: MakeNode, live_redis: None, log: LogHead
) -> None:
    canary = NodeGroup.objects.create(name="canary", order=1, verify_seconds=20)
    NodeGroup.objects.create(name="rest", order=2)
    node = at(active_node("ns1"), HEAD, ago=10)
    Node.objects.filter(pk=node.pk).update(group=canary)
    other = at(active_node("ns2"), 1)
    second = int(timezone.now().timestamp())
    before, after = {"NOERROR": 90, "REFUSED": 10}, {"NOERROR": 50, "SERVFAIL": 50}
    samples = [_sample(second - 20, before), _sample(second - 5, after)]
    telemetry.keep_samples(node_id=node.pk, samples=samples)
    telemetry.keep_samples(node_id=other.pk, samples=[_sample(second - 5, {"NOERROR": 7, "REFUSED": 3})])
    found = read_gates(now=timezone.now()).stages[0]
    assert (found.before, found.after, found.elsewhere) == (Answers(100, 10), Answers(100, 50), Answers(10, 3))
    Delivery.objects.create(id=1, resumed_at=timezone.now())
    assert read_gates(now=timezone.now()).stages[0].after == Answers()
    assert settings.REDIS_URL


def _sample(at: int, rcodes: dict[str, int]) -> Sample:
    return Sample(at, 1.0, 100, sum(rcodes.values()), 0, rcodes, 0, 0, 0, 0, 0, 0)


def test_a_node_that_is_held_back_learns_why(active_node: MakeNode) -> None:
    canary = NodeGroup.objects.create(name="canary", order=1)
    rest = NodeGroup.objects.create(name="rest", order=2)
    at(active_node("ns1"), 2)
    Node.objects.filter(name="ns1").update(group=canary)
    gates = read_gates(now=timezone.now())
    assert gates.reason_to_wait(group_id=rest.pk, is_ring0=False) == "waiting for ns1 in canary, at sequence 2 of 5"
    Delivery.objects.create(id=1, pinned=2)
    gates = read_gates(now=timezone.now())
    assert gates.reason_to_wait(group_id=rest.pk, is_ring0=False) == "the fleet is pinned at sequence 2"
    Delivery.objects.update(stopped_whole=True, stopped_reason="a test")
    assert (
        read_gates(now=timezone.now()).reason_to_wait(group_id=None, is_ring0=False) == "delivery is stopped (a test)"
    )
