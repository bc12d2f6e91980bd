"""Bring a node to the panel's head: decide what it lacks, send it, and take its word only with proof.

`next_step` decides and is pure. `bring_to_head` acts, over a `NodeClient` and a `ChangeLog`.
"""

import hashlib
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

from replication.errors import Gap, NodeAhead, NodeUnreachable, Refused, ReplicationError, WrongEpoch
from replication.position import Position
from replication.protocol import (
    SAMPLES_PATH,
    SEGMENTS_PATH,
    STATUS_PATH,
    Ack,
    Sample,
    Status,
    decode_message,
    decode_refusal,
)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0
# An agent on a slow disk still applies this much of a large body per second; waiting scales with it.
SLOWEST_BYTES_PER_SECOND = 100_000
# Segments of this size together travel in one request: a node far behind purges and verifies once for all.
BATCH_BYTES = 1 << 20
BATCH_SEGMENTS = 256
_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class Nothing:
    """The node is at the head."""


@dataclass(frozen=True, slots=True)
class SendSegments:
    """The node lacks what comes after this sequence, and the log holds it."""

    after: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """No segment can help this node; the error says why."""

    error: ReplicationError


Step = Nothing | SendSegments | Refuse


def next_step(have: Position | None, head: Position | None, oldest: int) -> Step:
    """What a node at `have` needs, when the log holds the sequences `oldest`..`head`.

    `head` is None while nothing was ever encoded. A node without a position has everything before sequence 1.
    """
    if head is None:
        return Nothing() if have is None else Refuse(NodeAhead(node=have, head=Position(have.epoch, 0)))
    if have is not None and have.epoch != head.epoch:
        return Refuse(WrongEpoch(ours=head.epoch, theirs=have.epoch))
    sequence = have.sequence if have else 0
    if sequence > head.sequence:
        return Refuse(NodeAhead(node=Position(head.epoch, sequence), head=head))
    if sequence == head.sequence:
        return Nothing()
    if sequence < oldest - 1:
        words = f"the node is at sequence {sequence} and the log begins at {oldest}: it has to be set up anew"
        return Refuse(Refused(error="LogPruned", message=words))
    return SendSegments(after=sequence)


@dataclass(frozen=True, slots=True)
class SealedSegment:
    """A segment of the log that can be read when its turn comes."""

    first: int
    last: int
    size: int
    open: Callable[[], BinaryIO]


class ChangeLog(Protocol):
    """The panel's sealed segments for one schema."""

    def head(self) -> Position | None:
        """The newest position for which a segment exists."""

    def oldest(self) -> int:
        """The first sequence that the segments still hold; 1 for a log that was never pruned."""

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        """The segments that bring a node from `sequence` to the head, in order."""


