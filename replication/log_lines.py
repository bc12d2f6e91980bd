"""One format for the log lines of the panel's processes and of agents: text, or one JSON object for each line.

    2026-11-30 17:00:00,123 INFO dnspanel.fleet.push pushed node=ns3 from=41 to=58 request_id=1f0c…
    {"time": "2026-11-30T17:00:00.123+00:00", "level": "INFO", "logger": "dnspanel.fleet.push",
     "message": "pushed node=ns3 from=41 to=58", "request_id": "1f0c…"}

The id is that of the request or task that runs in this thread. A traceback is the JSON member `traceback`, or follows
the line as text.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

request_id: ContextVar[str] = ContextVar("request_id", default="")


@contextmanager
def of_request(id: str) -> Iterator[None]:
    """Add this request id to the log lines of the block. If it is empty, keep the current one."""
    reset = request_id.set(id or request_id.get())
    try:
        yield
    finally:
        request_id.reset(reset)


class LineFormatter(logging.Formatter):
    """A formatter for lines of text, or of JSON if `form` is `json`."""

    def __init__(self, form: str = TEXT) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._as_json = form == JSON

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line. Only a traceback in text has more than one line."""
        if not self._as_json:
            return super().format(record)
        found = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            "traceback": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({name: text for name, text in found.items() if text}, ensure_ascii=False)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of text. Line breaks in a message are escaped, so that a client cannot write lines."""
        line = super().formatMessage(record).replace("\n", "\\n").replace("\r", "\\r")
        return f"{line} request_id={id}" if (id := request_id.get()) else line


class WithoutTraceback(logging.Filter):
    """A filter that reduces records to one warning line, for events that a client causes, such as a wrong Host."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove the traceback, and accept the record."""
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        return True


def write_to_stderr(form: str) -> None:
    """Write the log lines of this process, from level info on, to standard error in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(form))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
