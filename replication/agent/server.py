"""The agent's side of `protocol`: HTTPS for one client, the panel, which has to show its certificate."""

import logging
import re
import shutil
import socket
import ssl
import tempfile
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import Message
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from replication.agent.apply import Applier
from replication.agent.computed_types import ComputedTypesKeeper
from replication.agent.identity import IdentityKeeper
from replication.agent.integrity_scan import IntegrityScanner
from replication.agent.observe import Observer
from replication.agent.recent_log import RECENT_LOG
from replication.agent.sealing_keys import SealingKeys
from replication.agent.snapshots import Snapshots
from replication.agent.strangers import Strangers
from replication.agent.top import TopLists
from replication.agent.zones import zones_answer
from replication.errors import BadBytes, DiskFull, NotServed, ReplicationError
from replication.store.snapshot import MAX_MANIFEST, MAX_STORED_CHUNK
from replication.store.store import Store
from replication.wire.position import Position
from replication.wire.protocol import (
    ACK_PATH,
    CERTIFICATE_PATH,
    CHECK_PATH,
    COMPUTED_TYPES_PATH,
    KEYS_PATH,
    LOG_PATH,
    MOST_TOP_ZONES,
    PANEL_NAME,
    REPAIRS_PATH,
    RESPOND_ASYNC,
    RESTART_PATH,
    SAMPLES_PATH,
    SEALING_KEYS_PATH,
    SEGMENTS_PATH,
    SNAPSHOTS_PATH,
    STATUS_PATH,
    TOP_PATH,
    TOP_ZONES_PATH,
    UNPROVEN,
    ZONES_PATH,
    Status,
    decode_message,
    decode_unproven,
    encode_message,
    encode_refusal,
)

# From the first byte to the last. Who is at it takes none of the places for those who showed the panel's certificate.
HANDSHAKE_SECONDS = 5.0
IDLE_SECONDS = 300.0
MAX_CONNECTIONS = 64  # of the panel, which needs two
# Larger bodies wait on disk, so that memory does not depend on what is pushed.
IN_MEMORY_BYTES = 1 << 20
# The disk keeps this much for LMDB when a body is received.
SPARE_DISK_BYTES = 64 << 20

MAX_SMALL_BODY = 64 << 10

_CHUNK = 1 << 16

logger = logging.getLogger(__name__)


class AgentServer(ThreadingHTTPServer):
    """Accepts the panel. A client that is stuck holds one thread and nobody else."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        identity: IdentityKeeper,
        *,
        applier: Applier,
        observer: Observer,
        status: Callable[[], Status],
        top_lists: TopLists,
        scanner: IntegrityScanner,
        store: Store,
        snapshots: Snapshots,
        end_powerdns: Callable[[], bool],
        computed_types: ComputedTypesKeeper,
        sealing_keys: SealingKeys,
        spool: Path,
        max_body: int,
    ) -> None:
        self.scanner, self.store, self.sealing_keys = scanner, store, sealing_keys
        self.snapshots, self.end_powerdns, self.computed_types = snapshots, end_powerdns, computed_types
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.identity, self.applier, self.observer, self.status = identity, applier, observer, status
        self.top_lists, self.spool, self.max_body = top_lists, spool, max_body
        self.strangers = Strangers()
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # After a kill, connections of the last process linger for a minute; they must not keep us from the port.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection, whose handshake is to come. Raises OSError."""
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

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread: shake hands, check the certificate, serve."""
        try:
            if self._is_panel(request, client_address[0]):
                with self._place() as has_place:
                    if has_place:
                        self.RequestHandlerClass(request, client_address, self)  # type: ignore[arg-type]
                    else:
                        logger.warning("refused the panel's connection: it has %s already", MAX_CONNECTIONS)
        except (OSError, ssl.SSLError) as exc:
            logger.debug("connection of %s ended: %s", client_address[0], exc)

    def _is_panel(self, request: ssl.SSLSocket, address: str) -> bool:
        """Shake hands; True if the client has shown the panel's certificate. Raises OSError."""
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
        """One of the places for the panel's connections; False if there is none."""
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
                self._answer(400, _bad_request("after has to be a unix time"))
        elif target.path.startswith(ZONES_PATH):
            self._show_zones(target.path, urllib.parse.parse_qs(target.query))
        elif target.path == ACK_PATH:
            self._answer_with(lambda: self.server.applier.ack().to_json())
        elif target.path == TOP_PATH:
            self._answer_with(lambda: self.server.top_lists.read().to_json())
        elif target.path == TOP_ZONES_PATH:
            self._show_top_of_zones(urllib.parse.parse_qs(target.query).get("zone", []))
        elif target.path == LOG_PATH:
            self._answer_with(lambda: {"lines": RECENT_LOG.lines()})
        else:
            self._answer(404, _bad_request("no such path"))

    def _show_top_of_zones(self, zones: Sequence[str]) -> None:
        if len(zones) > MOST_TOP_ZONES:
            self._answer(400, _bad_request(f"at most {MOST_TOP_ZONES} zones are counted at once"))
            return
        lists = self.server.top_lists
        self._answer_with(lambda: {zone: top.to_json() for zone, top in lists.of_zones(zones).items()})

    def do_POST(self) -> None:
        if self.path == CERTIFICATE_PATH:
            self._answer_with(lambda: {"csr": self.server.identity.request()})
        elif self.path == CHECK_PATH:
            self.server.scanner.check_now()
            self._answer(200, encode_message({}))
        elif self.path == RESTART_PATH:
            self._answer_with(self._restart)
        elif found := _INSTALL.fullmatch(self.path):
            self._answer_with(lambda: self.server.snapshots.install(found[1]).to_json())
        else:
            self._refuse_unread(404, "no such path")

    def _restart(self) -> Mapping[str, Any]:
        if not self.server.end_powerdns():
            raise NotServed(question="quit on the control socket", expected="PowerDNS", found="nobody")
        return {}

    def _take_snapshot(self, size: int) -> bool:
        """Answer what belongs to a snapshot; False if this request does not."""
        if found := _SNAPSHOT_CHUNK.fullmatch(self.path):
            name, number, limit = found[1], int(found[2]), MAX_STORED_CHUNK
        elif found := _SNAPSHOT.fullmatch(self.path):
            name, number, limit = found[1], None, MAX_MANIFEST
        else:
            return False
        if size > limit:
            self._refuse_unread(413, f"at most {limit} bytes are taken at once")
            return True
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionResetError("the body ended too early")
        if number is None:
            self._answer_with(lambda: {"missing": self.server.snapshots.offer(name, body)})
        else:
            self._answer_with(partial(self._take_chunk, name, number, body))
        return True

    def _take_chunk(self, name: str, number: int, body: bytes) -> Mapping[str, Any]:
        self.server.snapshots.take_chunk(name, number, body)
        return {}

    def do_PUT(self) -> None:
        size = self.headers.get("Content-Length", "")
        if self.path in _SMALL_PUTS and size.isdecimal() and int(size) <= MAX_SMALL_BODY:
            body = self.rfile.read(int(size))
            self._answer_with(lambda: _SMALL_PUTS[self.path](self.server, body) or {})
            return
        if size.isdecimal() and self._take_snapshot(int(size)):
            return
        if self.path not in _PUSHES or not size.isdecimal():
            self._refuse_unread(404 if self.path not in _PUSHES else 411, "not a push")
        elif int(size) > self.server.max_body:
            self._refuse_unread(413, f"at most {self.server.max_body} bytes are taken at once")
        else:
            self._push(int(size))

    def _push(self, size: int) -> None:
        try:
            body = self._receive(size)
            try:
                message = _PUSHES[self.path](self.server, body, self.headers)
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
            self._answer(200, encode_message(message))

    def _show_zones(self, path: str, query: Mapping[str, Sequence[str]]) -> None:
        try:
            message = zones_answer(self.server.store, path, query, self.server.sealing_keys.newest)
        except ValueError:
            self._answer(400, _bad_request("after has to be the id of a zone"))
        except ReplicationError as exc:
            self._answer(*encode_refusal(exc, self._position()))
        else:
            self._answer(404 if message is None else 200, encode_message(message))

    def _answer_with(self, act: Callable[[], Mapping[str, Any]]) -> None:
        """Do it and answer with what it gives, or with why it was refused."""
        try:
            message = act()
        except (ReplicationError, OSError) as exc:
            error = DiskFull(path=str(exc.filename), reason=str(exc)) if isinstance(exc, OSError) else exc
            self._answer(*encode_refusal(error, self._position()))
        except Exception as exc:  # a fault of ours, which the panel shall see
            logger.exception("a request ended unexpectedly")
            self._answer(500, encode_message({"error": type(exc).__name__, "message": str(exc), "position": None}))
        else:
            self._answer(200, encode_message(message))

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

    def _refuse_unread(self, status: int, message: str) -> None:
        """Answer without reading the body, after which the connection is of no use."""
        self.close_connection = True
        self._answer(status, _bad_request(message))

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


