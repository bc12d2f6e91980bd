"""By which column a list is sorted, and which way; the rows are annotated with `sort_key`."""

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
        """The order that a URL names, with a hyphen before the column for down; `otherwise` for anything else."""
        try:
            return cls(columns(text.removeprefix("-")), text.startswith("-"))
        except ValueError:
            return otherwise

    def sorted(self, rows: "QuerySet[Any]", *then: str) -> "QuerySet[Any]":
        """The rows in this order; what is the same in the column comes by these fields."""
        return rows.order_by("-sort_key" if self.descending else "sort_key", *then)

    def beyond(self, rows: "QuerySet[Any]", by: Any) -> "QuerySet[Any]":
        """Those behind all that have this in the column."""
        return rows.filter(**{f"sort_key__{self._way}": by})

    def up_to(self, rows: "QuerySet[Any]", by: Any) -> "QuerySet[Any]":
        """Those that have this in the column, and those before them."""
        return rows.filter(**{f"sort_key__{'gte' if self.descending else 'lte'}": by})

    def behind(self, rows: "QuerySet[Any]", by: Any, then: Q) -> "QuerySet[Any]":
        """Those behind a row that has this in the column: of the rows with the same, the ones of which `then` is true.

        The bound that both kinds have stands by itself, where PostgreSQL uses it.
        """
        return rows.filter(**{f"sort_key__{self._way}e": by}).filter(Q(**{f"sort_key__{self._way}": by}) | then)

    @property
    def _way(self) -> str:
        return "lt" if self.descending else "gt"


def number_in(text: str | bytes, below: int) -> int:
    """The number in a part of a cursor. Raises ValueError for none, and for one that no column has."""
    number = int(text)
    if not 0 <= number < below:
        raise ValueError(number)
    return number
