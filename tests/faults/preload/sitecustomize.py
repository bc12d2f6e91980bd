"""Replaces `time.sleep`. Python reads this file at startup if `clocks` puts its directory first in the path.

Python sleeps until a time of the monotonic clock. libfaketime 0.9.10 rejects that call if it must not change this
clock, so the replacement waits for an event that never comes.
"""

import threading
import time


def sleep(seconds: float) -> None:
    """Sleep like `time.sleep`."""
    threading.Event().wait(max(0.0, seconds))


time.sleep = sleep
