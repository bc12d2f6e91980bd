"""The logs of real processes: lines of JSON from gunicorn and Celery, with the id of the request that caused them."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo
from redis import Redis

from dnspanel.celery import app
from dnspanel.demo import unprivileged
from replication.log_lines import of_request, request_id
from tests.ports import free_port
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)

GUNICORN = (
    "--config python:dnspanel.web_server --preload --workers 1 --threads 2 --no-control-socket --log-level warning"
)
WORKER = "-A tests.alone.chatter worker -Q chatter -n chatter@x --pool threads --concurrency 1 --loglevel INFO"
LEAN = "--without-gossip --without-mingle --without-heartbeat"


@contextmanager
def running(command: list[str], log: Path, form: str) -> Iterator[Callable[[str], list[Any]]]:
    """Run the command, and yield a function that waits until a line of its log has the text and returns all lines."""
    place = connection.get_connection_params()
    database = make_conninfo(
        **{name: place[name] for name in ("host", "port", "user", "password", "dbname") if name in place}
    )
    environment = os.environ | {"PANEL_DATABASE": database, "PANEL_LOG_FORMAT": form}
    environment |= {"PANEL_REDIS_URL": settings.REDIS_URL, "PYTHONPATH": str(unprivileged.CHECKOUT)}
    with log.open("wb") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:

        def lines_with(text: str) -> list[Any]:
            until(lambda: text in log.read_text(), seconds=90, what=log.read_text)
            return log.read_text().splitlines()

        try:
            yield lines_with
        finally:
            process.terminate()


def test_a_wrong_host_is_one_line_with_its_request_id(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "dnspanel.wsgi", "--bind", f"127.0.0.1:{port}", *GUNICORN.split()]
    with running(command, tmp_path / "log", "json") as lines_with:

        def ask(head: str) -> Any:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as client:
                client.request("GET", "/sign-in/", headers={"Host": head})
                answer = client.getresponse()
                return answer.status, answer.headers["X-Request-ID"]

        until(lambda: listens(port), seconds=90, what=(tmp_path / "log").read_text)
        status, answered = ask("evil.test")
        assert status == 400
        lines = [json.loads(line) for line in lines_with("evil.test")]
    [line] = [line for line in lines if "evil.test" in line["message"]]
    assert (line["level"], line["logger"]) == ("WARNING", "django.security.DisallowedHost")
    assert line["request_id"] == answered
    assert "traceback" not in line


def listens(port: int) -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as client:
            client.connect()
    except OSError:
        return False
    return True


@pytest.fixture
def queue() -> Iterator[None]:
    with Redis.from_url(settings.REDIS_URL) as client:
        client.delete("chatter")
        request_id.set("")  # other tests of this process call the middleware without a server
        yield
        client.delete("chatter")


@pytest.mark.usefixtures("queue")
def test_a_task_has_the_id_of_the_request_that_enqueued_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "celery", *WORKER.split(), *LEAN.split()]
    with running(command, tmp_path / "log", "json") as lines_with:
        with of_request("req-7"):
            app.send_task("chatter", ("first", 2), queue="chatter")
        app.send_task("chatter", ("alone", 1), queue="chatter")
        app.send_task("stumble", queue="chatter")
        lines_with("said first 0")
        lines_with("said alone 0")
        lines = [json.loads(line) for line in lines_with("stumbled")]
    of = {line["message"]: line.get("request_id", "") for line in lines}
    assert [of[f"said first {times}"] for times in (2, 1, 0)] == ["req-7"] * 3
    alone = of["said alone 1"]
    assert len(alone) == 36
    assert of["said alone 0"] == alone
    [failed] = [line for line in lines if "stumbled" in line["message"]]
    assert failed["request_id"] in failed["message"]  # the task's own id
    assert "ValueError: stumbled" in failed["traceback"]
    assert "request_id" not in next(line for line in lines if line["message"].endswith("ready."))
