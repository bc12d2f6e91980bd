"""Tests of alert conditions for delivery: where publications wait, and when that is an alert."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dnspanel.alerts.alert_rules import conditions
from dnspanel.fleet.conditions.condition_inputs import DeliveryInputs
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.rollout.waiting_publications import Place
from tests.dnspanel.condition_inputs import ago, found, health, inputs, node, only, reading, waiting
from tests.people import NOW


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (59, []),
        (60, [("panel.late", "warning")]),
        (299, [("panel.late", "warning")]),
        (300, [("panel.late", "critical")]),
    ],
)
def test_publications_that_wait_are_an_alert_by_the_age_of_the_oldest(seconds: int, expected: list[Any]) -> None:
    """Regression test: while the worker “push” hung, 420 publications waited, but all nodes counted as "held back"."""
    back = [node(name, health=health(Word.LIMITED, seconds)) for name in ("ns1", "ns2")]
    assert found(inputs(*back, waiting=waiting(Place.PUSH, seconds))) == expected


def test_the_alert_names_the_place_and_lasts_until_it_is_clearly_better() -> None:
    trouble = only(inputs(waiting=waiting(Place.PUSH, 421)))
    assert (
        trouble.message
        == "Publications aren’t reaching the nodes. The oldest one has been waiting 7 min for the worker “push”."
    )
    assert found(inputs(waiting=waiting(Place.GROUP, 31, "rest")), "panel.late") == [("panel.late", "warning")]
    assert found(inputs(waiting=waiting(Place.GROUP, 29, "rest")), "panel.late") == []
    verifying = waiting(Place.GROUP, 350, "first", verify_time=timedelta(minutes=5))
    assert found(inputs(waiting=verifying)) == []
    assert "first" in only(inputs(waiting=replace(verifying, since=ago(minutes=6)))).message


def test_what_waits_before_the_nodes_is_one_alert_however_many_nodes_are_late() -> None:
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2", "ns3")]
    assert found(inputs(*late, waiting=waiting(Place.PUSH, 400))) == [("panel.late", "critical")]
    # They aren't single alerts before that either.
    soon = [node(name, health=health(Word.LATE, 40)) for name in ("ns1", "ns2", "ns3")]
    assert found(inputs(*soon, waiting=waiting(Place.PUSH, 40))) == []
    encoder = {"unencoded_since": ago(seconds=400), "waiting": waiting(Place.ENCODER, 400)}
    assert found(inputs(*late, **encoder)) == [("panel.late", "critical")]


def test_a_node_that_is_late_and_what_waits_for_it_are_one_alert() -> None:
    at_node = waiting(Place.NODE, 400, "ns1")
    late, other = node(health=health(Word.STALE, 400)), node("ns2", node_id=2, health=health(Word.LATE, 60))
    assert found(inputs(late, waiting=at_node)) == [("node.stale", "critical")]
    assert found(inputs(late, other, waiting=at_node)) == [("node.stale", "critical"), ("node.late", "warning")]
    # A node that is catching up isn't "late", but its missing publication is just as old.
    moving = node(health=health(Word.CATCHING_UP, 400))
    [trouble] = conditions(inputs(moving, waiting=replace(at_node, is_moving=True)), NOW)
    assert (trouble.kind, trouble.severity) == ("panel.late", "critical")
    assert trouble.message.startswith("Publications are arriving late. ns1 is catching up")
    # The first alert stays, even if the node alternates between late and catching up.
    assert found(inputs(late, waiting=at_node), "panel.late") == [("panel.late", "critical")]
    assert found(inputs(late, waiting=at_node), "panel.late", "node.standing:ns1") == [("node.stale", "critical")]


def test_while_the_collector_is_silent_nobody_is_called_offline() -> None:
    lost = [node(f"ns{n}", health=health(Word.OFFLINE)) for n in range(3)]
    assert found(inputs(*lost, collector_at=ago(seconds=21))) == [("panel.collector", "critical")]
    assert found(inputs(*lost, collector_at=None)) == [("panel.collector", "critical")]
    started = {"collector_at": None, "backup_at": NOW}
    assert found(inputs(*lost, **started, set_up_at=ago(seconds=21))) == [("panel.collector", "critical")]
    assert "panel.collector" not in dict(found(inputs(*lost, **started, set_up_at=ago(seconds=19))))
    # The collector died, so no node was asked since. Nodes appear offline five seconds before the collector counts as
    # silent, which isn't their fault.
    assert found(inputs(*lost, collector_at=ago(seconds=16))) == []
    assert len(found(inputs(*lost, collector_at=ago(seconds=10)))) == 3
    assert found(reading(collector_at=None)) == []  # a panel without nodes needs no collector


def test_publishing() -> None:
    assert found(inputs(unencoded_since=ago(seconds=59))) == []
    assert found(inputs(unencoded_since=ago(seconds=60))) == [("panel.log_age", "warning")]
    assert found(inputs(unencoded_since=ago(minutes=10))) == [("panel.log_age", "critical")]
    # A stall gives the reason, and is reported once.
    assert found(inputs(unencoded_since=ago(hours=1), stalls=("x.test. is broken",))) == [("panel.stall", "critical")]
    assert found(inputs(hold_reason="ns1 is ahead")) == [("panel.held", "critical")]
    assert found(inputs(damaged_segments=1)) == [("panel.object", "warning")]
    failed = conditions(inputs(failed=((7, "SERVFAIL", 8), (9, "crash", 10))), NOW)
    assert [condition.key for condition in failed] == ["panel.failed:7", "panel.failed:9"]


def test_delivery_that_was_stopped_or_has_been_pinned_for_long() -> None:
    assert found(inputs(delivery=DeliveryInputs("SERVFAIL rose on ns1", NOW))) == [("panel.stopped", "critical")]
    pinned = DeliveryInputs(pinned=5, pinned_reason="maintenance", pinned_at=ago(minutes=59))
    assert found(inputs(delivery=pinned)) == []
    late = only(inputs(delivery=replace(pinned, pinned_at=ago(hours=2))))
    assert late.message == "The fleet has been pinned at sequence 5 for 2 h (maintenance)."
