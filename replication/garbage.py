"""Pause or limit Python's cyclic garbage collection where it is expensive, and return unused memory."""

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

# The number of new objects before Python looks for cycles: about as many as a change of 2,000 RRsets makes. With
# Python's default of 700, a request with 1,000 changes waited for 80 searches, some of them through every object.
_NEW_OBJECTS = 50_000
# A search of all new objects and a walk through the free memory take about 50 ms with this much memory.
_GROWN_BY = 64 << 20
# From glibc. Other C libraries keep less memory, and lack this function.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause cyclic garbage collection in this block, for work that creates millions of small objects.

    Repeated searches through those objects would take more than a tenth of the time. Blocks can be nested.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Heap:
    """A handle on this process's memory, which returns unused memory to the system.

    A cycle that survived a collection or two, such as a failed request with all its data, is found only after millions
    of new objects. The C library also keeps free memory between used memory, for each thread. Without this class, a
    process that was busy for a while keeps its memory forever.
    """

    def __init__(self, grown_by: int = _GROWN_BY) -> None:
        self._grown_by = grown_by
        self._last = resident_bytes()

    def give_back(self) -> bool:
        """Collect cycles and free memory if the process has grown enough since the last call. If not, return False."""
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
    """Return this process's resident memory in bytes."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def leave_out_what_is_loaded() -> None:
    """Exclude all existing objects, such as modules, from garbage collection, and run it less often.

    A search through 200,000 objects of a loaded panel takes 0.1 s, and blocks all other threads of the process. Call
    this before a process forks. Its children then share the loaded memory.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
