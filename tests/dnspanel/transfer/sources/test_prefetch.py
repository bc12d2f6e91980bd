import threading
from collections.abc import Iterator

import pytest

from dnspanel.transfer.sources.prefetch import in_order


def test_results_come_in_order_whatever_is_done_first() -> None:
    first_may_end = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            assert first_may_end.wait(10)
        if number == 2:
            first_may_end.set()
        return number * 10

    assert list(in_order(work, range(9), 3)) == [number * 10 for number in range(9)]


def test_never_more_than_the_workers_are_ahead() -> None:
    taken: list[int] = []

    def inputs() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = in_order(lambda number: number, inputs(), 4)
    assert next(results) == 0
    assert len(taken) == 5
    results.close()  # type: ignore[attr-defined]
    assert len(taken) == 5


def test_what_the_work_raises_comes_in_its_place() -> None:
    def work(number: int) -> int:
        return 10 // (3 - number)

    results = in_order(work, range(6), 2)
    assert [next(results) for _ in range(3)] == [3, 5, 10]
    with pytest.raises(ZeroDivisionError):
        next(results)
