"""Python's search for cycles: where it would cost much and find nothing, it is paused, or has less to look through."""

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

# Objects made before Python looks for cycles among them: about as many as a change of 2,000 RRsets makes. Its own 700
# made a request that changes 1,000 wait for 80 searches, some of them through every object.
_NEW_OBJECTS = 50_000
# A search of all that is new, and a walk through the free memory, take some 50 ms where this much is found.
_GROWN_BY = 64 << 20
# Of glibc; other C libraries keep less, and have no such call.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the search for cycles in this block, for work that makes millions of small objects; nested blocks do no
    harm.

    A search through them again and again would take more than a tenth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Heap:
    """The memory of this process; what it has no use for goes back to the system.

    Cycles that outlived a search or two, such as those of a request that failed with all that it had read, are looked
    for again only after millions of new objects. And the C library keeps what is free between what is in use, for each
    thread. So a process that was given much work for a while kept the memory of it for ever.
    """

    def __init__(self, grown_by: int = _GROWN_BY) -> None:
        self._grown_by = grown_by
        self._last = resident_bytes()

    def give_back(self) -> bool:
        """Search for cycles and return free memory, if the process has grown enough since the last time."""
        now = resident_bytes()
        if now < self._last + self._grown_by:
            self._last = min(self._last, now)
            return False
        gc.collect()
        if _trim is not None:
            _trim(0)
        self._last = resident_bytes()
        return True


def resident_bytes() -> int:
    """Return the memory that this process has now, in bytes."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def leave_out_what_is_loaded() -> None:
    """Limit searches for cycles to objects that are made from now on, and search less often: modules stay as long
    as the process.

    A search through 200,000 objects of a loaded panel takes 0.1 s, in which no other thread of the process runs.
    Called before a process makes others, which then share with it what is loaded.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
