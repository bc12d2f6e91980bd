"""Calls in a loop allocate no memory from the system, at any call depth."""

import resource
from collections.abc import Callable
from threading import Thread

import pytest

from replication.call_room import with_room

CALLS, DEPTHS = 400, range(0, 400, 3)


def leaf(number: int) -> int:
    return number


def loop() -> None:
    for number in range(CALLS):
        leaf(number)


def faults_by_depth() -> list[int]:
    """Return the number of the loop's page faults at each call depth."""

    def at(depth: int) -> int:
        if depth:
            return at(depth - 1)
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        loop()
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

    at(max(DEPTHS))  # now the pages that stay allocated are there
    return [at(depth) for depth in DEPTHS]


def most_faults(measure: Callable[[], list[int]]) -> int:
    """Return the maximum at any depth, measured in a thread, whose first frame is at the start of a chunk."""
    found: list[int] = []
    thread = Thread(target=lambda: found.extend(measure()))
    thread.start()
    thread.join()
    return max(found)


def test_a_loop_at_the_edge_of_a_chunk_faults_no_pages_where_there_is_room() -> None:
    if most_faults(faults_by_depth) < CALLS / 2:
        pytest.skip("this Python keeps a chunk of its call stack")
    assert most_faults(with_room(faults_by_depth)) < CALLS / 10


def test_it_is_the_same_function_to_callers() -> None:
    def named(one: int, *, other: str) -> tuple[int, str]:
        """Say so."""
        return one, other

    roomy = with_room(named)
    assert (roomy(1, other="2"), roomy.__name__, roomy.__doc__) == ((1, "2"), "named", "Say so.")
    with pytest.raises(TypeError, match="other"):
        roomy(1)  # type: ignore[call-arg]


def test_recursion_still_ends() -> None:
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError):
        with_room(deeper)()
