"""An agent that sends the answers that a test specifies."""

import contextlib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from replication.wire.position import Position
from replication.wire.protocol import Ack, encode_message

EPOCH = UUID("e1000000-0000-4000-8000-000000000001")


def at(sequence: int) -> Position:
    return Position(EPOCH, sequence)


@dataclass
class Agent:
    """An agent that accepts TLS connections, reads requests, and sends scripted answers."""

    listener: socket.socket
    context: ssl.SSLContext
    answer: Callable[[str, bytes], tuple[int, bytes] | None]
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    connections: int = 0

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with contextlib.suppress(OSError), plain:
                self._serve_connection(plain)

    def _serve_connection(self, plain: socket.socket) -> None:
        with self.context.wrap_socket(plain, server_side=True) as tls, tls.makefile("rwb") as stream:
            while self._serve_one(stream):
                pass

    def _serve_one(self, stream: Any) -> bool:
        line = stream.readline().decode()
        if not line:
            return False
        size = 0
        while (header := stream.readline().strip()) != b"":
            if header.lower().startswith(b"content-length:"):
                size = int(header.split(b":")[1])
        body = stream.read(size)
        self.requests.append((line.rsplit(" ", 1)[0], body))
        answer = self.answer(line, body)
        if answer is None:
            return False
        head = f"HTTP/1.1 {answer[0]} X\r\nContent-Length: {len(answer[1])}\r\n\r\n".encode()
        stream.write(head + answer[1])
        stream.flush()
        return True


def acked(sequence: int) -> tuple[int, bytes]:
    return 200, encode_message(Ack(at(sequence), bytes(16), bytes(16)).to_json())
