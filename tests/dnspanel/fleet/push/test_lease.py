"""Tests of the snapshot lease: one worker at a time sends a node's snapshot, even if workers are killed or paused."""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.fleet.models import Bootstrap, Node
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.push import lease
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.fleet.push.lease import LIFETIME, PAUSE, SHORT_PAUSE, Lease, LeaseLost, free_bootstraps
from tests.dnspanel.fleet.conftest import MakeNode

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def node(active_node: MakeNode) -> Node:
    """Return a node with a requested snapshot."""
    made = active_node()
    assert ask_for_snapshot(node_id=made.pk, reason="a test wants it", now=timezone.now())
    return made


def taken(node: Node, *, later: timedelta = timedelta(0)) -> Lease:
    found = Lease.take(node_id=node.pk, now=timezone.now() + later)
    assert found is not None
    return found


def test_the_first_one_has_it_and_the_second_leaves(node: Node) -> None:
    taken(node)
    assert Lease.take(node_id=node.pk, now=timezone.now()) is None
    assert Lease.take(node_id=node.pk + 1, now=timezone.now()) is None


def test_a_silent_one_is_taken_over_and_changes_nothing_any_more(node: Node) -> None:
    paused = taken(node)
    other = taken(node, later=LIFETIME + timedelta(seconds=1))
    with pytest.raises(LeaseLost):
        paused.note(chunks_sent=3)
    with pytest.raises(LeaseLost):
        paused.leave(error="too late")
    assert not paused.end()
    other.note(chunks_sent=7)
    assert (Bootstrap.objects.get().chunks_sent, Bootstrap.objects.get().error) == (7, "")


def test_what_is_not_wanted_any_more_ends_the_turn(node: Node) -> None:
    mine = taken(node)
    Bootstrap.objects.all().delete()
    with pytest.raises(LeaseLost):
        mine.note(chunks_sent=1)


def test_after_a_failure_another_attempt_may_begin_soon(node: Node) -> None:
    taken(node).leave(error="no connection")
    assert Bootstrap.objects.get().error == "no connection"
    assert not free_bootstraps(now=timezone.now()).exists()
    assert free_bootstraps(now=timezone.now() + PAUSE + timedelta(seconds=1)).exists()


def test_a_node_that_is_just_being_started_is_tried_again_soon(node: Node) -> None:
    lease = taken(node)
    lease.leave(error="no connection", pause=SHORT_PAUSE)
    assert lease.pause == SHORT_PAUSE
    assert not free_bootstraps(now=timezone.now()).exists()
    assert free_bootstraps(now=timezone.now() + SHORT_PAUSE + timedelta(seconds=0.1)).exists()


def test_the_end_leaves_nothing_to_do(node: Node) -> None:
    assert taken(node).end()
    assert not Bootstrap.objects.exists()


def test_a_drained_node_waits(node: Node) -> None:
    node_lifecycle.drain(node=node, now=timezone.now(), by=None)
    assert Lease.take(node_id=node.pk, now=timezone.now()) is None


def test_it_is_kept_during_a_long_step(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.05)
    mine = taken(node)
    begun = Bootstrap.objects.get().beat_at
    with mine.keep_alive():
        deadline = time.monotonic() + 10
        while Bootstrap.objects.get().beat_at == begun:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    mine.note(chunks_sent=1)
    connection.close()
