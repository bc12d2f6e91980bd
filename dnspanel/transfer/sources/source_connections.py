"""Track a source's open connections, so that another thread can abort them."""

import contextlib
import socket
import threading
from collections.abc import Sequence
from weakref import WeakSet

from dnspanel.texts import gettext
from dnspanel.transfer.allowed_servers import MOST_ADDRESSES


class Connections:
    """One source's open connections. Safe for use by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: WeakSet[socket.socket] = WeakSet()
        self._is_cut = False

    def add(self, connection: socket.socket) -> None:
        """Add a connection, which is dropped when it is no longer referenced. After `cut`, abort it immediately."""
        with self._lock:
            self._open.add(connection)
            is_cut = self._is_cut
        if is_cut:
            _end(connection)

    def cut(self) -> None:
        """Abort the open connections, and every connection that is added later."""
        with self._lock:
            self._is_cut = True
            found = list(self._open)
        for connection in found:
            _end(connection)


def connect(addresses: Sequence[str], port: int, seconds: float) -> socket.socket:
    """Connect to one of the first MOST_ADDRESSES addresses. If all attempts fail, raise the last OSError."""
    failure = OSError(gettext("no address"))
    for address in addresses[:MOST_ADDRESSES]:
        try:
            return socket.create_connection((address, port), seconds)
        except OSError as exc:
            failure = exc
    raise failure


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is already closed
        # Don't call SSLSocket's method, which would remove the TLS state while the other thread reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
