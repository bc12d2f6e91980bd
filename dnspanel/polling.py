"""Polling until a condition holds, with longer and longer pauses and without a database connection in between."""

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
    """Return True if the condition holds within this number of seconds. An answer of None ends the polling.

    Raise what `ask` raises. Do not call it within a transaction: no connection is held between two checks.
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
