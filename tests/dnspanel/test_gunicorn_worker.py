"""Tests of the gunicorn worker: health checks while all threads are busy, and problem documents for bad requests."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.http.problems import ROOT_URL
from tests.stack import ROOT, until


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    ready = tmp_path / "port"
    hook = f"def when_ready(server):\n    open({str(ready)!r}, 'w').write(str(server.LISTENERS[0].getsockname()[1]))\n"
    (tmp_path / "conf.py").write_text(hook)
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "tests.alone.waiting_application:application",
        "--bind",
        "127.0.0.1:0",
        "--workers",
        "1",
    ]
    command += ["--worker-class", "dnspanel.gunicorn_worker.Worker", "--threads", "1", "--keep-alive", "75"]
    command += ["--config", str(tmp_path / "conf.py"), "--no-control-socket", "--graceful-timeout", "1"]
    process = subprocess.Popen([*command, "--chdir", str(tmp_path), "--pythonpath", str(ROOT)])
    try:
        until(lambda: ready.exists() and ready.read_text() != "", seconds=60, what="gunicorn to listen")
        yield int(ready.read_text())
    finally:
        process.terminate()
        process.wait(30)


def connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_health_is_answered_while_every_thread_waits(port: int) -> None:
    kept = connect(port)
    assert ask(kept, "/pages") == (200, b"/pages")
    waiting, queued = connect(port), connect(port)
    waiting.request("GET", "/wait")
    queued.request("GET", "/queued")
    for path in ("/livez", "/readyz", "/healthz", "/healthz?verbose"):
        assert ask(kept, path) == (200, path.partition("?")[0].encode())
        fresh = connect(port)
        assert ask(fresh, path, "HEAD") == (200, b"")
        fresh.close()
    other = connect(port)
    other.request("GET", "/livezone")  # another path, which waits like all others
    other.sock.settimeout(1)
    with pytest.raises(TimeoutError):
        other.getresponse()
    other.close()
    for connection in (waiting, queued, kept):
        connection.close()


def test_a_connection_that_says_nothing_yet_holds_no_thread(port: int) -> None:
    silent = connect(port)
    silent.connect()
    other = connect(port)
    assert ask(other, "/pages") == (200, b"/pages")
    assert ask(silent, "/late") == (200, b"/late")
    for connection in (silent, other):
        connection.close()


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("POST /api/v2/zones HTTP/1.1", "Content-Type: application/json", "Content-Type: text/plain"), 400),
        (("POST /api/v2/zones HTTP/1.1", "Content-Length: many"), 400),
        (("POST /api/v2/zones HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"), 400),
        (("POST /api/v2/zones HTTP/1.1", "Transfer-Encoding: brotli"), 501),
        (("GET /api/v2/zones HTTP/1.1", "Expect: a-cake"), 417),
        (("GET /api/v2/zones HTTP/1.1", f"X-Long: {'x' * 9_000}"), 431),
        ((f"GET /api/v2/zones?q={'x' * 9_000} HTTP/1.1",), 414),
        (("GET /api/v2/zones HTTP/9.9",), 400),
        (("<b>nonsense</b>",), 400),
    ],
)
def test_what_gunicorn_refuses_is_a_problem(port: int, lines: tuple[str, ...], status: int) -> None:
    """Review A13: a program that sent two Content-Type headers got an HTML page instead of a problem document."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        sock.sendall("\r\n".join([*lines, "Host: panel.test", "", ""]).encode())
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        body = answer.read()
    problem, kind = json.loads(body), PROBLEM_TYPES["malformed"]
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert (problem["status"], problem["code"], problem["type"]) == (status, kind.code, f"{ROOT_URL}/{kind.code}")
    assert (problem["title"], problem["errors"]) == (kind.title, [])
    assert problem["error"] == problem["detail"]
