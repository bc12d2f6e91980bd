"""Slow clients occupy no thread of the panel, because nginx in front of the web processes waits for them."""

import contextlib
import http.client
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from dnspanel.demo.stack import Stack
from tests.stack import make_person, run_inside

pytestmark = pytest.mark.flow

# Four times the number of the web processes' threads (48).
SLOW = 200

BEGINNINGS = {
    "half a header": b"POST /enroll/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-",
    "half a body": b'POST /enroll/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"code": "',
    "half a piece": b"POST /enroll/ HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{",
    "an answer left unread": b"GET /static/vendor/htmx.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 8,
}


@contextlib.contextmanager
def slow_clients(stack: Stack, beginning: bytes) -> Iterator[None]:
    """Open many connections that send this beginning, and then neither send nor read."""
    with contextlib.ExitStack() as clients:
        for _ in range(SLOW):
            sock = clients.enter_context(socket.socket())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(10)
            sock.connect(("127.0.0.1", stack.ports["web"]))
            sock.sendall(beginning)
        yield


# Previously 60 connections with half a body blocked all pages, because each occupied a thread without limit.
@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_pages_answer_beside_two_hundred_slow_clients(stack: Stack, beginning: bytes) -> None:
    with slow_clients(stack, beginning):
        connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", "/sign-in/")
            answer = connection.getresponse()
            assert answer.status == 200
            assert b"<form" in answer.read()


def test_a_request_has_the_address_of_its_sender_whatever_it_says_itself(stack: Stack) -> None:
    make_person(stack, "bound")
    here, elsewhere = run_inside(stack, "tokens.make_bound_tokens")
    found = []
    for secret in (here, elsewhere):
        headers = {"Authorization": f"Bearer {secret}", "X-Forwarded-For": "192.0.2.1"}
        connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", "/api/v2/me", headers=headers)
            found.append(connection.getresponse().status)
    assert found == [200, 401]
