"""The lines to the agents that one push worker holds: one kept connection per node, used by one push at a time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from django.utils import timezone

from dnspanel.fleet.authority import client_ssl_context, ensure_authority
from replication.push import NodeClient


class Line:
    """The way to one node. Its client is made by the first push and kept."""

    def __init__(self) -> None:
        self._free = threading.Lock()
        self._rung = False
        self._client: NodeClient | None = None
        self._agent: tuple[str, int, str] = ("", 0, "")
        # Whether the last attempt got through: only a change of this is worth a line in the log.
        self.reachable = True

    def push(self, attempt: Callable[["Line"], None]) -> None:
        """Run `attempt`, or leave it to the push that is under way; no bell is ever lost.

        `_rung` is set before the lock is tried, and read after it was let go:
        who cannot get the lock knows that its holder will look once more.
        """
        self._rung = True
        while self._rung and self._free.acquire(blocking=False):
            try:
                self._rung = False
                attempt(self)
            finally:
                self._free.release()

    def client(self, host: str, port: int, certificate_sha256: str) -> NodeClient:
        """Return the kept client; a new one when the agent's address or certificate has changed."""
        agent = (host, port, certificate_sha256)
        if self._client is None or self._agent != agent:
            self.close()
            context = client_ssl_context(ensure_authority(now=timezone.now()))
            self._client = NodeClient(host, port, context, certificate_sha256=certificate_sha256)
            self._agent = agent
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of this process, by node id."""

    _lines: dict[int, Line]
    _lock: threading.Lock

    def __getitem__(self, node_id: int) -> Line:
        with self._lock:
            return self._lines.setdefault(node_id, Line())

    def close(self) -> None:
        """Close every connection and forget them; nobody may be pushing."""
        with self._lock:
            for line in self._lines.values():
                line.close()
            self._lines.clear()


lines = Lines({}, threading.Lock())
