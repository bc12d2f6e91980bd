"""Tests of `poll`, which repeats a check until it succeeds or the timeout expires."""

from types import SimpleNamespace

import pytest

from dnspanel import polling
from dnspanel.polling import poll

pytestmark = pytest.mark.django_db


class Clock:
    """Time that passes only during sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def test_pauses_grow_up_to_the_longest_and_end_in_time() -> None:
    clock = Clock()
    assert poll(lambda: False, 0.1, longest_pause=0.02, clock=clock, sleep=clock.sleep) is False
    assert clock.pauses[:3] == pytest.approx([0.01, 0.015, 0.02])
    assert max(clock.pauses) <= 0.02
    assert clock.now == pytest.approx(0.1)


@pytest.mark.parametrize(("answers", "found"), [([True], True), ([False, True], True), ([None], False)])
def test_nobody_asks_again_once_it_is_known(answers: list[bool | None], found: bool) -> None:
    clock, left = Clock(), iter(answers)
    assert poll(lambda: next(left), 1.0, longest_pause=0.02, clock=clock, sleep=clock.sleep) is found
    assert len(clock.pauses) == len(answers) - 1
    assert list(left) == []


def test_what_the_question_raises_ends_it() -> None:
    clock = Clock()

    def fail() -> bool:
        raise LookupError

    with pytest.raises(LookupError):
        poll(fail, 1.0, longest_pause=0.02, clock=clock, sleep=clock.sleep)
    assert clock.pauses == []


def test_a_connection_is_held_in_short_pauses_and_not_in_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression test: a PATCH that waited spent most of its time opening a connection for each check."""
    clock, closed_at = Clock(), []
    connection = SimpleNamespace(in_atomic_block=False, close=lambda: closed_at.append(clock.now))
    monkeypatch.setattr(polling, "connection", connection)
    poll(lambda: False, 2.0, longest_pause=0.25, clock=clock, sleep=clock.sleep)
    pause_behind = dict(zip(closed_at, clock.pauses[-len(closed_at) :], strict=True))
    assert sum(clock.pauses[: -len(closed_at)]) > 0.4
    assert min(list(pause_behind.values())[:-1]) == pytest.approx(0.25)
