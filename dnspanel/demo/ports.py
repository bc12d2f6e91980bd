"""Choose the TCP and UDP ports of a stack once, and store them in its stack.json."""

import contextlib
import random
import socket
import time
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"
# Below Linux's ephemeral range, so that no outgoing connection uses one of the ports between two starts.
RANGE = range(20000, 32000)
# Not the seeded generator, because two simultaneous test runs would choose the same ports.
_CHANCE = random.SystemRandom()


class PortTaken(Exception):
    """Raised if another program listens on a port that the stack needs."""

    def __init__(self, port: int, purpose: str, *, instead: str) -> None:
        self.port = port
        super().__init__(f"Port {port} ({purpose}) is in use by another program; {instead}.")


def is_free(port: int) -> bool:
    """Return True if the port is currently free on loopback, for TCP and for UDP."""
    with contextlib.ExitStack() as sockets:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            sock = sockets.enter_context(socket.socket(socket.AF_INET, kind))
            if kind == socket.SOCK_STREAM:
                # Connections in TIME_WAIT don't matter, because the servers bind with this option too.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((LOOPBACK, port))
            except OSError:
                return False
    return True


def choose(*, taken: set[int], preferred: int | None = None, among: Sequence[int] = RANGE) -> int:
    """Return a free port that isn't in `taken`: `preferred` if possible, otherwise a random port from `among`."""
    if preferred is not None and preferred not in taken and is_free(preferred):
        return preferred
    while True:
        port = _CHANCE.choice(among)
        if port not in taken and is_free(port):
            return port


def wait_until_free(port: int, *, seconds: float) -> bool:
    """Return True as soon as the port is free, or False after `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_free(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
