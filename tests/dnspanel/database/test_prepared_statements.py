"""Prepared cursors make PostgreSQL plan once, also within Django's transactions and between its queries."""

import pytest
from django.db import DataError, connection, transaction
from django.test.utils import CaptureQueriesContext

from dnspanel.database.prepared_statements import prepared_cursor

pytestmark = pytest.mark.django_db

_STATEMENT = "SELECT state FROM fleet_node WHERE id = %s AND schema >= %s"


def ask(*params: object) -> None:
    with prepared_cursor() as cursor:
        cursor.execute(_STATEMENT, params)


def forget() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    connection.connection._prepared.clear()


def prepared() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT state FROM fleet_node%'"
        )
        return int(cursor.fetchone()[0])


def test_a_statement_is_planned_once_for_a_connection() -> None:
    forget()
    ask(1, 4)
    assert prepared() == 0, "one that comes once is not worth it"
    for node_id in range(5):
        ask(node_id, 4)
    assert prepared() == 1


def test_djangos_own_cursors_prepare_nothing() -> None:
    forget()
    for _ in range(5):
        with connection.cursor() as cursor:
            cursor.execute(_STATEMENT, (1, 4))
    assert prepared() == 0


def test_a_statement_counts_among_djangos_queries() -> None:
    with CaptureQueriesContext(connection) as captured:
        ask(1, 4)
    assert [query["sql"] for query in captured.captured_queries] == [_STATEMENT % ("$1", "$2")]


def test_an_error_is_djangos_and_ends_its_transaction() -> None:
    with pytest.raises(DataError), transaction.atomic(), prepared_cursor() as cursor:
        cursor.execute("SELECT 1 / %s::int", (0,))
    ask(1, 4)
