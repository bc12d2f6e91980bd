"""Python's search for cycles: where it would cost much and find nothing, it is paused, or has less to look through."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects made before Python looks for cycles among them: about as many as a change of 2,000 RRsets makes. Its own 700
# made a request that changes 1,000 wait for 80 searches, some of them through everything that there is.
_NEW_OBJECTS = 50_000


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cycles in this block, for work that makes millions of small objects; nested blocks do no harm.

    Looking through them again and again would take more than a tenth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def leave_out_what_is_loaded() -> None:
    """Searches for cycles look at what is made from now on, and less often: modules stay for as long as the process.

    Looking through 200,000 objects of a loaded panel takes 0.1 s, in which no other thread of the process runs. Called
    before a process makes others, which then share with it what is loaded.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
