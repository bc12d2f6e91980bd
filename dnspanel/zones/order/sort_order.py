"""Sort lists by a column, ascending or descending. Rows are annotated with `sort_key`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

from django.db.models import Q, QuerySet

Column = TypeVar("Column", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class SortOrder(Generic[Column]):
    """A sort order: a column, ascending or descending."""

    column: Column
    descending: bool = False

    @classmethod
    def of_url(cls, text: str, columns: type[Column], otherwise: Self) -> Self:
        """Parse a sort order from a URL, such as `-name` for descending. Return `otherwise` if the text is invalid."""
        try:
            return cls(columns(text.removeprefix("-")), text.startswith("-"))
        except ValueError:
            return otherwise

    def sort_rows(self, rows: "QuerySet[Any]", *then: str) -> "QuerySet[Any]":
        """Sort the rows in this order, and rows with equal values by the fields `then`."""
        return rows.order_by("-sort_key" if self.descending else "sort_key", *then)

    def beyond(self, rows: "QuerySet[Any]", by: Any) -> "QuerySet[Any]":
        """Select the rows that come after all rows with this value."""
        return rows.filter(**{f"sort_key__{self._way}": by})

    def up_to(self, rows: "QuerySet[Any]", by: Any) -> "QuerySet[Any]":
        """Select the rows with this value and all rows before them."""
        return rows.filter(**{f"sort_key__{'gte' if self.descending else 'lte'}": by})

    def behind(self, rows: "QuerySet[Any]", by: Any, then: Q) -> "QuerySet[Any]":
        """Select the rows that sort after this value, and the rows with the same value that match `then`.

        The range is also a separate condition, so that PostgreSQL can use an index.
        """
        return rows.filter(**{f"sort_key__{self._way}e": by}).filter(Q(**{f"sort_key__{self._way}": by}) | then)

    @property
    def _way(self) -> str:
        return "lt" if self.descending else "gt"


def number_in(text: str | bytes, below: int) -> int:
    """Parse a number from a cursor. Raise ValueError if it isn't an integer from 0 to `below` - 1."""
    number = int(text)
    if not 0 <= number < below:
        raise ValueError(number)
    return number
