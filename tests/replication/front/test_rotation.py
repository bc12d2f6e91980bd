"""The nodes that are allowed to answer, decided from positions alone."""

from uuid import UUID

import pytest

from replication.front.rotation import Rotation, Rules
from replication.wire.position import Position

HERE, ELSEWHERE = UUID(int=1), UUID(int=2)


def at(sequence: int, epoch: UUID = HERE) -> Position:
    return Position(epoch, sequence)


def rotation(*, minimum: int = 1, most_behind: int = 0, behind_seconds: float = 1.0) -> Rotation:
    return Rotation(["a", "b", "c"], Rules(minimum, most_behind, behind_seconds))


def left(rotation: Rotation, now: float, a: Position | None, b: Position | None, c: Position | None) -> str:
    """Return the names of the nodes in rotation."""
    verdicts = rotation.see({"a": a, "b": b, "c": c}, now)
    return "".join(name for name, verdict in verdicts.items() if verdict.is_in)


def test_who_lacks_a_change_for_too_long_leaves_and_comes_back_by_itself() -> None:
    seen = rotation()
    assert left(seen, 0.0, at(5), at(5), at(5)) == "abc"
    assert left(seen, 0.25, at(6), at(6), at(5)) == "abc", "a change needs its moment"
    assert left(seen, 1.24, at(6), at(6), at(5)) == "abc"
    assert left(seen, 1.25, at(6), at(6), at(5)) == "ab"
    assert left(seen, 1.5, at(6), at(6), at(6)) == "abc"


def test_who_follows_a_stream_of_changes_is_never_late_however_long_it_lasts() -> None:
    seen = rotation()
    for step in range(10_000):
        newest = step * 40
        assert left(seen, step * 0.25, at(newest), at(max(0, newest - 80)), at(max(0, newest - 120))) == "abc"


def test_who_falls_ever_further_behind_leaves() -> None:
    seen = rotation(behind_seconds=5)
    found = [left(seen, float(step), at(100 + 10 * step), at(100 + 10 * step), at(100 + step)) for step in range(9)]
    assert found == ["abc"] * 6 + ["ab"] * 3


def test_so_many_changes_may_be_lacking_for_any_time() -> None:
    seen = rotation(most_behind=2)
    assert left(seen, 0.0, at(5), at(5), at(5)) == "abc"
    assert left(seen, 1.0, at(7), at(7), at(5)) == "abc"
    assert left(seen, 100.0, at(7), at(7), at(5)) == "abc"
    assert left(seen, 101.0, at(8), at(7), at(5)) == "abc"
    assert left(seen, 102.0, at(8), at(7), at(5)) == "ab"


@pytest.mark.parametrize(("minimum", "expected"), [(1, "a"), (2, "ab"), (3, "abc"), (4, "abc")])
def test_the_least_late_stay_where_too_few_would_be_left(minimum: int, expected: str) -> None:
    seen = rotation(minimum=minimum)
    left(seen, 0.0, at(9), at(8), at(5))
    assert left(seen, 9.0, at(9), at(8), at(5)) == expected


def test_who_is_silent_does_not_count_for_the_minimum() -> None:
    seen = rotation(minimum=1)
    left(seen, 0.0, at(9), at(8), at(5))
    assert left(seen, 9.0, None, at(8), at(5)) == "ab", "whether a answers is dnsdist's to find out"


def test_a_silent_backend_is_judged_by_what_it_said_last() -> None:
    seen = rotation()
    assert left(seen, 0.0, at(5), at(5), None) == "abc"
    left(seen, 1.0, at(6), at(6), at(5))
    assert left(seen, 3.0, at(6), at(6), None) == "ab"
    assert left(seen, 4.0, None, None, None) == "ab", "nobody answers, and nothing is new"


def test_who_is_in_another_history_than_most_leaves_and_most_may_change() -> None:
    seen = rotation()
    assert left(seen, 0.0, at(5), at(5), at(9, ELSEWHERE)) == "abc"
    assert left(seen, 1.0, at(5), at(5), at(9, ELSEWHERE)) == "ab", "its higher sequence says nothing"
    assert left(seen, 2.0, at(5), at(3, ELSEWHERE), at(9, ELSEWHERE)) == "abc"
    assert left(seen, 3.0, at(5), at(9, ELSEWHERE), at(9, ELSEWHERE)) == "bc"
    assert left(seen, 4.0, at(9, ELSEWHERE), at(9, ELSEWHERE), at(9, ELSEWHERE)) == "abc"


def test_each_verdict_says_explain() -> None:
    seen = rotation()
    seen.see({"a": at(5), "b": at(5), "c": None}, 0.0)
    verdicts = seen.see({"a": at(8), "b": at(5), "c": None}, 2.0)
    assert verdicts["a"].reason == "The node is up to date."
    assert verdicts["b"].reason == "The node has been 3 changes behind for 0.0 s."
    assert verdicts["c"].reason == "The node hasn’t responded yet, so dnsdist’s health check decides."
    assert seen.see({"a": at(8), "b": at(5), "c": None}, 3.5)["b"].behind == 3
