"""Keep the last log lines of this process for the node's page in the panel."""

import logging
from collections import deque

KEPT_LINES = 200
# Lines are cut after this many characters, so that the memory is limited.
LINE_LENGTH = 500


class RecentLog(logging.Handler):
    """A log handler that keeps the newest KEPT_LINES lines."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._kept: deque[str] = deque(maxlen=KEPT_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._kept.append(self.format(record)[:LINE_LENGTH])
        except Exception:
            self.handleError(record)

    def lines(self) -> list[str]:
        """Return the kept lines, oldest first. A traceback is one line."""
        self.acquire()  # `emit` is also called with the handler's lock
        try:
            return list(self._kept)
        finally:
            self.release()


RECENT_LOG = RecentLog()