class NodeClient:
    """One kept connection to an agent. Not for several threads at once.

    With `certificate_sha256` (hex, of the DER form) only the agent with exactly this certificate is spoken to:
    nodes that share a host name could otherwise stand in for one another. `bytes_sent` counts all bytes of
    requests, HTTP headers included, without TLS's own.
    """

    def __init__(
        self,
        host: str,
        port: int,
        ssl_context: ssl.SSLContext,
        *,
        certificate_sha256: str | None = None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.host, self.port, self.certificate_sha256 = host, port, certificate_sha256
        self.bytes_sent = 0
        self._answer_seconds = answer_seconds
        self._context = ssl_context
        self._socket: ssl.SSLSocket | None = None

    def status(self) -> Status:
        """How the node is doing. Raises NodeUnreachable."""
        return Status.from_json(self._get(STATUS_PATH))

    def samples(self, after: int) -> list[Sample]:
        """PowerDNS's counters of the seconds after this unix time, oldest first. Raises NodeUnreachable."""
        return [Sample.from_json(sample) for sample in self._get(f"{SAMPLES_PATH}?after={after}")]

    def push(self, body: bytes | BinaryIO, size: int) -> Ack:
        """Send sealed segments; return once PowerDNS on the node was seen to answer accordingly.

        Raises what the agent refuses with (Gap, NotServed, Busy, Refused ...), or NodeUnreachable: then the
        node may or may not have applied them, and sending them again is harmless.
        """
        seconds = self._answer_seconds + size / SLOWEST_BYTES_PER_SECOND
        return Ack.from_json(self._request("PUT", SEGMENTS_PATH, body, size, seconds))

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _get(self, target: str) -> Any:
        return self._request("GET", target, b"", 0, self._answer_seconds)

    def _request(self, method: str, target: str, body: bytes | BinaryIO, size: int, seconds: float) -> Any:
        """One request; again on a new connection if the agent had closed the kept one meanwhile."""
        if self._socket is not None:
            try:
                return self._attempt(method, target, body, size, seconds)
            except _Broken:
                if not isinstance(body, bytes):
                    body.seek(0)
        try:
            return self._attempt(method, target, body, size, seconds)
        except _Broken as exc:
            raise NodeUnreachable(host=self.host, port=self.port, reason=str(exc)) from exc

    def _attempt(self, method: str, target: str, body: bytes | BinaryIO, size: int, seconds: float) -> Any:
        try:
            connection = self._connected()
            connection.settimeout(seconds)
            self._send(connection, method, target, body, size)
            response = http.client.HTTPResponse(connection, method=method)
            response.begin()
            answer = response.read()
        except (ConnectionResetError, BrokenPipeError, http.client.BadStatusLine, ssl.SSLEOFError) as exc:
            self.close()
            raise _Broken(str(exc) or type(exc).__name__) from exc
        except (OSError, http.client.HTTPException) as exc:
            self.close()
            raise NodeUnreachable(host=self.host, port=self.port, reason=str(exc) or type(exc).__name__) from exc
        if response.will_close:
            self.close()
        if response.status != 200:
            raise decode_refusal(response.status, answer)
        return decode_message(answer)

    def _connected(self) -> ssl.SSLSocket:
        if self._socket is None:
            plain = socket.create_connection((self.host, self.port), timeout=CONNECT_SECONDS)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                connection = self._context.wrap_socket(plain, server_hostname=self.host)
            except BaseException:
                plain.close()
                raise
            self._refuse_another(connection)
            self._socket = connection
        return self._socket

    def _refuse_another(self, connection: ssl.SSLSocket) -> None:
        """Close the connection and raise Refused unless the agent showed the certificate that is expected."""
        shown = hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()
        if self.certificate_sha256 not in (None, shown):
            connection.close()
            words = f"the agent at {self.host} port {self.port} shows a certificate of somebody else ({shown[:16]}…)"
            raise Refused(error="WrongCertificate", message=words)

    def _send(self, connection: ssl.SSLSocket, method: str, target: str, body: bytes | BinaryIO, size: int) -> None:
        """Few header bytes, and one piece with a small body: an edit fits one packet."""
        length = f"Content-Length: {size}\r\n" if method == "PUT" else ""
        head = f"{method} {target} HTTP/1.1\r\nHost: {self.host}\r\n{length}\r\n".encode("ascii")
        pieces = [head + body] if isinstance(body, bytes) else chain([head], iter(partial(body.read, 1 << 16), b""))
        for piece in pieces:
            connection.sendall(piece)
            self.bytes_sent += len(piece)


class _Broken(Exception):
    """The connection ended before an answer came."""


def bring_to_head(
    client: NodeClient, log: ChangeLog, have: Position | None, *, until: float | None = None
) -> Ack | None:
    """Push what the node lacks until it is at the head; return its last ack, None if it lacked nothing.

    `have` is where the panel believes the node to be; if the node says Gap, its own position counts. `until`
    (monotonic time) ends the work early between two requests. Raises what `next_step` refuses with and what
    the agent answers.
    """
    ack: Ack | None = None
    restarts = 0
    while until is None or ack is None or time.monotonic() < until:
        step = next_step(have, log.head(), log.oldest())
        if isinstance(step, Refuse):
            raise step.error
        if isinstance(step, Nothing):
            return ack
        try:
            for body, size in _batches(log.segments_after(step.after)):
                ack = client.push(body, size)
                have = ack.position
                if until is not None and time.monotonic() >= until:
                    return ack
        except Gap as gap:
            restarts += 1
            if restarts > _RESTARTS or gap.have == have:
                raise
            have = Position(gap.have.epoch, gap.have.sequence) if gap.have else None
    return ack


def _batches(segments: Iterable[SealedSegment]) -> Iterator[tuple[bytes | BinaryIO, int]]:
    """Bodies of requests and their sizes: small segments together in memory, a large one alone from its file."""
    waiting: list[bytes] = []
    size = 0
    for segment in segments:
        if waiting and (size + segment.size > BATCH_BYTES or len(waiting) == BATCH_SEGMENTS):
            yield b"".join(waiting), size
            waiting, size = [], 0
        with segment.open() as file:
            if segment.size > BATCH_BYTES:
                yield file, segment.size
            else:
                waiting.append(file.read())
                size += segment.size
    if waiting:
        yield b"".join(waiting), size
