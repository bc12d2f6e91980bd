"""PowerDNS's HTTP API on loopback, as far as an agent uses it: statistics, and new zones for the list in memory.

HTTP is spoken here, in the few lines that this server needs: each second there is a request, and `http.client` took a
third of what an idle agent needed, most of it for headers that nobody reads.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from replication.errors import NotServed

_SERVER = "/api/v1/servers/localhost"
_LONGEST_LINE = 1 << 13
_MOST_HEADERS = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of an answer, and its body, which ends with the connection."""

    status: int
    body: BinaryIO


class PdnsApi:
    """One PowerDNS's API. Each request has a connection of its own, as PowerDNS closes them (webserver.cc)."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key

    @property
    def has_key(self) -> bool:
        """Whether there is a key; without one PowerDNS has no API."""
        return bool(self._key)

    @contextmanager
    def request(self, method: str, path: str, *, question: str, seconds: float) -> Iterator[Answer]:
        """The answer to a request without a body; the block reads from it.

        Raises NotServed, in which `question` says what was asked for, if the connection breaks, what comes is not HTTP,
        or a piece of it takes longer than `seconds`.
        """
        head = f"{method} {_SERVER}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n"
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
                connection.settimeout(seconds)
                connection.connect(("127.0.0.1", self._port))
                connection.sendall(f"{head}X-API-Key: {self._key}\r\n\r\n".encode("latin-1"))
                with connection.makefile("rb") as answer:
                    yield Answer(_status_of(answer, question), answer)
        except OSError as exc:
            raise NotServed(question=question, expected="an answer", found=str(exc)) from exc


def _status_of(answer: BinaryIO, question: str) -> int:
    """The status; the headers are read, too, and the body comes next. Raises NotServed."""
    first = answer.readline(_LONGEST_LINE)
    version, _, rest = first.partition(b" ")
    for _ in range(_MOST_HEADERS):
        if version.startswith(b"HTTP/1.") and rest[:3].isdigit() and answer.readline(_LONGEST_LINE) in (b"\r\n", b"\n"):
            return int(rest[:3])
    raise NotServed(question=question, expected="an answer", found=f"{first[:40]!r}")


def refuse_other_status(answer: Answer, *, question: str) -> None:
    """Raise NotServed unless the status is 200."""
    if answer.status != 200:
        raise NotServed(question=question, expected="status 200", found=f"status {answer.status}")
