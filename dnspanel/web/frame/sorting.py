"""Heads of tables that are links: each click sorts by the column, the next one the other way round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from django.http import QueryDict

LONGEST_SORT = 40


@dataclass(frozen=True, slots=True)
class Column:
    """A column that can be sorted by; `falls`: the first click brings the highest first."""

    key: str
    text: str
    css: str = ""
    falls: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: the URL query that its link leads to, and how the table is sorted by it now (aria-sort)."""

    column: Column
    query: str
    sorted: str = ""  # "ascending", "descending", or nothing
    refusal: str = ""  # why it cannot be sorted by; then it is no link

    @property
    def arrow_class(self) -> str:
        """The CSS classes of the arrow beside the column that is sorted by."""
        return "icon-s" if self.sorted == "descending" else "icon-s is-up"

    @property
    def orders(self) -> tuple[tuple[str, str], ...]:
        """Both orders by the column, as aria-sort and as a URL name them."""
        return ("ascending", self.column.key), ("descending", f"-{self.column.key}")


def heads(
    columns: Sequence[Column], sort: str, parameters: QueryDict, refusals: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Head]:
    """Return the heads by column.

    `sort` is the present order, as in a URL; the first column alone is what needs no word.
    """
    present, falls = sort.removeprefix("-"), sort.startswith("-")
    first = columns[0].key
    found = {}
    for column in columns:
        is_present = column.key == (present or first)
        wanted = not falls if is_present else column.falls
        query = parameters.copy()
        for name in ("after", "at", "sort"):
            query.pop(name, None)
        if wanted or column.key != first:
            query["sort"] = f"{'-' if wanted else ''}{column.key}"
        now = ("descending" if falls else "ascending") if is_present else ""
        found[column.key] = Head(column, query.urlencode(), now, refusals.get(column.key, ""))
    return found
