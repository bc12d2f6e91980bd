"""Tests of the place at which the oldest publication waits, for every possible place."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dnspanel.fleet.rollout.stages import Member, Ring0, Stage, clearances
from dnspanel.fleet.rollout.waiting_publications import Follower, Pipeline, Place, Waiting, describe, oldest_waiting

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HEAD = 9


def follower(name: str, acked: int, *, ago: int = 100, **more: Any) -> Follower:
    """Return a node that has confirmed this sequence. The next one was published `ago` seconds before NOW."""
    since = NOW - timedelta(seconds=ago) if acked < HEAD else None
    given = {"limit": None, "encoded": HEAD, "is_ring0": name == "canary", **more}
    return Follower(node_id=ord(name[-1]), name=name, sequence=acked + 1, since=since, **given)


def stage(name: str, *followers: Follower, ring0: Ring0 = Ring0.NO, verified: int | None = None, **more: Any) -> Stage:
    members = tuple(
        Member(
            each.node_id,
            each.name,
            each.sequence - 1,
            each.sequence - 1 if verified is None else verified,
            is_live=not each.has_trouble,
        )
        for each in followers
    )
    return Stage(name, members, ord(name[0]) if ring0 is Ring0.NO else None, ring0, **more)


def find(followers: Sequence[Follower], *stages: Stage, **more: Any) -> Waiting | None:
    stopped = more.pop("stopped_behind", None)
    cleared = clearances(stages, head=HEAD, stopped=stopped)
    return oldest_waiting(followers, Pipeline(cleared, stopped_behind=stopped, **more))


def place(followers: Sequence[Follower], *stages: Stage, **more: Any) -> tuple[str, str, bool]:
    waiting = find(followers, *stages, **more)
    assert waiting is not None
    return waiting.place, waiting.name, waiting.has_own_alert


def plain(*followers: Follower, **more: Any) -> tuple[str, str, bool]:
    """Return the place in a fleet without a canary and groups."""
    return place(followers, stage("all", *followers), **more)


def staged(canary: Follower, first: Follower, last: Follower, **more: Any) -> tuple[str, str, bool]:
    """Return the place in a fleet with a canary and two groups."""
    ring0 = stage("ring 0", canary, ring0=more.pop("ring0", Ring0.WAITED_FOR))
    group = stage("first", first, verified=more.pop("verified", None), verify_seconds=more.pop("verify_seconds", 0))
    return place((canary, first, last), ring0, group, stage("last", last), **more)


def test_nothing_waits_while_every_node_has_everything() -> None:
    assert find([follower("ns1", HEAD)], stage("all", follower("ns1", HEAD))) is None
    assert find([]) is None


def test_what_has_no_segment_waits_for_the_encoder() -> None:
    assert plain(follower("ns1", 3, encoded=3)) == (Place.ENCODER, "", False)
    assert plain(follower("ns1", 3, encoded=3), is_on_hold=True) == (Place.HOLD, "", True)


def test_what_no_node_proves_waits_for_the_push_worker() -> None:
    assert plain(follower("ns1", 3), follower("ns2", 3)) == (Place.PUSH, "", False)


def test_a_node_that_does_not_take_what_others_take_is_the_place() -> None:
    other = follower("ns2", HEAD, acked_at=NOW)
    assert plain(follower("ns1", 3), other) == (Place.NODE, "ns1", False)
    assert plain(follower("ns1", 3), follower("ns2", HEAD, acked_at=NOW - timedelta(hours=1)))[0] == Place.PUSH


def test_what_was_proved_just_after_the_publication_may_have_been_sent_before_the_worker_hung() -> None:
    acked = {"acked_at": NOW - timedelta(seconds=99)}
    assert plain(follower("ns1", 3, **acked), follower("ns2", 3, **acked))[0] == Place.PUSH


def test_the_push_worker_is_believed_about_itself() -> None:
    alone = follower("ns1", 3)
    assert plain(alone, push_works=True) == (Place.NODE, "ns1", False)
    assert plain(alone, follower("ns2", HEAD, acked_at=NOW), push_works=False) == (Place.PUSH, "", False)


def test_a_node_that_is_catching_up_is_the_place_and_says_so() -> None:
    waiting = find([moving := follower("ns1", 3, is_moving=True)], stage("all", moving))
    assert waiting is not None
    assert (waiting.place, waiting.is_moving) == (Place.NODE, True)
    assert describe(waiting, NOW) == (
        "Publications are arriving late. ns1 is catching up, and its oldest missing publication is 100 s old."
    )


def test_a_node_with_an_alert_of_its_own_does_not_hide_what_the_others_wait_for() -> None:
    offline = follower("ns1", 1, ago=90_000, has_trouble=True)
    assert plain(offline) == (Place.NODE, "ns1", True)
    assert plain(offline, follower("ns2", HEAD)) == (Place.NODE, "ns1", True)
    waiting = find([offline, other := follower("ns2", 3)], stage("all", offline, other))
    assert waiting is not None
    assert (waiting.place, waiting.has_own_alert, waiting.age(NOW).total_seconds()) == (Place.PUSH, False, 100)


def test_the_first_place_that_does_not_pass_it_on_is_named() -> None:
    """Regression test: while pushes hung, every page blamed the held-back nodes, which weren't at fault."""
    back = {"limit": 3}
    assert staged(follower("canary", 3), follower("ns1", 3, **back), follower("ns2", 3, **back))[0] == Place.PUSH
    slow = staged(follower("canary", 3), follower("ns1", 3, **back), follower("ns2", 3, **back), push_works=True)
    assert slow == (Place.CANARY, "canary", False)
    passed = follower("canary", HEAD, acked_at=NOW)
    assert staged(passed, follower("ns1", 3), follower("ns2", 3, **back)) == (Place.NODE, "ns1", False)


