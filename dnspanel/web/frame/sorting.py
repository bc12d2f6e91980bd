"""Table headers that are sort links. A click sorts by the column, and the next click reverses the order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from django.http import QueryDict

LONGEST_SORT = 40


@dataclass(frozen=True, slots=True)
class Column:
    """A sortable column. If `falls` is True, the first click sorts the list in descending order."""

    key: str
    text: str
    css: str = ""
    falls: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """A column header: the query string of its link, and the current sort order (aria-sort)."""

    column: Column
    query: str
    sorted: str = ""  # "ascending", "descending", or empty
    refusal: str = ""  # the reason why the column can't be sorted; then the header isn't a link

    @property
    def arrow_class(self) -> str:
        """The CSS classes of the arrow that shows the sort order."""
        return "icon-s" if self.sorted == "descending" else "icon-s is-up"

    @property
    def orders(self) -> tuple[tuple[str, str], ...]:
        """Both sort orders, as (aria-sort value, URL value)."""
        return ("ascending", self.column.key), ("descending", f"-{self.column.key}")


def heads(
    columns: Sequence[Column], sort: str, parameters: QueryDict, refusals: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Head]:
    """Return the headers, keyed by column. `sort` is the sort order as in the URL, or "" for the first column.

    `refusals` has the reason for each column that can't be sorted.
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
