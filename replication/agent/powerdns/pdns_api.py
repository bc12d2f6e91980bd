"""Client for the part of PowerDNS's HTTP API on loopback that an agent uses: statistics and new zones."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from replication.errors import NotServed

_SERVER = "/api/v1/servers/localhost"


class PdnsApi:
    """The HTTP API of one PowerDNS. Each request uses its own connection, because PowerDNS closes it afterwards."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key

    @property
    def has_key(self) -> bool:
        """True if there is an API key. Without a key, PowerDNS doesn't provide the API."""
        return bool(self._key)

    @contextmanager
    def request(self, method: str, path: str, *, question: str, seconds: float) -> Iterator[http.client.HTTPConnection]:
        """Send a request and yield its connection. The caller reads the response inside the `with` block.

        Raise NotServed if the connection breaks or takes too long. `question` names the request in the error.
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
    """Raise NotServed unless the response status is 200."""
    if response.status != 200:
        raise NotServed(question=question, expected="status 200", found=f"status {response.status}")
