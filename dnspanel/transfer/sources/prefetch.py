"""Run the next few calls of a function in parallel and yield results in order, for sources on a network."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


def in_order(work: Callable[[_T], _R], inputs: Iterable[_T], workers: int) -> Iterator[_R]:
    """Yield `work(input)` for each input, in order. Threads compute at most `workers` results ahead.

    An error in `work` is raised in place of the result. If the iteration ends early, only wait for running calls.
    """
    waiting = iter(inputs)
    with ThreadPoolExecutor(workers, thread_name_prefix="import") as pool:
        begun: deque[Future[_R]] = deque(pool.submit(work, one) for one in islice(waiting, workers))
        try:
            while begun:
                result = begun.popleft().result()
                begun.extend(pool.submit(work, one) for one in islice(waiting, 1))
                yield result
        finally:
            for future in begun:
                future.cancel()
