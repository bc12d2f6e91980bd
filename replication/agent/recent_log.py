"""The last lines that this process logged, for the node's page in the panel."""

import logging
import threading
from collections import deque

KEPT_LINES = 200
# A line is cut behind this many characters, so that the memory is bounded.
LINE_LENGTH = 500


class RecentLog(logging.Handler):
    """Keeps the newest KEPT_LINES lines, whatever their level."""

    def __init__(self, *, level: int = logging.INFO) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._kept: deque[str] = deque(maxlen=KEPT_LINES)
        self._kept_lock = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)[:LINE_LENGTH]
        except Exception:
            self.handleError(record)
            return
        with self._kept_lock:
            self._kept.append(line)

    def lines(self) -> list[str]:
        """The lines, oldest first; a traceback is one of them."""
        with self._kept_lock:
            return list(self._kept)


RECENT_LOG = RecentLog()
