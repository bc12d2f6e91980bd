"""Which of many crash points a run takes: all of them for a release, a seeded few for `./dev test`."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def some(items: Sequence[T], count: int, *, seed: int) -> list[T]:
    """So many of these at random, in their order; all if there are no more."""
    if len(items) <= count:
        return list(items)
    chosen = sorted(random.Random(seed).sample(range(len(items)), count))
    return [items[index] for index in chosen]
