"""Poll a condition with increasing pauses. Long pauses don't occupy a database connection."""

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
    """Call `ask` until it returns True, for at most `seconds` seconds. Return True if `ask` returned True in time.

    Return False early if `ask` returns None. Exceptions of `ask` propagate. During long pauses, the database connection
    is closed, so that other processes can use it. Inside a transaction it stays open.
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
