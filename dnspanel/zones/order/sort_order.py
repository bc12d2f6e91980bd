"""The column and direction of a list's order. Rows are annotated with `sort_key`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

from django.db.models import Q, QuerySet

Column = TypeVar("Column", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class SortOrder(Generic[Column]):
    """By a column, up or down."""

    column: Column
    descending: bool = False

    @classmethod
    def of_url(cls, text: str, columns: type[Column], otherwise: Self) -> Self:
        """Parse an order of a URL, with a hyphen before the column for descending; `otherwise` for anything else."""
        try:
            return cls(columns(text.removeprefix("-")), text.startswith("-"))
        except ValueError:
            return otherwise

    def sort_rows(self, rows: "QuerySet[Any]", *then: str) -> "QuerySet[Any]":
        """Sort the rows in this order, and rows with the same value by these fields."""
        return rows.order_by("-sort_key" if self.descending else "sort_key", *then)

    def beyond(self, rows: "QuerySet[Any]", by: Any) -> "QuerySet[Any]":
        """Select the rows after all rows with this value in the column."""
        return rows.filter(**{f"sort_key__{self._way}": by})

    def up_to(self, rows: "QuerySet[Any]", by: Any) -> "QuerySet[Any]":
        """Select the rows with this value in the column, and those before them."""
        return rows.filter(**{f"sort_key__{'gte' if self.descending else 'lte'}": by})

    def behind(self, rows: "QuerySet[Any]", by: Any, then: Q) -> "QuerySet[Any]":
        """Select the rows after a row with this value: of rows with the same value, those that match `then`.

        The bound common to both kinds is a separate condition, so that PostgreSQL uses it.
        """
        return rows.filter(**{f"sort_key__{self._way}e": by}).filter(Q(**{f"sort_key__{self._way}": by}) | then)

    @property
    def _way(self) -> str:
        return "lt" if self.descending else "gt"


def number_in(text: str | bytes, below: int) -> int:
    """Parse a number of a cursor. Raise ValueError if it isn't one, or is out of range."""
    number = int(text)
    if not 0 <= number < below:
        raise ValueError(number)
    return number
