"""POST to an untrusted receiver: to a checked address, without redirects, limited in time and memory."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from dnspanel.texts import gettext
from dnspanel.webhooks.address_guard import Resolve, Target, checked_addresses, parse_target
from dnspanel.webhooks.errors import NoAnswer

CONNECT_SECONDS = 5.0
# The time limit for the whole answer, even if it arrives slowly.
ANSWER_SECONDS = 10.0
MOST_ANSWER_BYTES = 4096
_MOST_ADDRESSES = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: status, beginning of the body as text, total time, and the seconds of the Retry-After header."""

    status: int
    text: str
    ms: float
    retry_after: int | None = None
    body: bytes = b""  # not decoded, cut after MOST_ANSWER_BYTES
    headers: Mapping[str, str] = field(default_factory=dict)


Post = Callable[[str, Mapping[str, str], bytes], Answer]  # URL, headers, body


def post(  # noqa: PLR0913  # the request, and its network limits
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    resolve: Resolve | None = None,
    seconds: float | None = None,
    networks: str = "OUTBOUND_NETWORKS",
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Send the body to a checked address of the URL's host. Wait at most `seconds` (default ANSWER_SECONDS).

    Connecting takes up to CONNECT_SECONDS more for each of the host's first addresses. `networks` names the setting
    with allowed private networks. `tls` replaces the system's TLS context. Return an Answer for any status. Raise
    AddressRefused if the URL or an address isn't allowed, and NoAnswer if no HTTP response arrives.
    """
    begun = time.monotonic()
    seconds = ANSWER_SECONDS if seconds is None else seconds
    target = parse_target(url)
    addresses = checked_addresses(target, resolve=resolve, networks=networks)
    connection = _connect_first(target, addresses[:_MOST_ADDRESSES], tls or _tls())
    try:
        with _cut_after(connection, seconds):
            response = _request(connection, target, headers, body, seconds)
            beginning = _beginning(response)
    finally:
        connection.close()
    ms = (time.monotonic() - begun) * 1000
    text = beginning.decode("utf-8", "replace").replace("\0", "")
    wait = _seconds(response.headers.get("Retry-After", ""))
    return Answer(response.status, text, ms, wait, beginning, response.headers)


def _connect_first(target: Target, addresses: list[str], tls: ssl.SSLContext) -> HTTPConnection:
    """Connect to the first address that accepts a connection. Raise NoAnswer if none of them does."""
    failure: Exception | None = None
    for address in addresses:
        connection = _connection(target, address, tls)
        try:
            connection.connect()
            return connection
        except (HTTPError, OSError, ValueError) as exc:
            connection.close()
            failure = exc
    raise NoAnswer(
        gettext("Couldn’t connect to {host}, port {port}: {failure}").format(
            host=target.host, port=target.port, failure=_describe(failure)
        )
    ) from failure


def _connection(target: Target, address: str, tls: ssl.SSLContext) -> HTTPConnection:
    """Return a connection to the address, not opened yet. TLS and HTTP use the host's name."""
    if target.scheme == "http":
        return HTTPConnection(address, target.port, timeout=CONNECT_SECONDS)
    return HTTPSConnection(address, target.port, timeout=CONNECT_SECONDS, ssl_context=tls, server_hostname=target.host)


@cache
def _tls() -> ssl.SSLContext:
    """Return a TLS context with the certificate authorities in SSL_CERT_FILE, or else the system's authorities."""
    return ssl.create_default_context()


def _request(
    connection: HTTPConnection, target: Target, headers: Mapping[str, str], body: bytes, seconds: float
) -> BaseHTTPResponse:
    own = {"Host": target.host_header, "User-Agent": "dnspanel", "Accept-Encoding": "identity", "Connection": "close"}
    connection.timeout = seconds
    try:
        connection.request("POST", target.path, body, {**own, **headers}, preload_content=False, decode_content=False)
        return connection.getresponse()
    except (HTTPError, OSError, http.client.HTTPException, ValueError) as exc:
        raise NoAnswer(
            gettext("No HTTP response from {host} within {seconds:g} s: {exc}").format(
                host=target.host, seconds=seconds, exc=_describe(exc)
            )
        ) from exc


def _beginning(response: BaseHTTPResponse) -> bytes:
    """Read the beginning of the body. Ignore read errors, because the status is already known."""
    with suppress(HTTPError, OSError, http.client.HTTPException, ValueError):
        return response.read(MOST_ANSWER_BYTES, decode_content=False)
    return b""


@contextmanager
def _cut_after(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    """Shut the connection down after `seconds`. A socket timeout isn't enough, because every byte restarts it."""

    receiver = connection.sock  # the connection drops this reference once the answer has begun

    def cut() -> None:
        with suppress(OSError):
            receiver.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _seconds(retry_after: str) -> int | None:
    """Return the seconds in a Retry-After header, or None if the header is missing or contains a date."""
    text = retry_after.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _describe(exc: Exception | None) -> str:
    """Describe the error's cause, without the objects that urllib3 prints."""
    cause = exc.__cause__ or exc.__context__ or exc if exc else exc
    if isinstance(cause, ssl.SSLCertVerificationError):
        return gettext("the certificate isn’t valid: {reason}.").format(reason=cause.verify_message.rstrip("."))
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return f"{text}".rstrip(".") + "."
