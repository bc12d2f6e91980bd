"""Log each problem once when it starts and once when it ends, even if it comes and goes in between."""

import logging
from dataclasses import dataclass

# A problem that hasn't returned for this long is over.
OVER_SECONDS = 10.0


@dataclass(slots=True)
class _Trouble:
    message: str
    seen_at: float


class Troubles:
    """A process's problems, by subject. Threads can share the object, but a line can then be logged twice."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._known: dict[str, _Trouble] = {}

    def say(self, about: str, trouble: str, now: float) -> None:
        """Log a subject's first `trouble`, or with "" the end of one not seen for OVER_SECONDS. `now` is in seconds."""
        known = self._known.get(about)
        if trouble:
            self._known[about] = _Trouble(known.message if known else trouble, now)
            if known is None:
                self._logger.warning("%s", trouble)
        elif known is not None and now - known.seen_at >= OVER_SECONDS:
            self._known.pop(about, None)
            self._logger.info("over: %s", known.message)
