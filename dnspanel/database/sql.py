"""Run SQL statements on the default connection, outside of the ORM."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

Parameters = Sequence[Any] | Mapping[str, Any] | None


def fetch_all(statement: str, parameters: Parameters = None) -> list[Any]:
    """Run a statement and return all its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def fetch_one(statement: str, parameters: Parameters = None) -> Any:
    """Run a statement and return its first row, or None if it returns no rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()


def execute(statement: str, parameters: Parameters = None) -> int:
    """Run a statement and return the number of rows that it affected."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
