"""Tests of turns for lookups: a limited number runs at once, and others get a message."""

from contextlib import ExitStack

import pytest

from dnspanel.fleet.lookups.turns import AT_ONCE, Busy, turn


def test_so_many_look_ups_are_done_at_once_and_a_turn_is_given_back() -> None:
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            stack.enter_context(turn())
        with pytest.raises(Busy, match="Try again"), turn():
            pass
    with turn():
        pass


def test_a_look_up_that_fails_gives_its_turn_back() -> None:
    for _ in range(AT_ONCE + 1):
        with pytest.raises(ZeroDivisionError), turn():
            raise ZeroDivisionError
