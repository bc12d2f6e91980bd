"""Polling of a condition with increasing pauses. No database connection is held during long pauses."""

from collections.abc import Callable

from django.db import connection

_FIRST_PAUSE = 0.01  # seconds
# No connection is held during pauses of at least this many seconds. Opening one costs 15 ms of CPU time in the panel
# and PostgreSQL, several times as much as a check. Most nodes answer before pauses are this long.
_WITHOUT_CONNECTION = 0.2


def poll(
    ask: Callable[[], bool | None],
    seconds: float,
    *,
    longest_pause: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> bool:
    """Wait for a condition, at most this number of seconds. Return True if the condition became true.

    Stop early if `ask` returns None. Errors of `ask` are raised. Do not call this function in a transaction, because it
    closes the connection in long pauses.
    """
    end, pause = clock() + seconds, _FIRST_PAUSE
    while True:
        is_so = ask()
        left = end - clock()
        if is_so is not False or left <= 0:
            return is_so is True
        if pause >= _WITHOUT_CONNECTION and not connection.in_atomic_block:
            connection.close()
        sleep(min(pause, left))
        pause = min(pause * 1.5, longest_pause)
