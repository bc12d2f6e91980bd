"""The lines to the agents that one push worker holds: one kept connection per node, used by one push at a time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils import timezone

from dnspanel.fleet.nodes.authority import client_ssl_context, ensure_authority
from replication.errors import Busy
from replication.push import NodeClient

CLIENT_KEPT_SECONDS = 3600


class Line:
    """The way to one node. Its client is made by the first push and kept."""

    def __init__(self) -> None:
        self._free = threading.Lock()
        self._rung = False
        self._client: NodeClient | None = None
        self._agent: tuple[str, int, frozenset[str]] = ("", 0, frozenset())
        self._made_at = 0.0
        self._attempt: Callable[[Line], None] | None = None
        # Held by whoever mends the node's content, beside pushes.
        self.mending = threading.Lock()
        # Whether the last attempt got through: only a change of this is worth a line in the log.
        self.reachable = True

    def push(self, attempt: Callable[["Line"], None]) -> None:
        """Run `attempt`, or leave it to the push that is under way; no request for a push is ever lost.

        `_rung` is set before the lock is tried, and read after it was let go:
        who cannot get the lock knows that its holder will look once more.
        """
        self._attempt = attempt
        self._rung = True
        while self._rung and self._free.acquire(blocking=False):
            try:
                self._rung = False
                attempt(self)
            finally:
                self._free.release()

    @contextmanager
    def held(self, seconds: float) -> Iterator["Line"]:
        """Keep pushes off the line: the node's position stays where it is. Raises Busy.

        A push that is requested meanwhile is done here, afterwards.
        """
        if not self._free.acquire(timeout=seconds):
            raise Busy(what="the line to the node")
        try:
            yield self
        finally:
            self._free.release()
            if self._rung and self._attempt is not None:
                self.push(self._attempt)

    def client(self, host: str, port: int, pins: frozenset[str]) -> NodeClient:
        """Return the kept client for the agent that shows one of these certificates.

        A new one when the agent's address or certificate has changed, and now and then, so that the panel's own
        certificate can be replaced.
        """
        agent = (host, port, pins)
        if self._client is None or self._agent != agent or time.monotonic() - self._made_at > CLIENT_KEPT_SECONDS:
            self.close()
            context = client_ssl_context(ensure_authority(now=timezone.now()))
            self._client = NodeClient(host, port, context, certificate_sha256=pins)
            self._agent, self._made_at = agent, time.monotonic()
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
