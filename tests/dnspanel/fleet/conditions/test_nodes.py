"""Tests of alert conditions for nodes: where each one begins and ends."""

from dataclasses import replace

import pytest

from dnspanel.conditions import Severity
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.rollout.waiting_publications import Place
from replication.wire.front_messages import BackendReport, FrontReport
from tests.dnspanel.condition_inputs import GIB, ago, found, health, inputs, node, only, waiting


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


def test_a_node_with_an_alert_of_its_own_is_no_second_one() -> None:
    offline = node(health=health(Word.OFFLINE, 9000))
    for place in (Place.NODE, Place.CANARY):
        assert found(inputs(offline, waiting=waiting(place, 9000, "ns1", has_own_alert=True))) == [
            ("node.offline", "critical")
        ]


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


def test_a_front_below_its_minimum_is_told_with_how_many_are_left() -> None:
    backend = BackendReport("ns1", "192.0.2.53:53", 1, True, True, "has everything", 1, 0, 0, 0.0, 0, 0.0)
    report = FrontReport("ab", 2, 0, (backend, replace(backend, name="ns2", is_up=False)))
    trouble = only(inputs(node("front1", report={"front": report.to_json()})))
    assert (trouble.kind, trouble.severity) == ("node.front", Severity.CRITICAL)
    assert trouble.message == "front1 has 1 of 2 nodes in rotation. The minimum is 2."
    assert found(inputs(node(report={"front": replace(report, minimum=1).to_json()}))) == []
    assert found(inputs(node(report={"front": {"backends": 1}}))) == [], "of another release"
    trouble = only(inputs(node("front1", report={"front": {"backends": []}, "unserved": "nothing listens"})))
    assert trouble.message.startswith("dnsdist on front1 isn’t responding correctly")


def test_powerdns_that_does_not_answer_is_told_in_its_agents_words() -> None:
    trouble = only(inputs(node(report={"unserved": "asked . SOA, found nothing"})))
    assert (trouble.kind, trouble.severity) == ("node.powerdns", "critical")
    assert "found nothing" in trouble.message


def test_zones_that_differ_are_an_alert_when_repair_has_had_its_time() -> None:
    assert found(inputs(node(diverged=2, diverged_since=ago(minutes=4), digest_equal=False))) == []
    trouble = only(inputs(node(diverged=2, diverged_since=ago(minutes=5), digest_equal=False)))
    assert (trouble.kind, trouble.message.startswith("On ns1, 2 zones have differed")) == ("node.diverged", True)
    assert found(inputs(node(digest_equal=False))) == [("node.digest", "critical")]
    assert found(inputs(node(digest_equal=False, bootstrap_since=ago(seconds=5)))) == []  # a repair is under way
    assert found(inputs(node(digest_equal=None))) == []


def test_a_disk_that_will_be_full_in_days_is_told_before_it_is() -> None:
    assert found(inputs(node(bytes_a_day=50 * GIB / 7.5))) == []
    trouble = only(inputs(node(bytes_a_day=50 * GIB / 6)))
    assert "full in 6 days" in trouble.message
    assert found(inputs(node(bytes_a_day=50 * GIB / 9)), "node.disk:ns1") == [("node.disk", "warning")]
    assert found(inputs(node(bytes_a_day=-GIB))) == []  # the disk gets emptier
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
    assert only(inputs(node(clock_offset=-11.0))).message == "The clock on ns1 is 11 s behind the panel’s clock."
    far = only(inputs(node(clock_offset=7200.0)))
    assert (far.severity, far.message.partition(".")[0]) == (
        "critical",
        "The clock on ns1 is 2 h ahead of the panel’s clock",
    )
    assert "The node uses this clock for signing" in far.message
    assert found(inputs(node(clock_offset=6.0))) == []
    assert found(inputs(node(clock_offset=6.0)), "node.clock:ns1") == [("node.clock", "warning")]


def test_a_bootstrap_that_fails_or_takes_too_long() -> None:
    assert found(inputs(node(bootstrap_since=ago(minutes=14)))) == []
    assert found(inputs(node(bootstrap_since=ago(minutes=15)))) == [("node.bootstrap", "warning")]
    failing = only(inputs(node(bootstrap_since=ago(seconds=1), bootstrap_error="the disk is full")))
    assert (failing.severity, "disk is full" in failing.message) == ("critical", True)
