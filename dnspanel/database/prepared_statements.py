"""Prepare statements that PostgreSQL plans only once per connection. Every edit runs several of them.

Planning a statement with a few subqueries takes ten times as long as running it. Django inserts parameters into the
text of a statement, so PostgreSQL sees a new statement each time. Here, PostgreSQL binds the parameters, and in web
processes it plans without them (`database.base`). This only suits statements whose best plan does not depend on the
parameters, and whose parameter types are given or clear from the context. PostgreSQL assumes that an unknown array has
ten members, and that unknown JSON has a hundred rows.

A sequential scan, planned while a table is small, is slow after the table has grown. To get an index scan, statements
look up rows of such tables one by one (`find_zones`). `zones.store.analyze_tables` analyzes tables that suddenly grow a
lot. PostgreSQL then plans all statements again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection


@contextmanager
def prepared_cursor() -> Iterator[Any]:
    """Open a cursor that prepares statements. After `keep_plans`, a statement is planned only in its first two runs."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    bound_by_server: Any = psycopg.Cursor(connection.connection)
    with wrap(bound_by_server) as cursor:
        yield cursor
