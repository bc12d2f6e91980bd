"""Tests of alert rules over the conditions of all apps: causes, and the conditions that follow from them.

Tests `dnspanel.conditions`, `conditions.subject` and `publish.conditions` too.
"""

from dataclasses import replace

from dnspanel.alerts.alert_rules import conditions
from dnspanel.audit.forward.destination_health import DestinationHealth
from dnspanel.conditions import Condition, NamedZones, Severity, kinds
from dnspanel.fleet.conditions.condition_inputs import DeliveryInputs
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.rollout.waiting_publications import Place
from dnspanel.primaries.conditions import TransfersInputs
from dnspanel.processes.redis_health import RedisProblem
from dnspanel.zones.conditions import HookInputs
from tests.dnspanel.condition_inputs import GIB, ago, found, health, inputs, node, only, reading, waiting
from tests.people import NOW


def test_nothing_is_wrong_with_a_fleet_that_is_well() -> None:
    assert found(inputs(node(), node("ns2"))) == []
    assert found(reading()) == []


def test_a_hold_after_a_restore_is_one_alert() -> None:
    """Regression test: there were eleven alerts. Every node refused, differed and was late, and delivery stopped."""
    ahead = [
        node(name, node_id=number, health=health(word, 900), digest_equal=False, is_ahead=True)
        for number, (name, word) in enumerate(
            {"ring0": Word.REJECTING, "ns1": Word.REJECTING, "ns2": Word.STALE}.items()
        )
    ]
    hold = {
        "hold_reason": "The node ns1 is ahead.",
        "delivery": DeliveryInputs(stopped_reason="ns1 of rest refuses", stopped_at=NOW),
        "unencoded_since": ago(minutes=15),
        "waiting": waiting(Place.HOLD, 900, has_own_alert=True),
    }
    assert found(inputs(*ahead, **hold)) == [("panel.held", "critical")]
    # An unrelated condition stays an alert.
    full = node("ns9", node_id=9, health=health(Word.REJECTING), report={"disk_free_bytes": GIB})
    assert found(inputs(*ahead, full, **hold)) == [
        ("panel.held", "critical"),
        ("node.rejecting", "critical"),
        ("node.disk", "critical"),
    ]


def test_redis_that_is_away_says_what_waits_by_that() -> None:
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2")]
    trouble = only(inputs(*late, redis_problem=RedisProblem.AWAY, waiting=waiting(Place.PUSH, 400)))
    assert trouble.kind == "panel.redis"
    assert trouble.message.endswith("The oldest one has been waiting 6 min for the worker “push”.")


def test_a_process_that_hangs_says_what_waits_by_that() -> None:
    hangs = Condition("panel.process:push", "panel.process", Severity.CRITICAL, "push hangs.")
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2")]
    [trouble] = conditions(inputs(*late, waiting=waiting(Place.PUSH, 400)), NOW, also=[hangs])
    assert trouble.kind == "panel.process"
    assert trouble.message.startswith(
        "push hangs. Publications aren’t reaching the nodes. The oldest one has been waiting 6 min"
    )
    other = replace(hangs, key="panel.process:bulk")
    assert len(conditions(inputs(waiting=waiting(Place.PUSH, 400)), NOW, also=[other])) == 2


def test_publishing_that_does_not_go_on_is_one_alert() -> None:
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2")]
    stalled = {"stalls": ("example.test. cannot be encoded",), "waiting": waiting(Place.ENCODER, 400)}
    assert found(inputs(*late, **stalled)) == [("panel.stall", "critical")]


def test_every_kind_has_its_words_and_every_key_is_one_alert() -> None:
    broken = node(
        health=health(Word.STALE),
        diverged=1,
        diverged_since=ago(hours=1),
        bootstrap_since=ago(hours=1),
        clock_offset=99.0,
        certificate_expires_at=NOW,
        report={"unserved": "x", "disk_free_bytes": 0, "map_used": 1.0, "oldest_reader": 1 << 20},
    )
    everything = inputs(
        broken,
        replace(broken, name="ns2"),
        hold_reason="x",
        stalls=("x",),
        failed=((1, "x", 2),),
        damaged_segments=2,
        redis_problem=RedisProblem.AWAY,
        certificate_expires_at=NOW,
        disk_bytes=1,
        set_up_at=ago(days=9),
        misled=NamedZones(1, (("a.test.", NOW),)),
        unproven=NamedZones(1, (("e.test. on ns1", NOW),)),
        unknown=NamedZones(1, (("b.test.", NOW),)),
        rollovers=NamedZones(1, (("c.test.", NOW),)),
        ending=NamedZones(1, (("d.test.", NOW),)),
        transfers=TransfersInputs(NamedZones(1, (("f.test.", NOW),)), "It is silent.", 1),
        delivery=DeliveryInputs("x", NOW, 1, "", ago(hours=9)),
        hooks=(HookInputs(1, "“Names”", "every zone", NOW, refuses=True),),
        destinations=(
            DestinationHealth(1, "SIEM", 1, failing_since=ago(hours=9), rejected_at=NOW),
            DestinationHealth(2, "Syslog", 1, oldest_at=ago(hours=9)),
        ),
    )
    told = conditions(everything, NOW)
    assert len({condition.key for condition in told}) == len(told) > 20
    assert {condition.kind for condition in told} <= kinds().keys()
    assert all(condition.message[0].isupper() or condition.message[0] in "n12" for condition in told)
