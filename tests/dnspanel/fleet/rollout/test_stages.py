"""Tests of the limits of stages: the rule over all small cases, and the text of each reason."""

from dataclasses import replace
from itertools import product

import pytest

from dnspanel.fleet.rollout.stages import (
    FEWEST_ANSWERS,
    Answers,
    Member,
    Ring0,
    Stage,
    clearances,
    rose,
    stop_for,
    trouble,
)

HEAD = 3


def member(
    name: str = "ns1",
    acked: int = HEAD,
    *,
    verified: int | None = None,
    live: bool = True,
    refusal: str = "",
    diverged: bool = False,
) -> Member:
    return Member(1, name, acked, acked if verified is None else verified, live, refusal, diverged)


def stage(name: str, *members: Member, id: int | None = 1, released: int | None = None) -> Stage:
    return Stage(name, members, id, released=released)


def ring0(*members: Member, role: Ring0 = Ring0.WAITED_FOR) -> Stage:
    return Stage("ring 0", members, None, role)


def limits(*stages: Stage, stopped: Stage | None = None) -> list[int | None]:
    return [clearance.sequence for clearance in clearances(stages, head=HEAD, stopped=stopped)]


def reasons(*stages: Stage, stopped: Stage | None = None) -> list[str]:
    return [clearance.reason for clearance in clearances(stages, head=HEAD, stopped=stopped)]


def test_one_group_without_ring_0_waits_for_nobody() -> None:
    assert limits(stage("all", member(acked=0))) == [None]


def test_a_group_gets_what_every_live_node_before_it_proved() -> None:
    canary = stage("canary", member("a", 3), member("b", 2), member("c", 1, live=False), id=1)
    assert limits(canary, stage("rest", member(), id=2)) == [None, 2]


def test_no_case_lets_a_stage_go_beyond_a_live_node_before_it_or_below_what_was_released() -> None:
    """The test tries every small fleet of three stages: positions, live or not, and the previous release."""
    cases = list(product(range(HEAD + 1), range(HEAD + 1), (True, False)))
    members = [member(acked=max(p, s), verified=min(p, s), live=live) for p, s, live in cases]
    checked = 0
    for first, second in product(members, members):
        for released in (None, 0, 1, HEAD):
            stages = (
                ring0(first),
                stage("canary", second, id=1, released=released),
                stage("rest", member(), id=2, released=released),
            )
            free, canary, rest = limits(*stages)
            gate_first = first.verified if first.is_live else 0
            gate_second = second.verified if second.is_live else 0
            assert free is None
            assert canary == max(gate_first, released or 0)
            assert rest == max(min(gate_first, gate_second), released or 0)
            checked += 1
    assert checked == (16 * 2) ** 2 * 4


def test_a_group_without_nodes_is_passed_through() -> None:
    assert limits(stage("empty"), stage("rest", member(), id=2)) == [None, None]


def test_a_group_without_a_live_node_is_waited_for_until_a_person_skips_it() -> None:
    dead = stage("canary", member(live=False), id=1)
    rest = stage("rest", member(acked=1), id=2, released=1)
    assert limits(dead, rest) == [None, 1]
    assert reasons(dead, rest)[1] == "waiting for canary, which doesn’t have a live node"
    assert limits(replace(dead, is_skipped=True), rest) == [None, None]


def test_a_ring_0_that_is_away_is_waited_for_by_nobody() -> None:
    assert limits(ring0(member(acked=1), role=Ring0.AWAY), stage("all", member())) == [None, None]
    assert limits(ring0(member(acked=1)), stage("all", member())) == [None, 1]


def test_a_stop_keeps_what_was_released_and_gives_no_more_to_those_behind() -> None:
    canary, rest = stage("canary", member(), id=1), stage("rest", member(acked=1), id=2, released=2)
    assert limits(canary, rest, stopped=canary) == [None, 2]
    assert reasons(canary, rest, stopped=canary)[1] == "delivery is stopped after canary"


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        (ring0(member("r0", 2)), "waiting for ring 0, which is at sequence 2 of 3"),
        (
            stage("canary", member("a", 1), member("b", 2), member("c", 3)),
            "waiting for a, b in canary, at sequence 1 of 3",
        ),
        (
            replace(stage("canary", member("a", 3, verified=1)), verify_seconds=30),
            "waiting until canary has answered correctly for 30 s",
        ),
        (stage("canary", member("a", 3)), ""),
    ],
    ids=["ring 0", "nodes on the way", "time to verify", "nothing"],
)
def test_who_waits_knows_for_whom(before: Stage, sentence: str) -> None:
    assert reasons(before, stage("rest", member(acked=0), id=2))[1] == sentence


@pytest.mark.parametrize(
    ("canary", "reason"),
    [
        (stage("canary", member("a", refusal="the disk is full")), "a in canary rejects updates: the disk is full"),
        (stage("canary", member("a", diverged=True)), "a in canary: content differs from the panel’s"),
        (
            replace(stage("canary", member()), before=Answers(1000, 0), after=Answers(100, 30)),
            "canary answers 30.0 % of its queries with SERVFAIL or REFUSED, compared with 0.0 % earlier",
        ),
        (stage("canary", member()), ""),
    ],
    ids=["refusal", "digest", "answers", "well"],
)
def test_trouble_in_a_group_stops_those_behind_it(canary: Stage, reason: str) -> None:
    found = stop_for([canary, stage("rest", member(), id=2)])
    assert (found.reason if found else "") == reason


def test_trouble_stops_nobody_where_nobody_is_behind() -> None:
    last = stage("last", member(refusal="no"), id=2)
    assert trouble(last)
    assert stop_for([stage("canary", member()), last, stage("empty", id=3)]) is None


def test_ring_0_stops_nobody_for_good() -> None:
    assert stop_for([ring0(member(refusal="SERVFAIL")), stage("all", member())]) is None


@pytest.mark.parametrize(
    ("before", "after", "elsewhere", "risen"),
    [
        (Answers(1000, 0), Answers(FEWEST_ANSWERS, 10), Answers(), True),
        (Answers(1000, 0), Answers(FEWEST_ANSWERS - 1, 40), Answers(), False),
        (Answers(1000, 0), Answers(1000, 15), Answers(), False),
        (Answers(1000, 300), Answers(1000, 310), Answers(), False),
        (Answers(1000, 300), Answers(1000, 650), Answers(), True),
        (Answers(), Answers(100, 100), Answers(), True),
        (Answers(), Answers(), Answers(), False),
        (Answers(1000, 0), Answers(1000, 300), Answers(1000, 290), False),
        (Answers(1000, 0), Answers(1000, 300), Answers(1000, 10), True),
        (Answers(1000, 0), Answers(1000, 300), Answers(FEWEST_ANSWERS - 1, 40), True),
    ],
    ids=[
        "risen",
        "too few",
        "two points are noise",
        "as before",
        "doubled",
        "nothing before",
        "nobody asks",
        "it rose everywhere",
        "it rose here alone",
        "too few elsewhere",
    ],
)
def test_answers_fail_more_often_only_when_that_is_clear(
    before: Answers, after: Answers, elsewhere: Answers, risen: bool
) -> None:
    assert rose(before, after, elsewhere) is risen
