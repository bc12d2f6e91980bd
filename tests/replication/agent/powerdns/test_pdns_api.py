"""Requests to PowerDNS's API: their contents, and the errors for invalid answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from replication.agent.powerdns.pdns_api import PdnsApi
from replication.errors import NotServed
from tests.ports import free_port


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Yield a port that sends `answer` to one connection, and the list of requests received there."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                requests.append(connection.recv(4096))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], requests
        thread.join()


def test_a_request_has_the_key_and_its_answer_a_status_and_a_body() -> None:
    complete = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\n[1]"
    with (
        answering(complete) as (port, requests),
        PdnsApi(port, "key").request("PUT", "/x?y=1", question="x", seconds=5) as connection,
    ):
        answer = connection.getresponse()
        assert (answer.status, answer.read(10)) == (200, b"[1]")
    lines = requests[0].decode().split("\r\n")
    assert lines[0] == "PUT /api/v1/servers/localhost/x?y=1 HTTP/1.1"
    assert {"X-API-Key: key", "Connection: close", "Content-Length: 0"} <= {*lines}


@pytest.mark.parametrize(
    "answer",
    [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 2", b"HTTP/1.1 2x0 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200],
)
def test_what_is_no_answer_is_told(answer: bytes) -> None:
    with (
        answering(answer) as (port, _),
        pytest.raises(NotServed, match="wrong answer for x"),
        PdnsApi(port, "key").request("GET", "/", question="x", seconds=5) as connection,
    ):
        connection.getresponse()


def test_nobody_there_and_nobody_who_answers_are_told() -> None:
    with (
        pytest.raises(NotServed, match="refused"),
        PdnsApi(free_port(), "k").request("GET", "/", question="x", seconds=5),
    ):
        pass
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(NotServed, match="timed out"),
        PdnsApi(silent.getsockname()[1], "k").request("GET", "/", question="x", seconds=0.05) as connection,
    ):
        connection.getresponse()
