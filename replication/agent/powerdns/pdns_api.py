"""PowerDNS's HTTP API on loopback, as far as an agent uses it: statistics, and new zones for the list in memory."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from replication.errors import NotServed

_SERVER = "/api/v1/servers/localhost"


class PdnsApi:
    """One PowerDNS's API. Each request has a connection of its own, as PowerDNS closes them."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key

    @property
    def has_key(self) -> bool:
        """Whether there is a key; without one PowerDNS has no API."""
        return bool(self._key)

    @contextmanager
    def request(self, method: str, path: str, *, question: str, seconds: float) -> Iterator[http.client.HTTPConnection]:
        """Send a request and yield its connection; the block reads the answer from it.

        Raise NotServed, in which `question` names the request, if the connection breaks or takes too long.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=seconds)
        try:
            connection.request(method, f"{_SERVER}{path}", headers={"X-API-Key": self._key, "Connection": "close"})
            yield connection
        except (OSError, http.client.HTTPException) as exc:
            raise NotServed(question=question, expected="an answer", found=str(exc)) from exc
        finally:
            connection.close()


def refuse_other_status(response: http.client.HTTPResponse, *, question: str) -> None:
    """Raise NotServed unless the status is 200."""
    if response.status != 200:
        raise NotServed(question=question, expected="status 200", found=f"status {response.status}")
