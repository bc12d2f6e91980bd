"""Run an agent's HTTPS server for the panel. The client must present the panel's certificate.

This module handles the requests that all agents support: status, samples, log, new certificates and signing keys. Each
kind of agent has its own handler for other requests: for nodes in `agent_server`, for fronts in
`replication.front.front_server`.
"""

import logging
import socket
import ssl
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from replication.agent.agent_identity import IdentityKeeper, is_valid_at
from replication.agent.powerdns.observe import Observer
from replication.agent.recent_log import RECENT_LOG
from replication.agent.strangers import Strangers
from replication.call_room import with_room
from replication.disk import disk_of
from replication.errors import BadBytes, DiskFull, ReplicationError
from replication.wire.position import Position
from replication.wire.protocol import (
    CERTIFICATE_PATH,
    KEYS_PATH,
    LOG_PATH,
    PANEL_NAME,
    SAMPLES_PATH,
    STATUS_PATH,
    Status,
    decode_message,
    encode_message,
    encode_refusal,
    with_samples,
)

# From the first byte to the last. A handshake uses no connection slot of the panel.
HANDSHAKE_SECONDS = 5.0
IDLE_SECONDS = 300.0
MAX_CONNECTIONS = 64  # of the panel, which needs two
# Larger bodies are stored on disk, so that memory doesn't depend on the size of pushes.
IN_MEMORY_BYTES = 1 << 20
# The free space that must stay on the disk for other files while a body is received.
SPARE_DISK_BYTES = 64 << 20

MAX_SMALL_BODY = 64 << 10

_CHUNK = 1 << 16

logger = logging.getLogger(__name__)


class PanelServer(ThreadingHTTPServer):
    """The agent's server for the panel. A client that hangs blocks only one thread."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(  # noqa: PLR0913  # the settings of a server
        self,
        address: tuple[str, int],
        identity: IdentityKeeper,
        handler: type["PanelHandler"],
        *,
        observer: Observer,
        status: Callable[[], Status],
        spool: Path,
        max_body: int,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.identity, self.observer, self.status = identity, observer, status
        self.spool, self.max_body = spool, max_body
        self.strangers = Strangers()
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # After a kill, the last process's connections linger for a minute. They must not block the port.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection. The TLS handshake happens later. Raise OSError if the connection breaks."""
        plain, address = self.socket.accept()
        try:
            plain.settimeout(HANDSHAKE_SECONDS)
            request = self.identity.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        except OSError:
            plain.close()
            raise
        self.strangers.add(request, address[0])
        return request, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.exception("a connection of %s ended unexpectedly", client_address[0])

    @with_room
    def finish_request(self, request: Any, client_address: Any) -> None:
        """Do the TLS handshake, check the certificate, and handle the requests. Runs in the connection's own thread."""
        try:
            if self._is_panel(request, client_address[0]):
                with self._place() as has_place:
                    if has_place:
                        self._handler(request)(request, client_address, self)
                    else:
                        logger.warning("refused the panel's connection: it has %s already", MAX_CONNECTIONS)
        except (OSError, ssl.SSLError) as exc:
            logger.debug("connection of %s ended: %s", client_address[0], exc)

    def _handler(self, request: ssl.SSLSocket) -> type[BaseHTTPRequestHandler]:
        """Return the handler class, or ClockHandler if the panel's certificate isn't valid by this server's clock."""
        if is_valid_at(request.getpeercert() or {}, time.time()):
            return self.RequestHandlerClass  # type: ignore[return-value]
        logger.warning("refused the panel's connection: by the clock of this server its certificate is not valid")
        return ClockHandler

    def _is_panel(self, request: ssl.SSLSocket, address: str) -> bool:
        """Do the TLS handshake. Return True if the client is the panel. Raise OSError if the handshake fails."""
        name = None
        try:
            request.do_handshake()
            name = _common_name(request.getpeercert())
        finally:
            self.strangers.remove(request, known=name == PANEL_NAME)
        if name != PANEL_NAME:
            logger.warning("refused a connection of %s: its certificate is for %r", address, name)
        return name == PANEL_NAME

    @contextmanager
    def _place(self) -> Iterator[bool]:
        """Reserve one of the panel's connection slots during the block. Yield False if all slots are in use."""
        is_free = self._free.acquire(blocking=False)
        try:
            yield is_free
        finally:
            if is_free:
                self._free.release()


def _common_name(certificate: Mapping[str, Any] | None) -> str | None:
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return None


class ClockHandler(BaseHTTPRequestHandler):
    """A handler that rejects every request with the error WrongClock and the time on this server's clock."""

    protocol_version = "HTTP/1.1"
    timeout = HANDSHAKE_SECONDS

    def do_GET(self) -> None:
        body = encode_message({"error": "WrongClock", "message": "wrong clock", "position": None, "clock": time.time()})
        self.close_connection = True
        self.send_response_only(403)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET

    def log_message(self, message: str, *args: Any) -> None:
        logger.debug(message, *args)