def test_what_the_canary_has_proved_and_no_group_was_released_to_waits_for_the_push_worker() -> None:
    """The push worker releases publications to groups."""
    passed = follower("canary", HEAD, acked_at=NOW)
    assert staged(passed, follower("ns1", 3, limit=3), follower("ns2", 3, limit=3))[0] == Place.PUSH


def test_a_canary_with_an_alert_of_its_own_is_named_and_no_second_alert() -> None:
    offline = follower("canary", 3, has_trouble=True)
    rest = follower("ns1", 3, limit=3), follower("ns2", 3, limit=3)
    assert staged(offline, *rest) == (Place.CANARY, "canary", True)
    # After a while, the others continue without the canary. Then nothing waits there any longer.
    assert staged(offline, *rest, ring0=Ring0.AWAY) == (Place.PUSH, "", False)
    alone = find([offline], stage("ring 0", offline, ring0=Ring0.WAITED_FOR))
    assert alone is not None
    assert alone.place == Place.CANARY


def test_a_group_that_verifies_is_expected_to_take_its_time() -> None:
    canary, first = follower("canary", HEAD), follower("ns1", HEAD)
    last = follower("ns2", 3, limit=3)
    ring0 = stage("ring 0", canary, ring0=Ring0.WAITED_FOR)
    group = stage("first", first, verified=3, verify_seconds=80)
    waiting = find([canary, first, last], ring0, group, stage("last", last))
    assert waiting is not None
    assert (waiting.place, waiting.name, waiting.has_own_alert) == (Place.GROUP, "first", False)
    assert (waiting.age(NOW), waiting.late_by(NOW)) == (timedelta(seconds=100), timedelta(seconds=20))
    assert waiting.late_by(NOW - timedelta(seconds=30)) == timedelta(0)


def test_a_group_without_a_node_that_works_has_alerts_of_its_own() -> None:
    offline = follower("ns1", 3, has_trouble=True)
    rest = follower("canary", HEAD), offline, follower("ns2", 3, limit=3)
    assert staged(*rest) == (Place.GROUP, "first", True)


@pytest.mark.parametrize(("state", "expected"), [({"is_stopped": True}, "stopped"), ({"pinned": 3}, "pinned")])
def test_what_a_person_set_is_the_place_and_has_its_own_alert(state: dict[str, Any], expected: str) -> None:
    assert plain(follower("ns1", 3, limit=3), **state) == (expected, "", True)


def test_behind_a_group_at_which_delivery_stopped() -> None:
    canary, first = follower("canary", HEAD), follower("ns1", HEAD)
    last = follower("ns2", 3, limit=3)
    group = stage("first", first)
    ring0 = stage("ring 0", canary, ring0=Ring0.WAITED_FOR)
    found = place([canary, first, last], ring0, group, stage("last", last), stopped_behind=group)
    assert found == (Place.STOPPED, "first", True)


def test_behind_a_stopped_group_it_may_still_wait_before_that() -> None:
    canary, first, last = follower("canary", 3), follower("ns1", 3, limit=3), follower("ns2", 3, limit=3)
    group, ring0 = stage("first", first), stage("ring 0", canary, ring0=Ring0.WAITED_FOR)
    stages = ring0, group, stage("last", last)
    found = place([canary, first, last], *stages, stopped_behind=group, push_works=True)
    assert found == (Place.CANARY, "canary", False)


def test_a_front_is_a_node_too() -> None:
    """Fronts belong to no stage, so no node waits for them."""
    node, front = follower("ns1", HEAD, acked_at=NOW), follower("front2", 3)
    assert place([node, front], stage("all", node)) == (Place.NODE, "front2", False)


def test_another_alert_explains_all_of_the_time() -> None:
    waiting = Waiting(4, NOW - timedelta(hours=1), Place.NODE, "ns1", has_own_alert=True)
    assert (waiting.late_by(NOW), waiting.age(NOW)) == (timedelta(0), timedelta(hours=1))
    assert replace(waiting, has_own_alert=False).late_by(NOW) == timedelta(hours=1)
    assert waiting.age(NOW - timedelta(hours=2)) == timedelta(0)  # the clock was set back


@pytest.mark.parametrize("where", Place)
def test_every_place_has_a_sentence(where: Place) -> None:
    message = describe(Waiting(4, NOW - timedelta(seconds=420), where, "ns1"), NOW)
    assert "7 min" in message
    assert ("ns1" in message) == (where in {Place.CANARY, Place.GROUP, Place.NODE})
