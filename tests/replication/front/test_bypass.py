"""The held zones, and the times when each hold begins and ends."""

from uuid import UUID

from replication.front.bypass import EVERYTHING, HOLD_SECONDS, MOST_ZONES, RULES, Bypass, rule_of
from replication.wire.position import Position

EPOCH = UUID(int=1)


def at(sequence: int) -> Position:
    return Position(EPOCH, sequence)


def test_a_zone_is_held_until_long_after_all_nodes_have_what_it_was_held_for() -> None:
    bypass = Bypass()
    bypass.hold(["a.test."], at(5))
    bypass.settle(at(4), 10.0)
    assert bypass.over(10_000.0) == (), "a node may still answer with what was before"
    bypass.settle(None, 11.0)
    assert bypass.over(10_000.0) == (), "nobody knows"
    bypass.settle(at(5), 12.0)
    bypass.settle(at(9), 13.0)
    assert bypass.over(12.0 + HOLD_SECONDS - 0.1) == ()
    assert bypass.over(12.0 + HOLD_SECONDS) == ("a.test.",)
    bypass.release(["a.test."])
    assert not len(bypass)


def test_a_zone_that_changes_again_is_held_anew() -> None:
    bypass = Bypass()
    bypass.hold(["a.test.", "b.test."], at(5))
    bypass.settle(at(5), 1.0)
    bypass.hold(["a.test."], at(6))
    bypass.settle(at(5), 2.0)
    assert bypass.over(1.0 + HOLD_SECONDS) == ("b.test.",)
    assert bypass.zones(without=("b.test.",)) == ("a.test.",)
    bypass.settle(at(6), 3.0)
    assert set(bypass.over(3.0 + HOLD_SECONDS)) == {"a.test.", "b.test."}


def test_too_many_zones_are_all_zones_and_need_no_more_room() -> None:
    bypass = Bypass()
    for sequence in range(1, 3 * MOST_ZONES):
        bypass.hold([f"z{sequence}.test."], at(sequence))
    assert bypass.zones() == (EVERYTHING,)
    assert len(bypass) <= MOST_ZONES
    bypass.settle(at(2 * MOST_ZONES), 1.0)
    assert bypass.over(1_000.0) == (), "the newest of them is not everywhere yet"


def test_what_is_held_for_another_history_does_not_wait_for_it() -> None:
    bypass = Bypass()
    bypass.hold([EVERYTHING], at(50))
    bypass.settle(Position(UUID(int=2), 1), 1.0)
    assert bypass.over(1.0 + HOLD_SECONDS) == (EVERYTHING,)
    bypass.hold([EVERYTHING], None)
    bypass.settle(Position(UUID(int=2), 1), 1.0)
    assert bypass.over(1.0 + HOLD_SECONDS) == (EVERYTHING,)


def test_a_set_of_zones_has_a_rule_of_its_own() -> None:
    assert rule_of(["a.test.", "b.test."]) != rule_of(["a.test."])
    assert rule_of(["a.test."]) == rule_of(("a.test.",)) == str(UUID(rule_of(["a.test."])))
    assert rule_of(["a.test."]).startswith(RULES)
