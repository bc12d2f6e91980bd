"""Asking again and again until something is so, with longer and longer pauses, holding no connection meanwhile."""

from collections.abc import Callable

from django.db import connection

_FIRST_PAUSE = 0.01  # seconds


def poll(
    ask: Callable[[], bool | None],
    seconds: float,
    *,
    longest_pause: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> bool:
    """Return whether it was so within so many seconds. Once the answer is None, nobody asks again.

    Raise what `ask` raises. Not within a transaction: no connection is held between two looks.
    """
    end, pause = clock() + seconds, _FIRST_PAUSE
    while True:
        is_so = ask()
        left = end - clock()
        if is_so is not False or left <= 0:
            return is_so is True
        if not connection.in_atomic_block:
            connection.close()  # to the pool, for those who have work to do
        sleep(min(pause, left))
        pause = min(pause * 1.5, longest_pause)
