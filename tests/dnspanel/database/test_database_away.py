"""Errors that mean that PostgreSQL is unavailable, the answers of all interfaces to them, and their line in the log.

Tests `api.database_away`, `frame.database_away` and `dnspanel.server_errors`, too.
"""

import json
import logging
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from celery import shared_task
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from dnspanel.database import database_away
from dnspanel.database.base import CommitInDoubt, DatabaseWrapper
from dnspanel.database.database_away import Notes, Outage, WritesMiddleware, is_away, sentence
from dnspanel.fleet.nodes.heartbeats import beat
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

AWAY = OperationalError('connection to server at "10.1.2.3", port 5432 failed: Connection refused\n\tIs it running?')


def of_django(kind: type[Exception], cause: psycopg.Error) -> Exception:
    """Return a psycopg error wrapped as Django does it."""
    error = kind(*cause.args)
    error.__cause__ = cause
    return error


def after(cause: BaseException) -> TransactionManagementError:
    """Return Django's error for a statement after a failed one in the same transaction."""
    error = TransactionManagementError("An error occurred in the current transaction.")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (AWAY, True),
        (InterfaceError("connection already closed"), True),
        (psycopg.OperationalError("the connection is lost"), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (of_django(OperationalError, psycopg.errors.TooManyConnections("too many clients")), True),
        (of_django(OperationalError, psycopg.errors.CannotConnectNow("the database system is starting up")), True),
        (of_django(OperationalError, psycopg.errors.AdminShutdown("terminating connection")), True),
        (of_django(OperationalError, psycopg.errors.QueryCanceled("statement timeout")), True),
        (of_django(OperationalError, psycopg.errors.DiskFull("could not extend file")), True),
        (of_django(InternalError, psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT")), True),
        (of_django(InternalError, psycopg.errors.IdleInTransactionSessionTimeout("idle")), True),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT"), True),
        (CommitInDoubt("the connection is lost"), True),
        (after(AWAY), True),
        (after(of_django(ProgrammingError, psycopg.errors.UndefinedTable("no such table"))), False),
        (of_django(InternalError, psycopg.errors.InFailedSqlTransaction("aborted")), False),
        (of_django(OperationalError, psycopg.errors.ProgramLimitExceeded("index row too large")), False),
        (of_django(ProgrammingError, psycopg.errors.UndefinedTable("no such table")), False),
        (ValueError("no"), False),
        (None, False),
    ],
    ids=str,
)
def test_which_errors_mean_that_postgresql_is_away(exc: BaseException | None, expected: bool) -> None:
    assert is_away(exc) is expected


def test_a_read_only_server_is_met_as_such() -> None:
    """PostgreSQL reports it, as a replica does after a failover."""
    with pytest.raises(InternalError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY; DELETE FROM fleet_heartbeat")
    assert is_away(caught.value)
    assert "read-only" in sentence(caught.value)


def test_nothing_of_the_servers_message_is_told() -> None:
    assert "10.1.2.3" not in sentence(AWAY)
    assert "Check whether it was saved" in sentence(CommitInDoubt("connection lost"))


@pytest.fixture(autouse=True)
def no_write() -> None:
    """Forget this thread's earlier writes, so that commits of previous tests don't count."""
    database_away.begin_read()


FACES = {
    "/sign-in/": {"Accept": "text/html"},
    "/account/here/": {"Accept": "application/json"},
    "/frame/fleet/": {"HX-Request": "true"},
    "/api/v1/servers/localhost/zones": {"X-API-Key": "dnsp_somebodys"},
    "/api/v2/zones": {"Authorization": "Bearer dnsp_somebodys"},
    "/scim/v2/Users": {"Authorization": "Bearer dnsp_somebodys"},
    "/nic/update?hostname=a.test": {"Authorization": "Basic eDpkbnNwX3NvbWVib2R5cw=="},
    "/metrics": {"Authorization": "Bearer dnsp_somebodys"},
}


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget recent log lines."""
    monkeypatch.setattr(database_away, "_notes", Notes())


@pytest.fixture
def nobody_answers(monkeypatch: pytest.MonkeyPatch, notes: None) -> None:
    """Make all new connections fail as if PostgreSQL were unavailable."""

    def fails(wrapper: DatabaseWrapper, *args: Any) -> Any:
        raise AWAY

    connection.close()
    monkeypatch.setattr(DatabaseWrapper, "get_new_connection", fails)
    monkeypatch.setattr("dnspanel.monitoring.view.ready", dict)


def answer_of(path: str, method: str = "get", **headers: str) -> Any:
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "somebodys"
    return getattr(client, method)(path, headers=headers)


@pytest.mark.usefixtures("nobody_answers")
@pytest.mark.parametrize("path", FACES)
def test_every_face_answers_503_in_its_own_form(path: str, caplog: pytest.LogCaptureFixture) -> None:
    answer = answer_of(path, **FACES[path])
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    text, told = answer.content.decode(), "The database isn’t responding"
    match path.split("/")[1:3]:
        case ["nic", _]:
            assert text == "911\n"
        case ["scim", _]:
            body = json.loads(text)
            assert (body["status"], body["schemas"]) == ("503", ["urn:ietf:params:scim:api:messages:2.0:Error"])
        case ["api", "v2"]:
            body = json.loads(text)
            assert answer["Content-Type"] == "application/problem+json"
            assert (body["code"], "in_doubt" in body) == ("unavailable", False)
        case ["api", "v1"] | ["account", _]:
            assert json.loads(text)["error"].startswith(told)
        case ["sign-in", _]:
            assert f"<h1>\n          \n            {told}" in text or told in text
            assert answer["Content-Type"].startswith("text/html")
        case _:
            assert text.startswith(told)
            assert answer["Content-Type"].startswith("text/plain")
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.name for record in lines] == ["dnspanel.database.database_away"], caplog.text
    assert "Traceback" not in caplog.text
    assert lines[0].getMessage().endswith("failed: Connection refused")


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("path", FACES)
def test_every_face_answers_507_if_the_disk_of_postgresql_is_full(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL itself reports the SQLSTATE."""

    def fails(wrapper: DatabaseWrapper, *args: Any) -> Any:
        with psycopg.connect(**parameters) as full:
            full.execute("DO $$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END $$")

    parameters = connection.get_connection_params()
    connection.close()
    monkeypatch.setattr(DatabaseWrapper, "get_new_connection", fails)
    monkeypatch.setattr("dnspanel.monitoring.view.ready", dict)
    answer = answer_of(path, **FACES[path])
    assert (answer.status_code, answer["Retry-After"]) == (507, "5")
    text = answer.content.decode()
    assert "disk of the panel is full" in text or text == "911\n" or "The disk is full" in text
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        f"a disk is full: GET {path.partition('?')[0]}: could not extend file"
    ]


@pytest.mark.usefixtures("nobody_answers")
def test_a_thousand_requests_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        answer_of("/api/v2/zones", **FACES["/api/v2/zones"])
    assert caplog.text.count("PostgreSQL is away") == 1


def test_the_next_line_counts_those_that_were_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    notes = Notes(lambda: now)
    for _ in range(4):
        notes.note("GET /", AWAY)
    now = database_away.LOG_EVERY
    notes.note("GET /zones/", CommitInDoubt("lost"))
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("PostgreSQL is away: GET /: connection to server")
    assert second == "in doubt: GET /zones/: lost; 3 others since the last such line"


@pytest.mark.usefixtures("notes")
def test_what_fails_past_the_view_is_answered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, the session is saved after the view."""

    def fails(*args: Any, **options: Any) -> None:
        raise of_django(OperationalError, psycopg.errors.AdminShutdown("terminating connection"))

    monkeypatch.setattr(SessionMiddleware, "process_response", fails)
    client = Client(raise_request_exception=False)
    answer = client.get("/sign-in/", headers={"Accept": "text/html"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


@pytest.mark.usefixtures("notes")
def test_an_edit_whose_commit_is_in_doubt_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **options: Any) -> None:
        raise CommitInDoubt("the connection is lost")

    monkeypatch.setattr("dnspanel.api.authentication.actor_by_secret", fails)
    body = answer_of("/api/v2/zones", "post", **FACES["/api/v2/zones"]).json()
    assert (body["status"], body["in_doubt"]) == (503, True)
    assert "Check whether it was saved" in body["detail"]
    body = answer_of("/api/v1/servers/localhost/zones", "post", **FACES["/api/v1/servers/localhost/zones"]).json()
    assert "Check whether it was saved" in body["error"]


def test_what_was_committed_before_the_failure_is_in_doubt() -> None:
    """In a test of the full stack PostgreSQL hung during the response, and a saved edit was reported as refused."""
    found = []

    def save(request: HttpRequest) -> HttpResponse:
        with transaction.atomic():
            beat(process="test", now=NOW)
        return fail(request)

    def fail(request: HttpRequest) -> HttpResponse:
        with transaction.atomic():  # like requests that read a session or token in a transaction
            pass
        found.append(database_away.is_in_doubt(AWAY))
        return HttpResponse()

    requests = RequestFactory()
    for view, request in ((save, requests.post("/")), (fail, requests.post("/")), (save, requests.get("/"))):
        WritesMiddleware(view)(request)
    assert found == [True, False, False]


def test_what_is_our_fault_stays_a_fault(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fails(*args: Any, **options: Any) -> None:
        raise of_django(ProgrammingError, psycopg.errors.UndefinedTable("no such table"))

    monkeypatch.setattr("dnspanel.api.authentication.actor_by_secret", fails)
    for path in ("/api/v1/servers/localhost/zones", "/api/v2/zones", "/metrics"):
        answer = answer_of(path, **FACES[path])
        assert answer.status_code == 500
    assert f"Request ID: <code>{answer['X-Request-ID']}</code>" in answer.content.decode()
    assert "Traceback" in caplog.text


@pytest.fixture
def task() -> Callable[..., Any]:
    @shared_task(name="tests.outlasts")
    def outlasts(error: Exception | None) -> str:
        if error is not None:
            raise error
        return "done"

    return outlasts


def test_a_worker_says_once_that_postgresql_is_away_and_once_that_it_is_back(
    task: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database_away, "outage", Outage())
    read_only = of_django(InternalError, psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT"))
    assert [task(AWAY), task(InterfaceError("closed")), task(read_only)] == [None] * 3
    assert [task(None), task(None)] == ["done"] * 2
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2, lines
    assert lines[0].startswith("PostgreSQL is away, work waits for it: connection to server")
    assert lines[1].startswith("PostgreSQL is back after ")
    with pytest.raises(ValueError, match="a fault of ours"):
        task(ValueError("a fault of ours"))
