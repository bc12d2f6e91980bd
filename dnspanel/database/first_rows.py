"""Return the first row of a query, or raise an error of the domain."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import QuerySet

Row = TypeVar("Row")


def first_or(rows: "QuerySet[Any, Row]", error: Callable[[], Exception]) -> Row:
    """Return the first row, or raise the error that `error` returns. `error` can be an exception class."""
    row = rows.first()
    if row is None:
        raise error()
    return row
