"""The agent's side of `protocol`: HTTPS for one client, the panel, which has to show its certificate."""

import logging
import shutil
import socket
import ssl
import tempfile
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from replication.agent.apply import Applier
from replication.agent.observe import Observer
from replication.errors import DiskFull, ReplicationError
from replication.position import Position
from replication.protocol import (
    PANEL_NAME,
    SAMPLES_PATH,
    SEGMENTS_PATH,
    STATUS_PATH,
    Status,
    encode_message,
    encode_refusal,
)

HANDSHAKE_SECONDS = 5.0
IDLE_SECONDS = 300.0
MAX_CONNECTIONS = 64
# Larger bodies wait on disk, so that memory does not depend on what is pushed.
IN_MEMORY_BYTES = 1 << 20
# The disk keeps this much for LMDB when a body is received.
SPARE_DISK_BYTES = 64 << 20

_CHUNK = 1 << 16

logger = logging.getLogger(__name__)


def server_context(certificate: Path, key: Path, ca: Path) -> ssl.SSLContext:
    """TLS 1.3, with our certificate, for clients of our CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0
    return context


class AgentServer(ThreadingHTTPServer):
    """Accepts the panel. A client that is stuck holds one thread and nobody else."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        context: ssl.SSLContext,
        *,
        applier: Applier,
        observer: Observer,
        status: Callable[[], Status],
        spool: Path,
        max_body: int,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.context, self.applier, self.observer, self.status = context, applier, observer, status
        self.spool, self.max_body = spool, max_body
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # After a kill, connections of the last process linger for a minute; they must not keep us from the port.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse what comes above MAX_CONNECTIONS; the panel needs two."""
        return self._free.acquire(blocking=False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.exception("a connection of %s ended unexpectedly", client_address[0])

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread: shake hands, look at the certificate, serve."""
        try:
            request.settimeout(HANDSHAKE_SECONDS)
            with self.context.wrap_socket(request, server_side=True) as connection:
                if (name := _common_name(connection.getpeercert())) != PANEL_NAME:
                    logger.warning("refused a connection of %s: its certificate is for %r", client_address[0], name)
                    return
                self.RequestHandlerClass(connection, client_address, self)  # type: ignore[arg-type]
        except (OSError, ssl.SSLError) as exc:
            logger.debug("connection of %s ended: %s", client_address[0], exc)
        finally:
            self._free.release()


def _common_name(certificate: Mapping[str, Any] | None) -> str | None:
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return None


class _Handler(BaseHTTPRequestHandler):
    """One connection of the panel, kept for many requests."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1
    server: AgentServer

    def do_GET(self) -> None:
        target = urllib.parse.urlsplit(self.path)
        if target.path == STATUS_PATH:
            self._answer(200, encode_message(self.server.status().to_json()))
        elif target.path == SAMPLES_PATH:
            after = urllib.parse.parse_qs(target.query).get("after", ["0"])[0]
            if after.isdecimal():
                self._answer(200, self.server.observer.samples_after(int(after)))
            else:
                self._answer(400, _words("after has to be a unix time"))
        else:
            self._answer(404, _words("no such path"))

    def do_PUT(self) -> None:
        size = self.headers.get("Content-Length", "")
        if self.path != SEGMENTS_PATH or not size.isdecimal():
            self._refuse_unread(404 if self.path != SEGMENTS_PATH else 411, "not a push")
        elif int(size) > self.server.max_body:
            self._refuse_unread(413, f"at most {self.server.max_body} bytes are taken at once")
        else:
            self._push(int(size))

    def _push(self, size: int) -> None:
        try:
            body = self._receive(size)
            try:
                ack = self.server.applier.apply(body)
            finally:
                if not isinstance(body, bytes):
                    body.close()
        except ReplicationError as exc:
            if isinstance(exc, DiskFull):
                self.close_connection = True
            self._answer(*encode_refusal(exc, self._position()))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as exc:  # a fault of ours: the panel shall see it, and the next push be tried
            logger.exception("a push ended unexpectedly")
            self._answer(500, encode_message({"error": type(exc).__name__, "message": str(exc), "position": None}))
        else:
            self._answer(200, encode_message(ack.to_json()))

    def _position(self) -> Position | None:
        return self.server.status().position

    def _receive(self, size: int) -> bytes | BinaryIO:
        """The body, in memory or on disk. Raises DiskFull."""
        if size <= IN_MEMORY_BYTES:
            body = self.rfile.read(size)
            if len(body) < size:
                raise ConnectionResetError("the body ended too early")
            return body
        spool = self.server.spool
        if shutil.disk_usage(spool).free < size + SPARE_DISK_BYTES:
            raise DiskFull(path=str(spool), reason=f"a push of {size} bytes does not fit")
        file = tempfile.TemporaryFile(dir=spool)  # noqa: SIM115 - closed by `_push`
        try:
            left = size
            while left:
                chunk = self.rfile.read(min(left, _CHUNK))
                if not chunk:
                    raise ConnectionResetError("the body ended too early")
                file.write(chunk)
                left -= len(chunk)
        except ConnectionResetError:
            file.close()
            raise
        except OSError as exc:
            file.close()
            raise DiskFull(path=str(spool), reason=str(exc)) from exc
        return file

    def _refuse_unread(self, status: int, words: str) -> None:
        """Answer without reading the body, after which the connection is of no use."""
        self.close_connection = True
        self._answer(status, _words(words))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server refuses by itself, in our form: no page, no name of a server."""
        self.request_version = self.protocol_version
        self._refuse_unread(code, message or "not a request of this protocol")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """The applier logs what matters; a line per request would drown it."""
        logger.debug(format, *args)


def _words(message: str) -> bytes:
    return encode_message({"error": "BadRequest", "message": message, "position": None})