def _take_certificate(server: AgentServer, body: bytes) -> None:
    message = decode_message(body)
    try:
        certificate, ca = str(message["certificate"]), str(message["ca"])
    except (KeyError, TypeError) as exc:
        raise BadBytes(what="certificate", reason="the message has no `certificate` and `ca`") from exc
    server.identity.install(certificate, ca)


def _take_keys(server: AgentServer, body: bytes) -> None:
    server.identity.take_keys(body)


def _take_sealing_keys(server: AgentServer, body: bytes) -> None:
    server.sealing_keys.take(body)


def _choose_computed_types(server: AgentServer, body: bytes) -> None:
    server.computed_types.choose(decode_message(body))


def _apply(server: AgentServer, body: bytes | BinaryIO, headers: Message) -> Mapping[str, Any]:
    may_defer, unproven = headers.get("Prefer") == RESPOND_ASYNC, decode_unproven(headers.get(UNPROVEN, ""))
    return server.applier.apply(body, may_defer=may_defer, unproven=unproven).to_json()


def _repair(server: AgentServer, body: bytes | BinaryIO) -> Mapping[str, Any]:
    ack, repaired = server.applier.repair(body)
    server.scanner.recheck([repaired.mark.zone_id])
    return ack.to_json() | {"words": repaired.differences, "rows": repaired.rows}


_SNAPSHOT = re.compile(re.escape(SNAPSHOTS_PATH) + r"/([0-9a-f]{32})")
_SNAPSHOT_CHUNK = re.compile(_SNAPSHOT.pattern + r"/chunks/([0-9]{1,6})")
_INSTALL = re.compile(_SNAPSHOT.pattern + r"/install")
# What is taken from memory or from disk, however large.
_PUSHES: Mapping[str, Callable[[AgentServer, bytes | BinaryIO, Message], Mapping[str, Any]]] = {
    SEGMENTS_PATH: _apply,
    REPAIRS_PATH: lambda server, body, headers: _repair(server, body),
}
# Bodies that are read at once; everything else that is put is a push.
_SMALL_PUTS: Mapping[str, Callable[[AgentServer, bytes], None]] = {
    CERTIFICATE_PATH: _take_certificate,
    KEYS_PATH: _take_keys,
    SEALING_KEYS_PATH: _take_sealing_keys,
    COMPUTED_TYPES_PATH: _choose_computed_types,
}


def _bad_request(message: str) -> bytes:
    return encode_message({"error": "BadRequest", "message": message, "position": None})
