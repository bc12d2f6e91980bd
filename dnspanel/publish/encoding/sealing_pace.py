"""Control the pace of sealing: immediately for a person's edit, in batches if there are many publications.

Every segment costs every node a synced commit, three purges and a few dozen queries, regardless of its size. At 100
publications per second, one segment for each would use a large part of a node's cores. Five segments per second contain
the same changes, and delay each change by at most a fifth of a second. The limit doesn't affect a client that waits for
each change before it publishes the next: up to twenty per second are sealed immediately.
"""

import time
from collections.abc import Callable

# Tokens per second. A seal takes one token for each of its publications, but at most MOST: under load, fewer and larger
# seals are better.
PER_SECOND = 20.0
MOST = 4
# The number of seals without a pause, for a person who works quickly or a short script.
BURST = 20.0


class Pace:
    """A token bucket with at most BURST tokens, refilled at PER_SECOND."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._left = BURST
        self._at = clock()
        self._sequence: int | None = None

    def wait(self) -> None:
        """Wait until the next segment can be sealed. Return immediately unless many were just sealed."""
        self._fill()
        if self._left < 1:
            self._sleep((1 - self._left) / PER_SECOND)
            self._fill()

    def count(self, sequence: int) -> None:
        """Take one token per publication since the last call, at least one and at most MOST."""
        publications = 1 if self._sequence is None else sequence - self._sequence
        self._sequence = sequence
        self._left -= min(MOST, max(1, publications))

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
