"""Gunicorn worker for the web processes: a thread pool, plus two threads for health checks.

If PostgreSQL or the nodes hang, all threads of a web process can be blocked at once. If health checks waited for those
threads, a supervisor would kill a healthy process, or a load balancer would remove a busy panel. Separate threads
therefore handle health requests, which are recognized by their first bytes.

If gunicorn refuses a request before the panel sees it, the worker answers in the format of the APIs (`malformed`). Such
requests come from programs and not from browsers.
"""

import json
import selectors
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.http import errors  # type: ignore[import-untyped]
from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

HEALTH_PATHS = ("/livez", "/readyz", "/healthz")
_THREADS = 2
_STARTS = tuple(f"{method} {path}{end}".encode() for method in ("GET", "HEAD") for path in HEALTH_PATHS for end in " ?")
_LONGEST = max(map(len, _STARTS))
# The errors of gunicorn and gunicorn's own status for each. The first matching class counts.
_REFUSED: tuple[tuple[type[Exception], int, str], ...] = (
    (errors.LimitRequestLine, 414, "URI Too Long"),
    (errors.LimitRequestHeaders, 431, "Request Header Fields Too Large"),
    (errors.ExpectationFailed, 417, "Expectation Failed"),
    (errors.UnsupportedTransferCoding, 501, "Not Implemented"),
    (errors.ParseException, 400, "Bad Request"),
)
_NOT_REFUSED = (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName, errors.ConfigurationProblem)
_LONGEST_DETAIL = 300


class Worker(ThreadWorker):  # type: ignore[misc]
    """A `gthread` worker with two additional threads for health checks."""

    def init_process(self) -> None:
        """Start the thread pool for health checks in the forked process, before the first request."""
        self._health_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="health")
        super().init_process()

    def enqueue_req(self, conn: TConn) -> None:
        """Pass the connection to a thread, or to a health-check thread if it requests a health path.

        A connection without a request waits in the poller, because its path is still unknown.
        """
        first = _first_bytes(conn)
        if first is None:
            conn.timeout = time.monotonic() + self.cfg.keepalive
            self.pending_conns.append(conn)
            conn.sock.setblocking(False)  # noqa: FBT003  # takes no keywords
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))
            return
        pool = self._health_pool if first.startswith(_STARTS) else self.tpool
        pool.submit(self.handle, conn).add_done_callback(partial(self._finish, conn))

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer an unreadable request with a problem document. Pass other errors on to gunicorn."""
        found = next(((status, reason) for kind, status, reason in _REFUSED if isinstance(exc, kind)), None)
        if found is None or isinstance(exc, _NOT_REFUSED):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("Invalid request from ip=%s: %s", addr[0] if addr else "", exc)
        with suppress(OSError):  # the client has disconnected
            util.write_nonblock(client, _problem(*found, str(exc)))

    def _finish(self, conn: TConn, future: Any) -> None:
        self.method_queue.defer(self.finish_request, conn, future)


def _problem(status: int, reason: str, fault: str) -> bytes:
    """Return a complete HTTP response in the format of `api.v2.http.problems`, with `error` for clients of API v1."""
    detail = f"The request is not valid HTTP: {fault[:_LONGEST_DETAIL]}"
    problem = {
        "type": "/api/v2/problems/malformed",
        "title": "The request cannot be read",
        "status": status,
        "detail": detail,
        "code": "malformed",
        "errors": [],
        "error": detail,
    }
    body = json.dumps(problem).encode()
    head = f"HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n"
    return f"{head}Cache-Control: no-store\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _first_bytes(conn: TConn) -> bytes | None:
    """Peek at the request's first bytes. Return None if nothing has arrived, or b"" if the connection is closed."""
    if conn.initialized and (buffered := conn.parser.unreader.buf.getvalue()):
        return bytes(buffered[:_LONGEST])
    if not isinstance(conn.sock, socket.socket):  # pragma: no cover
        return b""
    try:
        return conn.sock.recv(_LONGEST, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # the next read finds the error and closes the connection
