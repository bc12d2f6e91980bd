"""Checks of kept connections. The server is queried only after its socket became readable or after a pause."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection

from dnspanel.database import base
from dnspanel.database.base import DatabaseWrapper
from dnspanel.settings import _database as settings_of_database

pytestmark = pytest.mark.django_db(transaction=True)

_DEADLINE = 30


@pytest.fixture
def kept() -> Iterator[DatabaseWrapper]:
    """Yield a separate connection, which a test may end."""
    own = connection.copy()
    assert isinstance(own, DatabaseWrapper)
    own.ensure_connection()
    yield own
    own.close()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the statements that any connection sends to PostgreSQL."""
    statements: list[str] = []
    execute = psycopg.Cursor.execute

    def noting(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        statements.append(str(query))
        return execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", noting)
    return statements


def end(kept: DatabaseWrapper) -> None:
    """End the connection's backend, as a server restart does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [kept.connection.info.backend_pid])
        assert cursor.fetchone() == (True,)


def test_a_connection_at_rest_is_usable_without_a_question(kept: DatabaseWrapper, sent: list[str]) -> None:
    kept.is_usable()
    sent.clear()
    assert kept.is_usable()
    assert sent == []


def test_after_a_pause_the_server_is_asked(
    kept: DatabaseWrapper, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the pause a firewall may have dropped the connection, which the socket does not show."""
    now = time.monotonic()
    kept.is_usable()
    sent.clear()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    assert kept.is_usable()
    assert sent == ["SELECT 1"]


def test_a_connection_that_the_server_ended_is_not_usable(kept: DatabaseWrapper) -> None:
    end(kept)
    assert not kept.is_usable()
    kept.connection.close()
    assert not kept.is_usable()


def test_a_request_after_the_end_has_a_new_connection(kept: DatabaseWrapper) -> None:
    kept.settings_dict = kept.settings_dict | {"CONN_HEALTH_CHECKS": True}
    before = kept.connection
    end(kept)
    kept.health_check_enabled, kept.health_check_done = True, False  # as at the start of a request
    with kept.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    assert kept.connection is not before


def test_where_the_server_said_something_it_is_asked(kept: DatabaseWrapper, sent: list[str]) -> None:
    with kept.cursor() as cursor:
        cursor.execute("LISTEN news")
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY news")
    deadline = time.monotonic() + _DEADLINE
    while kept._is_at_rest():
        assert time.monotonic() < deadline
    kept.is_usable()
    sent.clear()
    assert kept.is_usable()
    assert sent == []
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY news")
    while kept._is_at_rest():
        assert time.monotonic() < deadline
    sent.clear()
    assert kept.is_usable()
    assert sent == ["SELECT 1"]
    assert kept.is_usable(), "the word was read with the answer"
    assert sent == ["SELECT 1"]


def test_a_connection_on_which_a_statement_is_under_way_is_not_usable(kept: DatabaseWrapper) -> None:
    kept.connection.pgconn.send_query(b"SELECT pg_sleep(60)")
    assert not kept.is_usable()


def test_no_connection_is_not_usable() -> None:
    assert not connection.copy().is_usable()


def test_what_is_prepared_is_planned_without_its_parameters_where_plans_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With parameters, PostgreSQL would make a new plan for the first five calls, and then choose."""
    assert _plans_of_eight_calls()[1] >= 5
    monkeypatch.setattr(base, "_keeps_plans", False)
    base.keep_plans()
    assert _plans_of_eight_calls() == (7, 0)


def _plans_of_eight_calls() -> tuple[int, int]:
    """Run a prepared statement eight times on a new connection. Return its numbers of generic and custom plans."""
    own = connection.copy()
    own.ensure_connection()
    try:
        cursor = psycopg.Cursor(own.connection)
        for node_id in range(8):
            cursor.execute("SELECT state FROM fleet_node JOIN unnest(%s::int[]) AS chosen ON chosen = id", ([node_id],))
        cursor.execute("SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement ~ 'AS chosen'")
        ((kept, made),) = cursor.fetchall()
        return kept, made
    finally:
        own.close()


@pytest.mark.parametrize(("query", "expected"), [("", "off"), ("?options=-c%20jit%3Don", "on")])
def test_statements_are_not_compiled_unless_the_database_url_says_so(query: str, expected: str) -> None:
    """In containers, where PostgreSQL's default is `jit = on`, an edit took four seconds to reach all nodes.

    The configuration of PostgreSQL for tests and for `./dev run` turned it off.
    """
    own = connection.copy()
    own.settings_dict["OPTIONS"] = settings_of_database(f"postgresql:///panel{query}")["OPTIONS"]
    with own.cursor() as cursor:
        cursor.execute("SELECT setting, source FROM pg_settings WHERE name = 'jit'")
        assert cursor.fetchone() == (expected, "client")
    own.close()
