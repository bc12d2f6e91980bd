"""Limit unauthenticated connections, in total and per network, while still accepting every new connection.

If a limit is reached, a new client replaces the client that has waited longest. A flood therefore harms waiting
clients, but never the panel. The panel's handshake takes milliseconds, and connections from networks that have
authenticated before are closed last.
"""

import contextlib
import socket
import threading
from ipaddress import IPv6Address, ip_address, ip_network

MOST = 32
OF_ONE_NETWORK = 4
# For addresses that have authenticated before: the panel, and others behind the panel's address.
OF_KNOWN_NETWORK = 16
MOST_KNOWN = 8


class Strangers:
    """The connections that haven't authenticated yet. Threads share this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, str] = {}  # the network of each; the oldest is first
        self._known: dict[str, None] = {}  # networks; the most recent is last

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, connection: socket.socket, address: str) -> None:
        """Add a waiting connection.

        If this exceeds a limit, close the oldest waiting connection from the same network, or from any network (known
        ones last).
        """
        network = network_of(address)
        with self._lock:
            cut = self._too_many(network)
            if cut is not None:
                del self._waiting[cut]
            self._waiting[connection] = network
        if cut is not None:
            with contextlib.suppress(OSError):  # it is closed already
                # Not `SSLSocket.shutdown`, which would remove the TLS state while another thread uses it.
                socket.socket.shutdown(cut, socket.SHUT_RDWR)

    def remove(self, connection: socket.socket, *, known: bool = False) -> None:
        """Remove a connection. If it has authenticated (`known`), remember its network."""
        with self._lock:
            network = self._waiting.pop(connection, None)
            if known and network is not None:
                self._known.pop(network, None)
                self._known[network] = None
                if len(self._known) > MOST_KNOWN:
                    del self._known[next(iter(self._known))]

    def _too_many(self, network: str) -> socket.socket | None:
        """Return the connection to close before a connection from this network is added, or None if there is room."""
        of_network = OF_KNOWN_NETWORK if network in self._known else OF_ONE_NETWORK
        same = [connection for connection, its in self._waiting.items() if its == network]
        if len(same) >= of_network:
            return same[0]
        if len(self._waiting) < MOST:
            return None
        strangers = (connection for connection, its in self._waiting.items() if its not in self._known)
        return next(strangers, next(iter(self._waiting)))


def network_of(address: str) -> str:
    """Return the network that one machine can control: an IPv4 address, or the /64 of an IPv6 address."""
    parsed = ip_address(address.partition("%")[0])
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    # The form of IPv4 on a socket for both protocols; the /64 of such an address would be all of IPv4.
    return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
