"""How often the publisher seals: at once for a person's edit, and in batches while publications pour in.

Every segment costs every node a synced commit, three purges and some questions, however little it holds. At 100
publications a second one segment for each would take a good part of a node's core for nothing: twenty a second
carry the same, and nobody waits longer than a twentieth of a second.
"""

import time
from collections.abc import Callable

SEALS_PER_SECOND = 20.0
# So many may come one right after the other, as when somebody works quickly or a script does a few things.
BURST = 20.0


class Pace:
    """A bucket of BURST seals that fills by SEALS_PER_SECOND."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._left = BURST
        self._at = clock()

    def wait(self) -> None:
        """Return when the next seal may be made: at once, unless many were made just now."""
        self._fill()
        if self._left < 1:
            self._sleep((1 - self._left) / SEALS_PER_SECOND)
            self._fill()

    def count(self) -> None:
        """One was made."""
        self._left -= 1

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * SEALS_PER_SECOND)
        self._at = now
