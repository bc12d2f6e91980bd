"""The gunicorn worker of the web processes: threads, and two more for questions about health.

All threads of a web process can wait at once, for a PostgreSQL that hangs or for nodes. Whoever asks then whether the
process lives must not wait behind them, or a supervisor kills a process that is well, and a load balancer takes out a
panel that is only busy. So requests for these paths go to threads of their own, known by the first bytes that arrived.
"""

import selectors
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

HEALTH_PATHS = ("/livez", "/readyz", "/healthz")
_THREADS = 2
_STARTS = tuple(f"{method} {path}{end}".encode() for method in ("GET", "HEAD") for path in HEALTH_PATHS for end in " ?")
_LONGEST = max(map(len, _STARTS))


class Worker(ThreadWorker):  # type: ignore[misc]
    """`gthread`, with two threads that only answer questions about health."""

    def init_process(self) -> None:
        """Start the two threads' pool in the process that was forked, before any request."""
        self._health_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="health")
        super().init_process()

    def enqueue_req(self, conn: TConn) -> None:
        """Give the connection to a thread: to one for health if that is what it asks for.

        A connection whose request has not arrived waits with the poller, since it does not show yet what it asks.
        """
        first = _first_bytes(conn)
        if first is None:
            conn.timeout = time.monotonic() + self.cfg.keepalive
            self.pending_conns.append(conn)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))
            return
        pool = self._health_pool if first.startswith(_STARTS) else self.tpool
        pool.submit(self.handle, conn).add_done_callback(partial(self._finish, conn))

    def _finish(self, conn: TConn, future: Any) -> None:
        self.method_queue.defer(self.finish_request, conn, future)


def _first_bytes(conn: TConn) -> bytes | None:
    """Return how the request begins, and leave it where it is; None if nothing has arrived."""
    if conn.initialized and (buffered := conn.parser.unreader.buf.getvalue()):
        return bytes(buffered[:_LONGEST])
    if not isinstance(conn.sock, socket.socket):  # pragma: no cover
        return b""
    try:
        return conn.sock.recv(_LONGEST, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # the next read finds out, and closes it
