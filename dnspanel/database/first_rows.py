"""The first row of a query, or an error of the domain."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import QuerySet

Row = TypeVar("Row")


def first_or(rows: "QuerySet[Any, Row]", error: Callable[[], Exception]) -> Row:
    """Return the first row. Raise the error that `error` returns (a class will do) if there is none."""
    row = rows.first()
    if row is None:
        raise error()
    return row
