"""Python's search for cycles, paused for work that makes millions of small objects and no cycles.

Looking through them again and again would take more than a tenth of the time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cycles in this block; nested blocks do no harm."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
