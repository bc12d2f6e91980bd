"""HTTP client for the panel's API: JSON requests, errors with the panel's explanation, and safe retries."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO
from urllib.parse import urlencode
from uuid import uuid4

import urllib3
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError

from dnspanel import __version__
from dnspanel.cli import output
from dnspanel.cli.config import Config
from dnspanel.cli.errors import Refused, Unreachable

CONNECT_SECONDS = 10.0
READ_SECONDS = 120.0  # longer than the longest wait that a command can request
# Pauses after a broken connection, and after a 429 or 503 without a Retry-After header.
PAUSES = (0.5, 1.0, 2.0, 4.0)
LONGEST_PAUSE = 60.0
_LATER = frozenset({429, 503})
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BLOCK = 1 << 16
_AGENT = f"dnspanel/{__version__}"


class Client:
    """A client of the panel's API v2. Each write has an Idempotency-Key, so a retry does not repeat the write.

    If `is_patient` is False, no request is retried.
    """

    def __init__(self, config: Config, *, pause: Callable[[float], None] = time.sleep, is_patient: bool = True) -> None:
        self._config = config
        self._pause = pause
        self._knows_version = False
        self._pauses = PAUSES if is_patient else ()
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        self._pool = urllib3.PoolManager(timeout=timeout, retries=False)

    @property
    def url(self) -> str:
        """The URL of the panel, without a slash at the end."""
        return self._config.url

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON value at this path below `/api/v2`."""
        return self.send("GET", path, query=query)

    def items(self, path: str, **query: Any) -> Iterator[Any]:
        """Yield the items on all pages of a list."""
        while True:
            page = self.get(path, **query)
            yield from page["items"]
            if not page["next_cursor"]:
                return
            # Do not use the URL of the next page: the token must only go to the configured address.
            query["cursor"] = page["next_cursor"]

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the answer's JSON value, or None if the answer has no body.

        Raise Refused if the panel refuses the request. Raise Unreachable if it does not answer with JSON.
        """
        data = None if body is None else json.dumps(body).encode()
        content_type = {"Content-Type": "application/json"} if body is not None else {}
        try:
            return self._json(self._answer(method, path, data, query or {}, {**content_type, **(headers or {})}))
        except Refused as exc:
            exc.body = body
            raise

    def request(
        self, method: str, path: str, data: bytes | None, *, query: Mapping[str, Any], headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        """Send a request with this raw body and return the HTTP response.

        Raise Refused if the panel refuses the request, or Unreachable if it does not answer.
        """
        return self._answer(method, path, data, query, headers)

    def upload(self, path: str, chunk: bytes, *, offset: int) -> Any:
        """Upload the chunk of a file that begins at `offset`. Return the answer's JSON value."""
        headers = {"Content-Type": "application/octet-stream"}
        return self._json(self._answer("PUT", path, chunk, {"offset": offset}, headers))

    def download(self, path: str, out: BinaryIO) -> int:
        """Write the file at this path to `out`, and return its size.

        Raise Refused if the panel refuses the request, or Unreachable if it does not answer or the connection breaks.
        """
        response = self._answer("GET", path, None, {}, {"Accept": "*/*"}, stream=True)
        size = 0
        try:
            for block in response.stream(_BLOCK, decode_content=False):
                out.write(block)
                size += len(block)
        except HTTPError as exc:
            raise Unreachable(f"The download broke off after {size:,} bytes: {_describe(exc)}") from exc
        return size

    def _answer(
        self,
        method: str,
        path: str,
        data: bytes | None,
        query: Mapping[str, Any],
        headers: Mapping[str, str],
        *,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        told = {"Authorization": f"Bearer {self._config.token}", "Accept": "application/json", "User-Agent": _AGENT}
        if method in _WRITES:
            told["Idempotency-Key"] = str(uuid4())
        url = f"{self._config.url}/api/v2{path}"
        if parameters := {name: _text(value) for name, value in query.items() if value is not None}:
            url += "?" + urlencode(parameters)
        for pause in (*self._pauses, None):
            try:
                response = self._pool.request(
                    method, url, body=data, headers={**told, **headers}, preload_content=not stream, redirect=False
                )
            except (NewConnectionError, NameResolutionError) as exc:
                raise Unreachable(f"Cannot connect to {self._config.url}: {_describe(exc)}") from exc
            except HTTPError as exc:
                if pause is None:
                    raise Unreachable(f"{self._config.url} did not answer: {_describe(exc)}") from exc
            else:
                self._compare_versions(response)
                requested = _requested_pause(response, pause)
                if requested is None:
                    return self._require_success(response)
                pause = requested
            self._pause(pause)
        raise AssertionError("the last attempt either answers or raises")

    def _compare_versions(self, response: urllib3.BaseHTTPResponse) -> None:
        """Print a note, once for each client, if the panel's version differs from the command's version."""
        version = response.headers.get("Panel-Version")
        if version is None or self._knows_version:
            return
        self._knows_version = True
        if version != __version__:
            output.tell_person(
                f"Note: this command is version {__version__}, the panel is version {output.plain(version)}. "
                f"Get the one that fits: curl -O {self._config.url}/cli/dnspanel"
            )

    def _require_success(self, response: urllib3.BaseHTTPResponse) -> urllib3.BaseHTTPResponse:
        """Return a successful response. Raise Refused for the panel's errors, and Unreachable for other responses."""
        if 200 <= response.status < 300:
            return response
        if 300 <= response.status < 400:
            where = response.headers.get("Location", "elsewhere")
            raise Unreachable(f"{self._config.url} redirects to {where}. If that is the panel, use its address.")
        problem = _decode_body(response)
        if not isinstance(problem, dict) or "detail" not in problem:
            raise Unreachable(f"{self._config.url} is not a dnspanel server (HTTP {response.status}).")
        raise Refused(problem)

    def _json(self, response: urllib3.BaseHTTPResponse) -> Any:
        if not response.data:
            return None
        value = _decode_body(response)
        if value is None:
            raise Unreachable(f"{self._config.url} is not a dnspanel server: the answer is not JSON.")
        return value


def _requested_pause(response: urllib3.BaseHTTPResponse, pause: float | None) -> float | None:
    """Return the seconds to wait before sending the request again, or None if it should not be sent again.

    Only 429, 503, and 409 with Retry-After are repeated, and only after at most LONGEST_PAUSE. `pause` is the default
    wait, or None after the last attempt.
    """
    is_under_way = response.status == 409 and "Retry-After" in response.headers
    if pause is None or not (response.status in _LATER or is_under_way):
        return None
    told = response.headers.get("Retry-After", "")
    seconds = float(told) if told.isascii() and told.isdigit() and len(told) < 6 else pause
    return None if seconds > LONGEST_PAUSE else seconds


def _decode_body(response: urllib3.BaseHTTPResponse) -> Any:
    """Return the JSON value of the body, or None if the body is not JSON."""
    try:
        return json.loads(response.data)
    except ValueError:
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(exc: Exception) -> str:
    """Describe a connection error without the object representations in urllib3's messages."""
    cause = exc.__cause__ or exc.__context__ or exc
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return f"{text}".rstrip(".") + "."