class PanelHandler(BaseHTTPRequestHandler):
    """The handler for one connection from the panel, which can send many requests over it."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1
    server: PanelServer

    def do_GET(self) -> None:
        target = urllib.parse.urlsplit(self.path)
        if target.path in (STATUS_PATH, SAMPLES_PATH):
            self._answer_status(target)
        elif target.path == LOG_PATH:
            self._answer_with(lambda: {"lines": RECENT_LOG.lines()})
        else:
            self._get(target)

    def _answer_status(self, target: urllib.parse.SplitResult) -> None:
        """Answer a request for the status, the samples, or both. The panel sends one to each node every second."""
        query = urllib.parse.parse_qs(target.query)
        after = query.get("samples_after" if target.path == STATUS_PATH else "after", [""])[0]
        if after and not after.isdecimal():
            self._answer(400, bad_request("after has to be a unix time"))
        elif target.path == SAMPLES_PATH:
            self._answer(200, self.server.observer.samples_after(int(after or 0)))
        else:
            status = encode_message(self.server.status().to_json())
            samples = self.server.observer.samples_after(int(after)) if after else b""
            self._answer(200, with_samples(status, samples) if samples else status)

    def _get(self, target: urllib.parse.SplitResult) -> None:
        """Answer a GET request that only this kind of agent supports. The default is 404."""
        self._answer(404, bad_request("no such path"))

    def do_POST(self) -> None:
        if self.path == CERTIFICATE_PATH:
            self._answer_with(lambda: {"csr": self.server.identity.request()})
        else:
            self._post()

    def _post(self) -> None:
        """Answer a POST request that only this kind of agent supports. The default is 404."""
        self._refuse_unread(404, "no such path")

    def _take_small(self, takes: Mapping[str, Callable[[Any, bytes], None]]) -> bool:
        """Read and answer a small body for a path in `takes`. Return False, without reading, for other requests."""
        size = self.headers.get("Content-Length", "")
        if self.path not in takes or not size.isdecimal() or int(size) > MAX_SMALL_BODY:
            return False
        body = self.rfile.read(int(size))
        self._answer_with(lambda: takes[self.path](self.server, body) or {})
        return True

    def _push(self, size: int, take: Callable[[bytes | BinaryIO], Mapping[str, Any]]) -> None:
        """Read a body of any size into memory or to disk, and respond with the result or error of `take`."""
        try:
            body = self._receive(size)
            try:
                message = take(body)
            finally:
                if not isinstance(body, bytes):
                    body.close()
        except ReplicationError as exc:
            if isinstance(exc, DiskFull):
                self.close_connection = True
            self._answer(*encode_refusal(exc, self._position()))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as exc:  # a bug of ours: the panel must see it, and the next push is tried
            logger.exception("a push ended unexpectedly")
            self._answer(500, encode_message({"error": type(exc).__name__, "message": str(exc), "position": None}))
        else:
            self._answer(200, encode_message(message))

    def _answer_with(self, act: Callable[[], Any]) -> None:
        """Run `act`, and respond with its result or its error."""
        try:
            message = act()
        except (ReplicationError, OSError) as exc:
            error = DiskFull(path=str(exc.filename), reason=str(exc)) if isinstance(exc, OSError) else exc
            self._answer(*encode_refusal(error, self._position()))
        except Exception as exc:  # a bug of ours, which the panel must see
            logger.exception("a request ended unexpectedly")
            self._answer(500, encode_message({"error": type(exc).__name__, "message": str(exc), "position": None}))
        else:
            self._answer(200, encode_message(message))

    def _position(self) -> Position | None:
        return self.server.status().position

    def _receive(self, size: int) -> bytes | BinaryIO:
        """Read the body into memory, or to disk if large. Raise DiskFull, or ConnectionResetError if it ends early."""
        if size <= IN_MEMORY_BYTES:
            body = self.rfile.read(size)
            if len(body) < size:
                raise ConnectionResetError("the body ended too early")
            return body
        spool = self.server.spool
        disk = disk_of(spool)
        if disk.free_bytes < size + SPARE_DISK_BYTES:
            raise DiskFull(path=str(spool), reason=f"a push of {size} bytes does not fit")
        if not disk.has_inodes:
            raise DiskFull(path=str(spool), reason="no inode is free")
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

    def _refuse_unread(self, status: int, message: str) -> None:
        """Reject a request without reading its body. Close the connection, because it can't be used again."""
        self.close_connection = True
        self._answer(status, bad_request(message))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send http.server's own errors in the protocol's format, without HTML or the server's name."""
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

    def log_message(self, message: str, *args: Any) -> None:
        """Log requests at debug level only. The applier logs the important events."""
        logger.debug(message, *args)


def _take_certificate(server: PanelServer, body: bytes) -> None:
    message = decode_message(body)
    try:
        certificate, ca = str(message["certificate"]), str(message["ca"])
    except (KeyError, TypeError) as exc:
        raise BadBytes(what="certificate", reason="the message has no `certificate` and `ca`") from exc
    server.identity.install(certificate, ca)


def _take_keys(server: PanelServer, body: bytes) -> None:
    server.identity.take_keys(body)


# The requests about the agent's identity, which every agent accepts.
IDENTITY_PUTS: Mapping[str, Callable[[PanelServer, bytes], None]] = {
    CERTIFICATE_PATH: _take_certificate,
    KEYS_PATH: _take_keys,
}


def bad_request(message: str) -> bytes:
    """Return the response body for a request that isn't valid in this protocol."""
    return encode_message({"error": "BadRequest", "message": message, "position": None})
