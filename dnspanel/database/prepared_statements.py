"""Statements that PostgreSQL plans once for each connection: every edit needs several of them.

Planning a statement with a few subqueries takes ten times as long as running it. Django binds parameters into the text
of a statement, so that PostgreSQL sees a new one each time. Here PostgreSQL binds them, and in web processes plans
without them (`database.base`). This suits only statements whose best plan does not depend on the parameters, and whose
parameter types are clear from their place, or given. PostgreSQL assumes that an unseen array has ten members, and JSON
a hundred rows. A table may be small one day and large the next, and on a small table a plan that reads it from end to
end is as good. Such a statement therefore has a form that looks rows up one by one (`find_zones`). Tables that grow
much at once are analyzed by `zones.store.analyze_tables`; then everything is planned again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection


@contextmanager
def prepared_cursor() -> Iterator[Any]:
    """Open a cursor on Django's connection, in its transaction, that plans a statement only the first two times."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    bound_by_server: Any = psycopg.Cursor(connection.connection)
    with wrap(bound_by_server) as cursor:
        yield cursor
