"""Statements that PostgreSQL plans once for each connection: those of which every edit needs several.

Planning one with a few subqueries takes ten times as long as running it. Django binds parameters into the text of a
statement, so that PostgreSQL meets each as a new one; here PostgreSQL binds them, and in web processes plans without
them (`database.base`). Only for statements whose best plan is the same whatever the parameters are, and where the type
of each parameter is clear from its place, or said. PostgreSQL takes an array that it does not see for one of ten
members, and JSON for a hundred rows: where a table may be small and the next day is not, such a statement says by its
form that it looks up one after the other (`find_zones`), since on a small table a plan that reads it from end to end is
as good. What grows much at once is looked at by `zones.store.analyze_tables`, after which everything is planned anew.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection


@contextmanager
def prepared_cursor() -> Iterator[Any]:
    """A cursor of Django's connection, in its transaction, that plans a statement anew only the first two times."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    bound_by_server: Any = psycopg.Cursor(connection.connection)
    with wrap(bound_by_server) as cursor:
        yield cursor
