"""The runner of the command line in the test's process. Its requests go to the panel in the same process.

A new process takes longer than any command. `run_process` starts one for tests that need it: signals, pipes,
simultaneous commands, and the end of a command.
"""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
import urllib3
from django.db import connection
from django.test import Client

from dnspanel.cli.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
LONGEST_SECONDS = 60
_request_by_http = urllib3.PoolManager.request
# Exceptions that ended a worker of the current test.
_faults: list[BaseException] = []


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_command(*args: str, environment: Mapping[str, str], home: Path, input: str | None = None) -> Ran:
    """Run `dnspanel` in this process with exactly this environment.

    Fail the test if the command runs for too long, or if a worker of `work_on` ended with an exception.
    """
    out, err = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.dict(os.environ, _environ(environment, home), clear=True),
        mock.patch.object(sys, "argv", ["dnspanel", *args]),
        _stream("stdin", io.BytesIO((input or "").encode()), errors="surrogateescape"),
        _stream("stdout", out, errors="surrogateescape"),
        _stream("stderr", err, errors="backslashreplace"),
        _time_limit(),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    assert isinstance(ended.value.code, int)
    return Ran(ended.value.code, out.getvalue().decode(), err.getvalue().decode())


def run_process(*args: str, environment: Mapping[str, str], home: Path, input: str | None = None) -> Ran:
    """Run `dnspanel` in a new process with exactly this environment."""
    environ = {"PYTHONPATH": str(ROOT), **_environ(environment, home)}
    command = [sys.executable, "-W", "error", "-m", "dnspanel.cli", *args]
    done = subprocess.run(
        command, env=environ, input=input, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@contextmanager
def panel_in_process(url: str) -> Iterator[None]:
    """Send the command line's requests for this URL to the panel in this process, without a connection.

    Other threads' requests go to the server at this URL, because they can't use the database session of the test.
    """
    panel = urlsplit(url)
    client = Client()

    def request(
        pool: urllib3.PoolManager,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> urllib3.BaseHTTPResponse:
        target = urlsplit(url)
        if target[:2] != panel[:2] or current_thread() is not main_thread():
            return _request_by_http(pool, method, url, body=body, headers=headers, **options)
        _refuse_to_wait()
        sent = {"Accept-Encoding": "identity", **(headers or {}), "Host": panel.netloc}
        answer = client.generic(method, f"{target.path}?{target.query}", body or b"", "", headers=sent)
        return urllib3.HTTPResponse(
            body=io.BytesIO(b"".join(answer) if answer.streaming else answer.content),
            headers=dict(answer.headers),
            status=answer.status_code,
            preload_content=options["preload_content"],
        )

    with mock.patch.object(urllib3.PoolManager, "request", request):
        yield


def work_on(unfinished: Callable[[], Iterable[Any]], work: Callable[[Any], object]) -> Iterator[None]:
    """Do queued work until the test ends, as a Celery worker would.

    If the work raises an exception, fail the test at the command's next request: a command would ask forever. A signal
    could interrupt a query, and the tests after it could not use the database session.
    """
    ended = Event()

    def work_until_the_end() -> None:
        try:
            while not ended.wait(0.05):
                for number in unfinished():
                    work(number)
        except BaseException as fault:
            _faults.append(fault)
        finally:
            connection.close()

    thread = Thread(target=work_until_the_end, daemon=True)
    try:
        thread.start()
        yield
        ended.set()
        thread.join(LONGEST_SECONDS)
        assert not thread.is_alive(), f"the worker works on the same for more than {LONGEST_SECONDS} s"
        _refuse_to_wait()  # the work may fail after the last request
    finally:
        ended.set()
        _faults.clear()


def _environ(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), **environment}


@contextmanager
def _stream(name: str, content: io.BytesIO, *, errors: str) -> Iterator[None]:
    """Replace a standard stream by these bytes."""
    stream = io.TextIOWrapper(content, encoding="utf-8", errors=errors)
    with mock.patch.object(sys, name, stream):
        yield
    # Without the wrapper, `content` stays open and can be read.
    stream.detach()


@contextmanager
def _time_limit() -> Iterator[None]:
    """Fail the test if the block takes too long."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(*_: object) -> None:
    """Fail the test, with an exception that neither the command line nor the panel catches."""
    raise pytest.fail.Exception(f"The command ran for more than {LONGEST_SECONDS} s")


def _refuse_to_wait() -> None:
    """Fail the test if a worker ended with an exception."""
    if _faults:
        raise pytest.fail.Exception(f"The worker ended with {_faults[0]!r}") from _faults[0]
