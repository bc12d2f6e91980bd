"""Transfer zones from a PowerDNS, to check that PowerDNS can read each row of a zone.

PowerDNS reads rows for a transfer in the same way as for a query. If it cannot read a row, it closes the connection
without the final SOA. Transferring a row costs PowerDNS a fifth of the cost of a query for its name.
"""

import socket
import struct
import time
from collections.abc import Iterator
from typing import Self

from replication import stats
from replication.dns import rdtypes

_LENGTH = struct.Struct(">H")
_HEAD = struct.Struct(">HHHHHH")
_FIXED = struct.Struct(">HHIH")  # type, class, TTL, length of the rdata
_AXFR_IN = b"\0\xfc\0\1"


class Transfers:
    """A client that transfers zones over one connection until a transfer fails. PowerDNS can refuse transfers."""

    def __init__(self, address: str, port: int, *, seconds: float) -> None:
        self._address, self._port, self._seconds = address, port, seconds
        self._socket: socket.socket | None = None
        self._has_failed = False
        self._id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def is_complete(self, zone_wire: bytes) -> bool:
        """Transfer this zone (in wire form). Return True if it arrives completely and in time.

        True means that all rows are readable. False doesn't mean that a row is unreadable. After the first False, no
        further transfer is attempted.
        """
        if self._has_failed:
            return False
        try:
            self._has_failed = not self._is_complete(zone_wire)
        except (OSError, EOFError, struct.error, IndexError):
            self._has_failed = True
        return not self._has_failed

    def _is_complete(self, zone_wire: bytes) -> bool:
        deadline = time.monotonic() + self._seconds
        if self._socket is None:
            self._socket = socket.create_connection((self._address, self._port), timeout=self._seconds)
        self._id = (self._id + 1) & 0xFFFF
        question = _HEAD.pack(self._id, 0, 1, 0, 0, 0) + zone_wire + _AXFR_IN
        stats.OWN_QUESTIONS.add()
        self._socket.sendall(_LENGTH.pack(len(question)) + question)
        soas = 0
        for message in _messages(self._socket, deadline):
            id_, flags, questions, answers, _, _ = _HEAD.unpack_from(message)
            if id_ != self._id or flags & 0x000F:
                return False
            soas += sum(type == rdtypes.SOA for type in _types(message, questions, answers))
            if soas == 2:  # the first record and the last one
                return True
        return False


def _types(message: bytes, questions: int, answers: int) -> Iterator[int]:
    at = _HEAD.size
    for _ in range(questions):
        at = _behind_name(message, at) + 4
    for _ in range(answers):
        at = _behind_name(message, at)
        type, _, _, length = _FIXED.unpack_from(message, at)
        at += _FIXED.size + length
        yield type


def _behind_name(message: bytes, at: int) -> int:
    """Return the offset after a name, which ends with a root label or with a pointer."""
    while True:
        length = message[at]
        if length >= 0xC0:
            return at + 2
        at += length + 1
        if not length:
            return at


def _messages(sock: socket.socket, deadline: float) -> Iterator[bytes]:
    """Yield messages received on a connection. Raise EOFError when it ends, and TimeoutError at the deadline."""
    waiting = bytearray()
    while True:
        while len(waiting) < 2 or len(waiting) < 2 + _LENGTH.unpack_from(waiting)[0]:
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            received = sock.recv(1 << 16)
            if not received:
                raise EOFError
            waiting += received
        end = 2 + _LENGTH.unpack_from(waiting)[0]
        yield bytes(waiting[2:end])
        del waiting[:end]
