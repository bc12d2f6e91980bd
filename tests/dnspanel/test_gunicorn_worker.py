"""That questions about health are answered while all threads of a web process wait."""

import http.client
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import ROOT, until

APPLICATION = """
import threading

goes_on = threading.Event()

def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/wait":
        goes_on.wait(60)
    elif path == "/go-on":
        goes_on.set()
    start_response("200 OK", [("Content-Length", str(len(path)))])
    return [path.encode()]
"""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "held.py").write_text(APPLICATION)
    ready = tmp_path / "port"
    hook = f"def when_ready(server):\n    open({str(ready)!r}, 'w').write(str(server.LISTENERS[0].getsockname()[1]))\n"
    (tmp_path / "conf.py").write_text(hook)
    command = [sys.executable, "-m", "gunicorn", "held:application", "--bind", "127.0.0.1:0", "--workers", "1"]
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
    other.request("GET", "/livezone")  # which is another path, and waits with the others
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
