"""Tests of the checker: one small history per promise, which breaks it."""

from collections.abc import Sequence

import pytest

from tests.faults.history import PRESENT, Edit, Key, Log, Seen, Value, broken, lost_edits, wrong_in_the_end

ZONE = "zone.test."
WWW: Key = (f"www.{ZONE}", "TXT")
MAIL: Key = (f"mail.{ZONE}", "TXT")
EXISTENCE: Key = (ZONE, "")


@pytest.fixture
def log() -> Log:
    """Return a log: zone at 1, www=a at 2, www=mail=b at 3, www deleted at 4, www=c at 5, zone deleted at 8."""
    log = Log(begun={sequence: float(sequence) for sequence in range(1, 9)})
    log.create(1, ZONE)
    log.change(2, ZONE, WWW, "a")
    log.change(3, ZONE, WWW, "b")
    log.change(3, ZONE, MAIL, "b")
    log.change(4, ZONE, WWW, None)
    log.change(5, ZONE, WWW, "c")
    log.delete(8, ZONE)
    return log


def answer(value: Value, *, floor: int = 0, key: Key = WWW) -> Seen:
    return Seen("ns1", 0.0, {EXISTENCE: PRESENT, key: value}, floor)


def refused(*, floor: int = 0, answered: float = 100.0) -> Seen:
    return Seen("ns1", 0.0, {EXISTENCE: None}, floor, "REFUSED", answered=answered)


def at(sequence: int, *, floor: int = 0) -> Seen:
    return Seen("ns1", 0.0, {}, floor, position=("epoch", sequence))


def letters(log: Log, *seen: Seen) -> list[str]:
    return [sentence[1] for sentence in broken(log, seen)]


@pytest.mark.parametrize(
    "seen",
    [
        [answer(None), answer("a"), answer("b"), answer(None), answer("c"), refused()],
        [answer("a", floor=2), answer("b", floor=2), answer("b", floor=3), answer("c", floor=5)],
        [refused(), answer(None), answer("c"), refused(floor=8)],
        [at(3), at(3), at(5), at(8, floor=5)],
        [answer(None, floor=4), answer(None, floor=4)],  # the second absence is not the first one
    ],
)
def test_what_follows_from_the_log_is_not_complained_of(log: Log, seen: Sequence[Seen]) -> None:
    assert letters(log, *seen) == []


@pytest.mark.parametrize(
    ("letter", "seen"),
    [
        ("b", [answer("never")]),
        ("c", [answer("b"), answer("a")]),
        ("c", [answer("c"), answer("b")]),
        ("c", [at(5), at(4)]),
        ("d", [Seen("ns1", 0.0, {EXISTENCE: PRESENT, WWW: "a", MAIL: "b"})]),
        ("e", [answer("b", floor=4)]),
        ("g", [refused(floor=3, answered=7.0)]),
        ("g", [Seen("ns1", 0.0, {EXISTENCE: PRESENT, WWW: None}, rcode="SERVFAIL")]),
        ("h", [answer("a", floor=3)]),
        ("h", [at(3, floor=4)]),
    ],
)
def test_a_broken_promise_is_told_by_its_letter(log: Log, letter: str, seen: Sequence[Seen]) -> None:
    assert letters(log, *seen) == [letter]


def test_another_epoch_may_count_from_the_beginning() -> None:
    seen = [Seen("ns1", 0.0, {}, position=("one", 9)), Seen("ns1", 0.0, {}, position=("two", 1))]
    assert list(broken(Log(), seen)) == []


def test_an_acknowledged_edit_that_the_log_does_not_hold_is_lost(log: Log) -> None:
    kept = Edit(1, {WWW: "a"}, 0.0, 1.0, sequence=2)
    lost = Edit(2, {WWW: "x"}, 0.0, 1.0, sequence=5)
    unknown = Edit(3, {WWW: "y"}, 0.0, 1.0, sequence=None)
    assert [sentence[:10] for sentence in lost_edits(log, [kept, lost, unknown])] == ["(a) edit 2"]


def test_in_the_end_every_answer_is_the_last_value(log: Log) -> None:
    assert list(wrong_in_the_end(log, 7, [answer("c"), answer("b", key=MAIL)])) == []
    assert [sentence[1] for sentence in wrong_in_the_end(log, 7, [answer("b")])] == ["a"]
    assert [sentence[1] for sentence in wrong_in_the_end(log, 7, [refused()])] == ["a"]
