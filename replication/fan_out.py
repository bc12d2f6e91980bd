"""Send small requests to many agents at once, in one thread, over existing connections.

One thread per node would use more processor time for waking up than for its work.
"""

import http.client
import io
import selectors
import ssl
import time
from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

from replication.errors import NodeUnreachable, ReplicationError
from replication.node_client import MAY_DEFER, NodeClient, answer_of, request_head
from replication.wire.protocol import SEGMENTS_PATH, Ack

# Far more than any ack and its header. Longer answers are not read to the end.
LONGEST_ANSWER = 1 << 20
LONGEST_HEADER = 1 << 14
_PIECE = 1 << 16

Key = TypeVar("Key", bound=Hashable)


def push_to_all(requests: Mapping[Key, tuple[NodeClient, bytes]]) -> Iterator[dict[Key, Ack | ReplicationError]]:
    """Send sealed segments to many nodes, as in `NodeClient.push` with `may_defer`.

    Yield the nodes' answers until all have answered. Each item contains the answers that have arrived together. An
    error is the agent's rejection, or NodeUnreachable. After NodeUnreachable, or if the generator isn't exhausted, the
    node can have applied the segments; sending them again is harmless. Until the generator ends, other code must not
    use the clients. Each client must be connected.
    """
    exchanges = {key: _Exchange(client, body) for key, (client, body) in requests.items()}
    waiting = dict(exchanges)
    with selectors.DefaultSelector() as selector:
        try:
            found = {key: answer for key, exchange in exchanges.items() if (answer := exchange.proceed()) is not None}
            for key, exchange in exchanges.items():
                if key not in found:
                    selector.register(exchange.connection, exchange.waits_for, key)
            while True:
                for key in found:
                    del waiting[key]
                if found:
                    yield found
                if not waiting:
                    return
                found = _next(selector, waiting)
        finally:
            for exchange in waiting.values():
                exchange.client.close()


def _next(selector: selectors.BaseSelector, waiting: Mapping[Key, "_Exchange"]) -> dict[Key, Ack | ReplicationError]:
    """Wait for the next data or timeout. Return the complete answers, and an error for each timeout."""
    found: dict[Key, Ack | ReplicationError] = {}
    first = min(exchange.until for exchange in waiting.values())
    for event, _ in selector.select(max(0.0, first - time.monotonic())):
        exchange = waiting[event.data]
        answer = exchange.proceed()
        if answer is not None:
            found[event.data] = answer
            selector.unregister(event.fileobj)
        elif exchange.waits_for != event.events:
            selector.modify(event.fileobj, exchange.waits_for, event.data)
    now = time.monotonic()
    for key, exchange in waiting.items():
        if exchange.until <= now and key not in found:
            selector.unregister(exchange.connection)
            found[key] = exchange.give_up("timed out")
    return found


class _Exchange:
    """A request and its answer on a non-blocking connection, both possibly incomplete."""

    def __init__(self, client: NodeClient, body: bytes) -> None:
        if client.connection is None:
            raise ValueError("this client is not connected")
        self.client = client
        self.connection: ssl.SSLSocket = client.connection
        self.connection.setblocking(False)  # noqa: FBT003  # it takes no names
        self.until = time.monotonic() + client.seconds_for(len(body))
        self.waits_for = selectors.EVENT_READ
        self._unsent = memoryview(request_head("PUT", SEGMENTS_PATH, client.host, len(body), MAY_DEFER) + body)
        self._received = bytearray()
        self._length = 0  # of the answer with its header, once known

    def proceed(self) -> Ack | ReplicationError | None:
        """Send and receive without waiting. Return the answer or an error, or None while the answer is incomplete."""
        try:
            self._send()
            while piece := self.connection.recv(_PIECE):
                self._received += piece
                if (answer := self._answer()) is not None:
                    return answer
        except ssl.SSLWantReadError:
            self.waits_for = selectors.EVENT_READ
            return None
        except ssl.SSLWantWriteError:
            self.waits_for = selectors.EVENT_WRITE
            return None
        except (OSError, http.client.HTTPException) as exc:
            return self.give_up(str(exc) or type(exc).__name__)
        return self.give_up("the connection ended")

    def give_up(self, reason: str) -> NodeUnreachable:
        self.client.close()
        return NodeUnreachable(host=self.client.host, port=self.client.port, reason=reason)

    def _send(self) -> None:
        while self._unsent:
            sent = self.connection.send(self._unsent)
            self._unsent = self._unsent[sent:]
            self.client.bytes_sent += sent

    def _answer(self) -> Ack | ReplicationError | None:
        """Parse the answer. Return None while it is incomplete. Raise HTTPException if it is invalid or too long."""
        if len(self._received) < self._length:
            return None
        end = self._received.find(b"\r\n\r\n", 0, LONGEST_HEADER)
        if end < 0 and len(self._received) < LONGEST_HEADER:
            return None
        response = http.client.HTTPResponse(_Received(self._received), method="PUT")  # type: ignore[arg-type]
        response.begin()
        if end < 0 or response.length is None or response.length > LONGEST_ANSWER:
            raise http.client.HTTPException("the answer is too long, or does not tell its length")
        self._length = end + 4 + response.length
        if len(self._received) < self._length:
            return None
        body = response.read()
        if response.will_close:
            self.client.close()
        try:
            return Ack.from_json(answer_of(response.status, body))
        except ReplicationError as exc:
            return exc


class _Received:
    """The part of a socket that `HTTPResponse` needs, for an answer that is in memory."""

    def __init__(self, received: bytearray) -> None:
        self._received = received

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._received)
