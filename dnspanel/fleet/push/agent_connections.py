"""One push worker's connections to the agents. Each node has one permanent connection, for one push at a time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils import timezone

from dnspanel.fleet.nodes.authority import client_ssl_context, ensure_authority
from dnspanel.texts import gettext
from replication.errors import Busy
from replication.node_client import NodeClient
from replication.pace import Pace
from replication.wire.position import Position

CLIENT_KEPT_SECONDS = 3600


class AgentConnection:
    """The connection to one node. Its client is created for the first push and then reused."""

    def __init__(self) -> None:
        self._free = threading.Lock()
        self._requested = False
        self._client: NodeClient | None = None
        self._agent: tuple[str, int, frozenset[str]] = ("", 0, frozenset())
        self._made_at = 0.0
        self._attempt: Callable[[AgentConnection], None] | None = None
        # Held by the repair of the node's content, in parallel with pushes.
        self.repairing = threading.Lock()
        # The position of the node's files while its PowerDNS doesn't answer for all their new zones, and True if its
        # next push has been scheduled.
        self.applied: Position | None = None
        self.is_scheduled = False
        # True if a single push of this node waits for a thread.
        self.is_queued = False
        # How much one request may send.
        self.pace = Pace()
        # True if the last attempt got through. Only a change is logged.
        self.reachable = True

    def push(self, attempt: Callable[["AgentConnection"], None]) -> None:
        """Run `attempt`, or leave it to the push that is running. No request for a push is ever lost.

        `_requested` is set before the lock is tried, and read after the lock is released. A caller that can't get the
        lock can therefore rely on the lock's holder to check once more.
        """
        self._attempt = attempt
        self._requested = True
        while self._requested and self._free.acquire(blocking=False):
            try:
                self._requested = False
                attempt(self)
            finally:
                self._free.release()

    def take(self, attempt: Callable[["AgentConnection"], None]) -> bool:
        """Reserve the connection for a push to several nodes, until `let_go`. Return False if another push is running.

        The running push then checks once more, like `push`, and can run `attempt`.
        """
        self._attempt = attempt
        self._requested = True
        if not self._free.acquire(blocking=False):
            return False
        self._requested = False
        return True

    def let_go(self) -> bool:
        """Release the connection after `take`. Return True if the caller must run a push requested since then."""
        self._free.release()
        return self._requested

    @contextmanager
    def reserve(self, seconds: float) -> Iterator["AgentConnection"]:
        """Suspend pushes over the connection during the block, so that the node's position doesn't change.

        Raise Busy if a push takes longer than `seconds`. A push that is requested during the block runs at its end.
        """
        if not self._free.acquire(timeout=seconds):
            raise Busy(what=gettext("the connection to the node"))
        try:
            yield self
        finally:
            self._free.release()
            if self._requested and self._attempt is not None:
                self.push(self._attempt)

    def place(self, acked: Position | None) -> Position | None:
        """Return `acked`, or the position of the node's files if it is newer and in the same epoch."""
        if self.applied is None or acked is None or self.applied.epoch != acked.epoch:
            return acked
        return max(self.applied, acked)

    def client(self, host: str, port: int, pins: frozenset[str]) -> NodeClient:
        """Return the client for the agent at this address, which must present one of the certificates in `pins`.

        The client is reused between calls. It is replaced if the address or `pins` has changed, and after
        CLIENT_KEPT_SECONDS, so that a new certificate of the panel comes into use.
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
class AgentConnections:
    """This process's connections, keyed by node id."""

    _connections: dict[int, AgentConnection]
    _lock: threading.Lock

    def __getitem__(self, node_id: int) -> AgentConnection:
        with self._lock:
            return self._connections.setdefault(node_id, AgentConnection())

    def close(self) -> None:
        """Close and remove all connections. The caller must make sure that no push is running."""
        with self._lock:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()


connections = AgentConnections({}, threading.Lock())
