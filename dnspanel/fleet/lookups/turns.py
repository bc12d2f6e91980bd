"""Turns: how many look-ups of people a process does at once, so that slow servers of others do not take all threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dnspanel.texts import gettext

AT_ONCE = 4
_turns = threading.BoundedSemaphore(AT_ONCE)


class Busy(Exception):
    """Too many look-ups are under way to begin this one; the text is for the person that wanted it."""


@contextmanager
def turn() -> Iterator[None]:
    """Take one of the turns, for the block. Raise Busy at once if all are taken."""
    if not _turns.acquire(blocking=False):
        raise Busy(
            gettext("The panel is asking other servers for several people just now. Try again in a few seconds.")
        )
    try:
        yield
    finally:
        _turns.release()
