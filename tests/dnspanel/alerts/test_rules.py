"""What is wrong, worked out of facts: each kind of trouble, where it begins, and where it ends."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dnspanel.alerts.models import Severity
from dnspanel.alerts.rules import (
    KINDS,
    AlertInputs,
    Condition,
    DeliveryInputs,
    HookInputs,
    NodeInputs,
    TransfersInputs,
    ZonesInputs,
    conditions,
)
from dnspanel.catalogs.queries import Troubled
from dnspanel.evidence.health import DestinationHealth
from dnspanel.fleet.health import Health, Word
from dnspanel.fleet.rollout.waiting import Place, Waiting
from dnspanel.redis_health import RedisProblem
from dnspanel.secondaries.queries import DifferingSecondary, LateSecondary
from replication.wire.front import BackendReport, FrontReport
from tests.people import NOW

WELL = Health(Word.LIVE, "It answers with everything.", 0, 0.0)
GIB = 1 << 30


def node(name: str = "ns1", **inputs: Any) -> NodeInputs:
    report = {"disk_free_bytes": 50 * GIB, "disk_bytes": 100 * GIB, "map_used": 0.1, "oldest_reader": 0, "unserved": ""}
    report |= inputs.pop("report", {})
    given = {"node_id": 1, "name": name, "state": "active", "health": WELL, "report": report, **inputs}
    return NodeInputs(**given)


def inputs(*nodes: NodeInputs, **more: Any) -> AlertInputs:
    return AlertInputs(nodes=nodes, **{"collector_at": NOW, **more})


def found(inputs: AlertInputs, *is_open: str) -> list[tuple[str, str]]:
    return [(condition.kind, condition.severity) for condition in conditions(inputs, NOW, is_open=is_open)]


def only(inputs: AlertInputs, *is_open: str) -> Condition:
    [condition] = conditions(inputs, NOW, is_open=is_open)
    return condition


def health(word: Word, seconds: float = 0.0) -> Health:
    return Health(word, "Sequence 3 of 9.", 6, seconds)


def ago(**time: float) -> Any:
    return NOW - timedelta(**time)


def test_nothing_is_wrong_with_a_fleet_that_is_well() -> None:
    assert found(inputs(node(), node("ns2"))) == []
    assert found(AlertInputs()) == []


@pytest.mark.parametrize(
    ("word", "seconds", "expected"),
    [
        (Word.LIVE, 0, []),
        (Word.CATCHING_UP, 900, []),
        (Word.LATE, 29, []),
        (Word.LATE, 30, [("node.late", "warning")]),
        (Word.STALE, 301, [("node.stale", "critical")]),
        (Word.OFFLINE, 0, [("node.offline", "critical")]),
        (Word.REJECTING, 0, [("node.rejecting", "critical")]),
        (Word.DRAINED, 900, []),
    ],
)
def test_how_a_node_stands(word: Word, seconds: float, expected: list[tuple[str, str]]) -> None:
    assert found(inputs(node(health=health(word, seconds)))) == expected


def waiting(place: Place, seconds: int, name: str = "", **more: Any) -> Waiting:
    return Waiting(7, ago(seconds=seconds), place, name, **more)


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
    """While the worker “push” hung, 420 publications reached no node: all nodes were "held back", and all was well."""
    back = [node(name, health=health(Word.LIMITED, seconds)) for name in ("ns1", "ns2")]
    assert found(inputs(*back, waiting=waiting(Place.PUSH, seconds))) == expected


def test_the_alert_names_the_place_and_lasts_until_it_is_clearly_better() -> None:
    trouble = only(inputs(waiting=waiting(Place.PUSH, 421)))
    assert trouble.message == "Publications do not reach the nodes: the oldest has waited 7 min for the worker “push”."
    assert found(inputs(waiting=waiting(Place.GROUP, 31, "rest")), "panel.late") == [("panel.late", "warning")]
    assert found(inputs(waiting=waiting(Place.GROUP, 29, "rest")), "panel.late") == []
    verifying = waiting(Place.GROUP, 350, "first", verify_time=timedelta(minutes=5))
    assert found(inputs(waiting=verifying)) == []
    assert "first" in only(inputs(waiting=replace(verifying, since=ago(minutes=6)))).message


def test_what_waits_before_the_nodes_is_one_alert_however_many_nodes_are_late() -> None:
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2", "ns3")]
    assert found(inputs(*late, waiting=waiting(Place.PUSH, 400))) == [("panel.late", "critical")]
    # Nor are they one each before the place is an alert.
    soon = [node(name, health=health(Word.LATE, 40)) for name in ("ns1", "ns2", "ns3")]
    assert found(inputs(*soon, waiting=waiting(Place.PUSH, 40))) == []
    encoder = {"unencoded_since": ago(seconds=400), "waiting": waiting(Place.ENCODER, 400)}
    assert found(inputs(*late, **encoder)) == [("panel.late", "critical")]


def test_a_node_that_is_late_and_what_waits_for_it_are_one_alert() -> None:
    at_node = waiting(Place.NODE, 400, "ns1")
    late, other = node(health=health(Word.STALE, 400)), node("ns2", node_id=2, health=health(Word.LATE, 60))
    assert found(inputs(late, waiting=at_node)) == [("node.stale", "critical")]
    assert found(inputs(late, other, waiting=at_node)) == [("node.stale", "critical"), ("node.late", "warning")]
    # One that is catching up is not late by its word; what it lacks is old all the same.
    moving = node(health=health(Word.CATCHING_UP, 400))
    [trouble] = conditions(inputs(moving, waiting=replace(at_node, is_moving=True)), NOW)
    assert (trouble.kind, trouble.severity) == ("panel.late", "critical")
    assert trouble.message.startswith("Publications arrive late: ns1 is catching up")
    # What was an alert first stays it, while the node is now late, now catching up.
    assert found(inputs(late, waiting=at_node), "panel.late") == [("panel.late", "critical")]
    assert found(inputs(late, waiting=at_node), "panel.late", "node.standing:ns1") == [("node.stale", "critical")]


def test_a_node_with_an_alert_of_its_own_is_no_second_one() -> None:
    offline = node(health=health(Word.OFFLINE, 9000))
    for place in (Place.NODE, Place.CANARY):
        assert found(inputs(offline, waiting=waiting(place, 9000, "ns1", has_own_alert=True))) == [
            ("node.offline", "critical")
        ]


def test_a_hold_after_a_restore_is_one_alert() -> None:
    """It was eleven: every node refused, had another digest and was late; delivery had stopped by that."""
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
    # What has nothing to do with it stays an alert.
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
    assert trouble.message.endswith("the oldest has waited 6 min for the worker “push”.")


def test_a_process_that_hangs_says_what_waits_by_that() -> None:
    hangs = Condition("panel.process:push", "panel.process", Severity.CRITICAL, "push hangs.")
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2")]
    [trouble] = conditions(inputs(*late, waiting=waiting(Place.PUSH, 400)), NOW, also=[hangs])
    assert trouble.kind == "panel.process"
    assert trouble.message.startswith("push hangs. Publications do not reach the nodes: the oldest has waited 6 min")
    other = replace(hangs, key="panel.process:bulk")
    assert len(conditions(inputs(waiting=waiting(Place.PUSH, 400)), NOW, also=[other])) == 2


def test_publishing_that_does_not_go_on_is_one_alert() -> None:
    late = [node(name, health=health(Word.STALE, 400)) for name in ("ns1", "ns2")]
    stalled = {"stalls": ("example.test. cannot be encoded",), "waiting": waiting(Place.ENCODER, 400)}
    assert found(inputs(*late, **stalled)) == [("panel.stall", "critical")]


def test_a_secondary_that_is_behind_or_silent_is_one_trouble() -> None:
    late = LateSecondary("partner", 3, "a.test.", ago(minutes=9), None)
    silent = LateSecondary("partner", 0, "", None, ago(minutes=9))
    one, other = (only(inputs(secondaries=(each,))) for each in (late, silent))
    assert one.key == other.key == "secondary:partner"
    assert (one.kind, one.severity) == ("secondary.late", "warning")
    assert one.message == "The secondary partner is behind with 3 zones, a.test first, for 9 min."
    assert (other.kind, other.severity) == ("secondary.silent", "critical")
    assert only(inputs(secondaries=(replace(late, zones=1),))).message.startswith(
        "The secondary partner is behind with a.test, for"
    )


def test_a_secondary_that_differs_from_its_zones_is_critical() -> None:
    differing = DifferingSecondary("partner", 3, "a.test.", ago(minutes=9), "www.a.test. A: it answers nothing.")
    one = only(inputs(differing=(differing,)))
    assert (one.key, one.kind, one.severity) == ("secondary.differs:partner", "secondary.differs", "critical")
    assert one.message == (
        "The secondary partner answers otherwise than 3 zones are, a.test first, for 9 min. "
        "www.a.test. A: it answers nothing."
    )


def test_a_node_that_was_late_and_is_offline_is_one_trouble_grown_worse() -> None:
    late, offline = (only(inputs(node(health=health(word, 60)))) for word in (Word.LATE, Word.OFFLINE))
    assert late.key == offline.key == "node.standing:ns1"
    assert "ns1 is offline" in offline.message


def test_a_node_that_was_just_approved_is_not_offline_yet() -> None:
    assert found(inputs(node(health=health(Word.OFFLINE), new_since=ago(minutes=19)))) == []
    assert found(inputs(node(health=health(Word.OFFLINE), new_since=ago(minutes=20)))) == [("node.offline", "critical")]


@pytest.mark.parametrize("state", ["awaiting", "retired"])
def test_nodes_that_are_not_in_the_fleet_are_nobodys_trouble(state: str) -> None:
    assert found(inputs(node(state=state, report={"map_used": 0.99, "unserved": "timeout"}))) == []


def test_while_the_collector_is_silent_nobody_is_called_offline() -> None:
    lost = [node(f"ns{n}", health=health(Word.OFFLINE)) for n in range(3)]
    assert found(inputs(*lost, collector_at=ago(seconds=21))) == [("panel.collector", "critical")]
    assert found(inputs(*lost, collector_at=None)) == [("panel.collector", "critical")]
    started = {"collector_at": None, "backup_at": NOW}
    assert found(inputs(*lost, **started, set_up_at=ago(seconds=21))) == [("panel.collector", "critical")]
    assert "panel.collector" not in dict(found(inputs(*lost, **started, set_up_at=ago(seconds=19))))
    # It died, and nobody has been asked since: that the nodes seem offline five seconds before it counts as silent is
    # no news of them.
    assert found(inputs(*lost, collector_at=ago(seconds=16))) == []
    assert len(found(inputs(*lost, collector_at=ago(seconds=10)))) == 3
    assert found(AlertInputs(collector_at=None)) == []  # a panel without nodes needs no collector


def test_a_front_below_its_minimum_is_told_with_how_many_are_left() -> None:
    backend = BackendReport("ns1", "192.0.2.53:53", 1, True, True, "has everything", 1, 0, 0, 0.0, 0, 0.0)
    report = FrontReport("ab", 2, 0, (backend, replace(backend, name="ns2", is_up=False)))
    trouble = only(inputs(node("front1", report={"front": report.to_json()})))
    assert (trouble.kind, trouble.severity) == ("node.front", Severity.CRITICAL)
    assert trouble.message == "front1 has 1 of 2 nodes in rotation, and should have 2 at least."
    assert found(inputs(node(report={"front": replace(report, minimum=1).to_json()}))) == []
    assert found(inputs(node(report={"front": {"backends": 1}}))) == [], "of another release"
    trouble = only(inputs(node("front1", report={"front": {"backends": []}, "unserved": "nothing listens"})))
    assert trouble.message.startswith("dnsdist on front1 does not answer")


def test_powerdns_that_does_not_answer_is_told_in_its_agents_words() -> None:
    trouble = only(inputs(node(report={"unserved": "asked . SOA, found nothing"})))
    assert (trouble.kind, trouble.severity) == ("node.powerdns", "critical")
    assert "found nothing" in trouble.message


def test_zones_that_differ_are_an_alert_when_repair_has_had_its_time() -> None:
    assert found(inputs(node(diverged=2, diverged_since=ago(minutes=4), digest_equal=False))) == []
    trouble = only(inputs(node(diverged=2, diverged_since=ago(minutes=5), digest_equal=False)))
    assert (trouble.kind, trouble.message.startswith("On ns1, 2 zones are")) == ("node.diverged", True)
    assert found(inputs(node(digest_equal=False))) == [("node.digest", "critical")]
    assert found(inputs(node(digest_equal=False, bootstrap_since=ago(seconds=5)))) == []  # it is being mended
    assert found(inputs(node(digest_equal=None))) == []


@pytest.mark.parametrize(
    ("free", "is_open", "expected"),
    [
        (10.0, False, []),
        (9.9, False, [("node.disk", "warning")]),
        (11.9, True, [("node.disk", "warning")]),
        (12.0, True, []),
        (2.9, False, [("node.disk", "critical")]),
    ],
)
def test_a_disk_that_fills_up_stays_wrong_until_it_is_clearly_better(
    free: float, is_open: bool, expected: list[tuple[str, str]]
) -> None:
    known = ("node.disk:ns1",) if is_open else ()
    assert found(inputs(node(report={"disk_free_bytes": int(free * GIB)})), *known) == expected
    panel = inputs(disk_free_bytes=int(free * GIB), disk_bytes=100 * GIB)
    assert found(panel, *(("panel.disk",) if is_open else ())) == [("panel.disk", s) for _, s in expected]


@pytest.mark.parametrize(("free", "severity"), [(9, "warning"), (2, "critical")])
def test_a_disk_without_inodes_is_as_full_as_one_without_bytes(free: int, severity: str) -> None:
    of_node = only(inputs(node(report={"disk_free_inodes": free, "disk_inodes": 100})))
    of_panel = only(inputs(disk_free_bytes=GIB, disk_bytes=GIB, disk_free_inodes=free, disk_inodes=100))
    assert (of_node.kind, of_node.severity, of_panel.kind, of_panel.severity) == (
        "node.disk",
        severity,
        "panel.disk",
        severity,
    )
    assert f"{free} inodes free, {free}.0% of them" in of_node.message
    assert f"{free} inodes free" in of_panel.message
    assert found(inputs(node(report={"disk_free_inodes": 0, "disk_inodes": 0}))) == [], "it makes them as it needs them"


def test_a_disk_that_will_be_full_in_days_is_told_before_it_is() -> None:
    assert found(inputs(node(bytes_a_day=50 * GIB / 7.5))) == []
    trouble = only(inputs(node(bytes_a_day=50 * GIB / 6)))
    assert "full in 6 days" in trouble.message
    assert found(inputs(node(bytes_a_day=50 * GIB / 9)), "node.disk:ns1") == [("node.disk", "warning")]
    assert found(inputs(node(bytes_a_day=-GIB))) == []  # it empties
    assert found(inputs(node(bytes_a_day=GIB, report={"disk_bytes": 0}))) == []  # an older agent


@pytest.mark.parametrize(
    ("used", "is_open", "expected"),
    [
        (0.70, False, []),
        (0.71, False, ["warning"]),
        (0.68, True, ["warning"]),
        (0.67, True, []),
        (0.91, False, ["critical"]),
    ],
)
def test_an_lmdb_map_that_fills_up(used: float, is_open: bool, expected: list[str]) -> None:
    known = ("node.map:ns1",) if is_open else ()
    assert [severity for _, severity in found(inputs(node(report={"map_used": used})), *known)] == expected


def test_a_reader_that_never_ends_and_a_clock_that_is_off() -> None:
    assert found(inputs(node(report={"oldest_reader": 10_001}))) == [("node.reader", "warning")]
    assert found(inputs(node(report={"oldest_reader": 2_000}))) == []
    assert found(inputs(node(report={"oldest_reader": 2_000})), "node.reader:ns1") == [("node.reader", "warning")]
    assert only(inputs(node(clock_offset=-11.0))).message == "The clock of ns1 is 11 s behind the panel's."
    far = only(inputs(node(clock_offset=7200.0)))
    assert (far.severity, far.message.partition(".")[0]) == ("critical", "The clock of ns1 is 2 h ahead of the panel's")
    assert "It signs by that clock" in far.message
    assert found(inputs(node(clock_offset=6.0))) == []
    assert found(inputs(node(clock_offset=6.0)), "node.clock:ns1") == [("node.clock", "warning")]


@pytest.mark.parametrize(
    ("left", "expected", "words"),
    [
        (timedelta(days=31), None, ""),
        (timedelta(days=29), "warning", "ends in 29 days"),
        (timedelta(days=6), "critical", "ends in 6 days"),
        (timedelta(hours=-5), "critical", "ended 5 h ago"),
    ],
)
def test_certificates_of_nodes_and_of_the_panel(left: timedelta, expected: str | None, words: str) -> None:
    for given, kind in (
        (inputs(node(certificate_expires_at=NOW + left)), "node.certificate"),
        (inputs(certificate_expires_at=NOW + left), "panel.certificate"),
    ):
        assert found(given) == ([] if expected is None else [(kind, expected)])
        assert all(words in condition.message for condition in conditions(given, NOW))


def test_a_bootstrap_that_fails_or_takes_too_long() -> None:
    assert found(inputs(node(bootstrap_since=ago(minutes=14)))) == []
    assert found(inputs(node(bootstrap_since=ago(minutes=15)))) == [("node.bootstrap", "warning")]
    failing = only(inputs(node(bootstrap_since=ago(seconds=1), bootstrap_error="the disk is full")))
    assert (failing.severity, "disk is full" in failing.message) == ("critical", True)


def test_publishing() -> None:
    assert found(inputs(unencoded_since=ago(seconds=59))) == []
    assert found(inputs(unencoded_since=ago(seconds=60))) == [("panel.log_age", "warning")]
    assert found(inputs(unencoded_since=ago(minutes=10))) == [("panel.log_age", "critical")]
    # A standstill says why, and is not told twice.
    assert found(inputs(unencoded_since=ago(hours=1), stalls=("x.test. is broken",))) == [("panel.stall", "critical")]
    assert found(inputs(hold_reason="ns1 is ahead")) == [("panel.held", "critical")]
    assert found(inputs(damaged_segments=1)) == [("panel.object", "warning")]
    failed = conditions(inputs(failed=((7, "SERVFAIL"), (9, "crash"))), NOW)
    assert [condition.key for condition in failed] == ["panel.failed:7", "panel.failed:9"]


def test_delivery_that_was_stopped_or_has_been_pinned_for_long() -> None:
    assert found(inputs(delivery=DeliveryInputs("SERVFAIL rose on ns1", NOW))) == [("panel.stopped", "critical")]
    pinned = DeliveryInputs(pinned=5, pinned_reason="maintenance", pinned_at=ago(minutes=59))
    assert found(inputs(delivery=pinned)) == []
    late = only(inputs(delivery=replace(pinned, pinned_at=ago(hours=2))))
    assert late.message == "The fleet has been pinned at 5 for 2 h (maintenance)."


def test_redis_and_backups() -> None:
    for problem, words in (("away", "does not answer"), ("full", "is full"), ("refuses", "refuses writes")):
        condition = only(inputs(redis_problem=RedisProblem(problem)))
        assert (condition.kind, str(condition.severity)) == ("panel.redis", "critical")
        assert f"Redis {words}: delivery goes on by polling" in condition.message
    assert found(inputs(set_up_at=ago(hours=25))) == []
    assert "there is none" in only(inputs(set_up_at=ago(hours=27))).message
    assert found(inputs(set_up_at=ago(days=90), backup_at=ago(hours=25))) == []
    assert "27 h old" in only(inputs(set_up_at=ago(days=90), backup_at=ago(hours=27))).message


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
        failed=((1, "x"),),
        damaged_segments=2,
        redis_problem=RedisProblem.AWAY,
        certificate_expires_at=NOW,
        disk_bytes=1,
        set_up_at=ago(days=9),
        misled=ZonesInputs(1, (("a.test.", NOW),)),
        unproven=ZonesInputs(1, (("e.test. on ns1", NOW),)),
        unknown=ZonesInputs(1, (("b.test.", NOW),)),
        rollovers=ZonesInputs(1, (("c.test.", NOW),)),
        ending=ZonesInputs(1, (("d.test.", NOW),)),
        transfers=TransfersInputs(ZonesInputs(1, (("f.test.", NOW),)), "It is silent.", 1),
        delivery=DeliveryInputs("x", NOW, 1, "", ago(hours=9)),
        hooks=(HookInputs(1, "“Names”", "every zone", NOW, refuses=True),),
        evidence=(
            DestinationHealth(1, "SIEM", 1, failing_since=ago(hours=9), rejected_at=NOW),
            DestinationHealth(2, "Syslog", 1, oldest_at=ago(hours=9)),
        ),
    )
    told = conditions(everything, NOW)
    assert len({condition.key for condition in told}) == len(told) > 20
    assert {condition.kind for condition in told} <= KINDS.keys()
    assert all(condition.message[0].isupper() or condition.message[0] in "n12" for condition in told)


def test_a_publish_hook_that_does_not_answer_is_critical_where_nothing_is_published_by_that() -> None:
    must = HookInputs(7, "“Names”", "every zone", ago(minutes=3), refuses=True)
    condition = only(inputs(hooks=(must,)))
    assert (condition.key, condition.kind, condition.severity) == ("panel.hook:7", "panel.hook", "critical")
    assert condition.message == (
        "The publish hook “Names” has not answered for 3 min. Publications of every zone are refused."
    )
    passing = only(inputs(hooks=(replace(must, refuses=False),)))
    assert (passing.severity, "go without its answer" in passing.message) == ("warning", True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"failing_since": ago(minutes=4), "behind": 3}, []),
        ({"failing_since": ago(minutes=5), "behind": 3}, [("panel.evidence", "warning")]),
        ({"failing_since": ago(hours=1), "behind": 3}, [("panel.evidence", "critical")]),
        ({"behind": 3, "oldest_at": ago(minutes=9)}, []),
        ({"behind": 3, "oldest_at": ago(minutes=10)}, [("panel.evidence_behind", "warning")]),
        ({"behind": 3, "oldest_at": ago(days=9), "sent_at": ago(minutes=1)}, []),
        ({"behind": 3, "oldest_at": ago(days=9), "sent_at": ago(hours=1)}, [("panel.evidence_behind", "warning")]),
        ({"behind": 3, "oldest_at": ago(days=9), "begun_at": ago(minutes=1)}, []),
        ({"rejected_at": ago(hours=23)}, [("panel.evidence_rejected", "warning")]),
        ({"rejected_at": ago(hours=25)}, []),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_a_destination_of_the_audit_log_that_takes_nothing_is_behind_or_would_not_keep_something(
    given: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    destination = DestinationHealth(1, "SIEM", **{"behind": 0, **given})
    assert found(inputs(evidence=(destination,))) == expected


def test_zones_that_do_not_validate_on_nodes_are_one_alert_that_names_both() -> None:
    condition = only(inputs(unproven=ZonesInputs(1, (("a.test. on ns1 and ring0", ago(hours=3)),))))
    assert (condition.key, condition.severity) == ("panel.unproven", "critical")
    assert condition.message.startswith("1 zone (a.test. on ns1 and ring0 for 3 h): the signatures that PowerDNS")


def test_zones_that_their_parents_mislead_are_one_alert() -> None:
    zones = tuple((f"z{number}.test.", ago(hours=3)) for number in range(20))
    condition = only(inputs(misled=ZonesInputs(1234, zones)))
    assert (condition.key, condition.severity) == ("panel.ds", "critical")
    assert condition.message.startswith("1,234 zones (z0.test. for 3 h, z1.test. for 3 h, ")
    assert "z19.test. for 3 h, and 1,214 more): what the parent has" in condition.message
    condition = only(inputs(unknown=ZonesInputs(1, (("a.test.", ago(days=4)),))))
    assert (condition.key, condition.severity) == ("panel.parents", "warning")
    assert condition.message == "1 zone (a.test. for 4 days): nobody knows whether the parent has the right DS."
    condition = only(inputs(rollovers=ZonesInputs(1, (("a.test.", ago(days=4)),))))
    assert (condition.key, condition.severity) == ("panel.rollovers", "warning")


def test_records_that_stay_though_they_expired_are_told_by_their_zones() -> None:
    condition = only(inputs(expired=ZonesInputs(2, (("a.test.", ago(hours=3)), ("b.test.", ago(hours=1))))))
    assert (condition.key, condition.kind, condition.severity) == ("panel.expired", "panel.expired", "warning")
    assert condition.message == (
        "2 zones (a.test. for 3 h, b.test. for 60 min): a record has expired, but stays; its row says why."
    )


def test_zones_to_which_nothing_comes_from_their_primaries_are_told_with_the_reason_of_the_first() -> None:
    late = ZonesInputs(2, (("a.test.", ago(hours=3)), ("b.test.", ago(hours=1))))
    condition = only(inputs(transfers=TransfersInputs(late, "192.0.2.53 port 53 does not answer.")))
    assert (condition.key, condition.kind, condition.severity) == ("panel.transfers", "panel.transfers", "warning")
    assert condition.message == (
        "2 zones (a.test. for 3 h, b.test. for 60 min): nothing comes from their primaries elsewhere. "
        "The first: 192.0.2.53 port 53 does not answer."
    )
    condition = only(inputs(transfers=TransfersInputs(late, "It answered REFUSED.", unserved=1)))
    assert condition.severity == "critical"
    assert "1 of them is not served. The first: It answered REFUSED." in condition.message


def test_catalogs_of_others_about_which_there_is_something_to_tell_are_one_alert() -> None:
    first = Troubled("catalog.test.", ago(hours=3), "It is broken: it states no version.")
    condition = only(inputs(catalogs=(first, Troubled("b.test.", ago(hours=1), "x"))))
    assert (condition.key, condition.kind, condition.severity) == ("panel.catalogs", "panel.catalogs", "warning")
    assert condition.message == (
        "The catalog catalog.test., for 3 h: It is broken: it states no version. "
        "Of 1 more there is something to be told."
    )


def test_signatures_that_zones_came_with_are_told_before_they_end() -> None:
    found = ZonesInputs(2, (("a.test.", NOW + timedelta(days=3)), ("b.test.", NOW + timedelta(days=6))))
    condition = only(inputs(ending=found))
    assert (condition.key, condition.kind, condition.severity) == ("panel.signatures", "panel.signatures", "warning")
    assert condition.message == (
        "2 zones (a.test. in 3 days, b.test. in 6 days): the signatures that they came with end; import them signed "
        "anew."
    )
    for end, words in ((NOW + timedelta(days=2), "in 2 days"), (ago(hours=3), "for 3 h")):
        condition = only(inputs(ending=ZonesInputs(1, (("a.test.", end),))))
        assert condition.severity == "critical"
        assert f"1 zone (a.test. {words}): the signatures" in condition.message
