"""Limit concurrent look-ups in one process, so that slow external servers don't block all threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dnspanel.texts import gettext

AT_ONCE = 4
_turns = threading.BoundedSemaphore(AT_ONCE)


class Busy(Exception):
    """Too many look-ups are running to start another one. The message is for the user who requested it."""


@contextmanager
def turn() -> Iterator[None]:
    """Occupy one of the process's look-up slots during the block. Raise Busy immediately if all are taken."""
    if not _turns.acquire(blocking=False):
        raise Busy(gettext("The panel is busy with other lookups. Try again in a few seconds."))
    try:
        yield
    finally:
        _turns.release()
