"""Name servers with scripted answers, over UDP and TLS, with real signatures."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dns.flags
import dns.message
import dns.query
import dns.tsig

from tests.own_certificates import OwnCertificate

Decide = Callable[[dns.message.Message], dns.message.Message | bytes | None]
Answering = Callable[[list[dns.message.Message]], list[bytes]]


class NameServer:
    """A server on loopback, as a context manager. It records queries in `received` and answers by `decide`."""

    def __init__(self, key: dns.tsig.Key, decide: Decide) -> None:
        self._key, self._decide = key, decide
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.received: list[dns.message.Message] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "NameServer":
        self._thread.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", self._socket.getsockname())
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            wire, sender = self._socket.recvfrom(4096)
            if not wire:
                return
            query = dns.message.from_wire(wire, keyring=self._key)
            self.received.append(query)
            answer = self._decide(query)
            if answer is not None:
                self._socket.sendto(answer if isinstance(answer, bytes) else answer.to_wire(), sender)


def signed_answer(query: dns.message.Message) -> dns.message.Message:
    """Return an answer with NOERROR to a signed query. dnspython signs it with the query's key."""
    answer = dns.message.make_response(query)
    answer.flags |= dns.flags.AA
    return answer


@contextmanager
def tls_server(
    directory: Path,
    own: OwnCertificate,
    answering: Answering,
    *,
    key: dns.tsig.Key,
    count: int = 1,
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    ended: int = 0,
) -> Iterator[tuple[str, int]]:
    """Run a TLS server for one connection that reads `count` queries and then sends these answers. Yield its address.

    Before that, it closes `ended` connections after reading their queries.
    """
    (directory / "server.pem").write_text(own.certificate + own.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = newest
    context.load_cert_chain(directory / "server.pem")
    context.set_alpn_protocols(["dot"])

    def serve() -> None:
        try:
            for left in range(ended, -1, -1):
                with context.wrap_socket(listening.accept()[0], server_side=True) as stream:
                    stream.settimeout(10)
                    questions = [dns.query.receive_tcp(stream, keyring=key)[0] for _ in range(count)]
                    if left:
                        continue
                    for wire in answering(questions):
                        dns.query.send_tcp(stream, wire)
                    stream.recv(1)  # until the client leaves
        except (OSError, EOFError):
            return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()
        thread.join(10)
