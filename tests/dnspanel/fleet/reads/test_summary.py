"""Tests of the fleet's summary line and of the oldest waiting publication, from the database."""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.fleet.models import Bootstrap, Delivery, Node, NodeState
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, answer_roll, beat
from dnspanel.fleet.processes.beats import Identity, Load, beat_process
from dnspanel.fleet.reads.queries import node_statuses, watched_statuses
from dnspanel.fleet.reads.summary import fleet_summary, late_publication, waiting_publication
from dnspanel.fleet.rollout.waiting_publications import Place, Waiting
from dnspanel.publish.models import Segment
from dnspanel.zones.models import LogHead
from tests.dnspanel.fleet.conftest import NOW, MakeNode
from tests.dnspanel.fleet.reads.test_queries import at_sequence, publish

pytestmark = pytest.mark.django_db


def seal(last: int) -> None:
    epoch, given = LogHead.objects.get().epoch, {"size": 1, "digest": bytes(32), "sealed_at": NOW}
    Segment.objects.create(epoch=epoch, schema=4, first=1, last=last, object_name=f"4/{last}", **given)


def waiting() -> Waiting:
    found = waiting_publication(watched_statuses(now=NOW), now=NOW)
    assert found is not None
    return found


@pytest.fixture
def staged(active_node: MakeNode) -> None:
    """Create a canary and three nodes at sequence 3 of 5. All sequences are sealed, and the collector runs."""
    publish(5)
    seal(5)
    for name in ("ring0", "ns1", "ns2", "ns3"):
        at_sequence(active_node(name), 3)
    Node.objects.filter(name="ring0").update(is_ring0=True)
    beat(process=COLLECTOR, now=NOW)


def test_publications_that_no_node_is_sent_wait_for_the_push_worker(staged: None) -> None:
    found = waiting()
    assert (found.place, found.sequence, found.since) == (Place.PUSH, 4, NOW - timedelta(minutes=10, seconds=-4))
    summary = fleet_summary(now=NOW)
    assert (summary.counts.in_sync, summary.counts.total, summary.tone) == (0, 3, "bad")
    assert summary.message == (
        "Live: 0 of 3 nodes, canary behind; Publications aren’t reaching the nodes. The oldest one has been waiting "
        "9 min for the worker “push”."
    )


def test_the_pill_costs_nothing_more_while_nothing_is_late(staged: None, django_assert_num_queries: Any) -> None:
    Node.objects.update(acked=5)
    statuses = watched_statuses(now=NOW)
    with django_assert_num_queries(0):
        assert late_publication(statuses, now=NOW) is None
        assert waiting_publication(statuses, now=NOW) is None
    with django_assert_num_queries(2):
        summary = fleet_summary(now=NOW, statuses=statuses)
    assert (summary.counts.in_sync, summary.tone, summary.message) == (3, "ok", "Live: 3 nodes, canary")


def test_each_place_is_found_in_the_database(staged: None) -> None:
    Segment.objects.update(last=3)
    assert waiting().place == Place.ENCODER
    LogHead.objects.update(held_reason="restored", held_since=NOW)
    assert waiting().place == Place.HOLD
    LogHead.objects.update(held_reason="", held_since=None)
    Segment.objects.update(last=5)
    delivery = Delivery.objects.create(pinned=3, pinned_at=NOW)
    assert waiting().place == Place.PINNED
    Delivery.objects.filter(pk=delivery.pk).update(pinned=None, stopped_reason="x", stopped_whole=True)
    assert waiting().place == Place.STOPPED
    Delivery.objects.all().delete()
    assert waiting().place == Place.PUSH
    identity = Identity("push", "panel", 7, NOW - timedelta(hours=1))
    beat_process(identity=identity, load=Load(), now=NOW)
    assert waiting().place == Place.PUSH, "it lives, and does not answer the roll call"
    answer_roll(queue="push", now=NOW)
    known = waiting()
    assert (known.place, known.name) == (Place.CANARY, "ring0")
    Node.objects.filter(name="ring0").update(acked=5, acked_at=NOW)
    Node.objects.filter(name__in=("ns1", "ns3")).update(acked=5, acked_at=NOW)
    assert (waiting().place, waiting().name) == (Place.NODE, "ns2")


def test_a_canary_that_is_offline_is_named_and_is_the_cause(staged: None) -> None:
    Node.objects.filter(name="ring0").update(contact_at=NOW - timedelta(seconds=30))
    found = waiting()
    assert (found.place, found.name, found.has_own_alert) == (Place.CANARY, "ring0", True)
    summary = fleet_summary(now=NOW)
    assert (summary.tone, summary.counts.total, "ring0 offline" in summary.message) == ("bad", 3, True)
    # After a minute, the other nodes continue without it.
    Node.objects.filter(name="ring0").update(contact_at=NOW - timedelta(seconds=90))
    assert waiting().place == Place.PUSH


def test_while_the_collector_is_silent_nobody_is_known_to_be_offline(staged: None) -> None:
    Node.objects.update(contact_at=NOW - timedelta(minutes=5))
    assert waiting().has_own_alert
    beats = {COLLECTOR: NOW - timedelta(minutes=5)}
    found = waiting_publication(watched_statuses(now=NOW), now=NOW, beats=beats)
    assert found is not None
    assert (found.place, found.has_own_alert) == (Place.PUSH, False)


@pytest.mark.parametrize("state", [NodeState.DRAINED, NodeState.RETIRED, NodeState.AWAITING_APPROVAL])
def test_nodes_that_take_no_pushes_do_not_count(staged: None, state: str) -> None:
    Node.objects.exclude(name="ns1").update(acked=5)
    Node.objects.filter(name="ns1").update(state=state)
    assert waiting_publication(watched_statuses(now=NOW), now=NOW) is None


def test_a_new_node_that_gets_its_first_zones_makes_nothing_late(staged: None, active_node: MakeNode) -> None:
    Node.objects.update(acked=5)
    new = active_node("ns4")
    Node.objects.filter(pk=new.pk).update(contact_at=NOW, created_at=NOW - timedelta(minutes=9))
    Bootstrap.objects.create(node=new, reason="new", schema=4, asked_at=NOW)
    assert (waiting().place, waiting().name, waiting().has_own_alert) == (Place.NODE, "ns4", True)
    assert late_publication(watched_statuses(now=NOW), now=NOW) is None


def test_a_canary_that_gets_a_snapshot_keeps_the_others_waiting(staged: None) -> None:
    Bootstrap.objects.create(node=Node.objects.get(name="ring0"), reason="resync", schema=4, asked_at=NOW)
    assert (waiting().place, waiting().is_moving, waiting().has_own_alert) == (Place.CANARY, True, False)


def test_whoever_looks_after_the_fleet_sees_the_canary_as_well(staged: None) -> None:
    assert [status.node.name for status in watched_statuses(now=NOW)] == ["ns1", "ns2", "ns3", "ring0"]
    assert [status.node.name for status in node_statuses(now=NOW)] == ["ns1", "ns2", "ns3"]
    assert {status.health.word for status in watched_statuses(now=NOW)} == {Word.STALE}
