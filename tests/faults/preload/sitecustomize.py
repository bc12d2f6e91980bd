"""Read by Python at its start where `clocks` put this directory first: `time.sleep` as libfaketime can bear it.

Python sleeps until a moment of the monotonic clock, and libfaketime 0.9.10 refuses that call when it must leave
that clock alone. A wait for what never comes takes the same time by another call.
"""

import threading
import time


def sleep(seconds: float) -> None:
    """Sleep as `time.sleep` does."""
    threading.Event().wait(max(0.0, seconds))


time.sleep = sleep
