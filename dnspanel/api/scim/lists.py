"""Return pages of SCIM lists with the selected attributes (RFC 7644, sections 3.4.2 and 3.9)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework.request import Request

from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.scim.filters import Term, parse_filter, plain_name

LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
MOST_PER_PAGE = 200
_MOST_NAMES = 50
_ALWAYS = frozenset({"id", "schemas"})

Resource = dict[str, Any]
# Converts a filter term into a condition on rows. Raises KeyError for an attribute that is not searchable.
Condition = Callable[[Term], Q]


@dataclass(frozen=True, slots=True)
class Parts:
    """The attributes to return: only some (`only`), or all except some (`without`). Names are lowercase."""

    only: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    def of(self, resource: Resource) -> Resource:
        """Return the resource reduced to the selected attributes, plus `id` and `schemas`."""
        if self.only:
            return {
                name: kept for name, value in resource.items() if (kept := self._select_parts(name, value)) is not None
            }
        if self.without:
            return {name: kept for name, value in resource.items() if (kept := self._rest(name, value)) is not None}
        return resource

    def _select_parts(self, name: str, value: Any) -> Any:
        lower = name.lower()
        if lower in _ALWAYS or lower in self.only:
            return value
        return _parts_of(value, lambda part: f"{lower}.{part.lower()}" in self.only)

    def _rest(self, name: str, value: Any) -> Any:
        lower = name.lower()
        if lower in _ALWAYS:
            return value
        if lower in self.without:
            return None
        if not any(each.startswith(f"{lower}.") for each in self.without):
            return value
        return _parts_of(value, lambda part: f"{lower}.{part.lower()}" not in self.without)


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a list request: the filter, the page, and the attributes to return."""

    terms: tuple[Term, ...]
    start: int
    count: int
    parts: Parts


def parts_in(request: Request) -> Parts:
    """Parse the request's attribute selection. Raise ScimFault if it both includes and excludes attributes."""
    return _parts(request.query_params)


def query_in(request: Request) -> Query:
    """Parse the query from a GET's URL or the body of a POST to `.search`. Raise ScimFault if it is invalid."""
    fields = request.query_params if request.method in ("GET", "HEAD") else request.data
    if not isinstance(fields, Mapping):
        raise ScimFault(400, "An object with a query is needed.", "invalidSyntax")
    text = fields.get("filter") or ""
    if not isinstance(text, str):
        raise ScimFault(400, "filter has to be a text.", "invalidFilter")
    return Query(
        terms=parse_filter(text) if text else (),
        start=max(1, _number(fields, "startIndex", 1)),
        count=min(MOST_PER_PAGE, max(0, _number(fields, "count", 100))),
        parts=_parts(fields),
    )


def list_answer(
    query: Query,
    rows: "QuerySet[Any]",
    condition: Condition,
    represent: Callable[[Sequence[Any]], list[Resource]],
    most: int = MOST_PER_PAGE,
) -> Mapping[str, Any]:
    """Return a page of the rows that match the filter, sorted by id. Raise ScimFault for an unsearchable attribute.

    A directory has at most a few thousand rows (`MOST_PEOPLE`, `MOST_GROUPS`). All matching ids are therefore read
    first, which also gives the total, and then only the rows of the page. This makes the cost of all pages equal.
    """
    rows = rows.filter(*(_condition(term, condition) for term in query.terms))
    ids = list(rows.order_by("pk").values_list("pk", flat=True))
    page = ids[query.start - 1 : query.start - 1 + min(query.count, most)]
    found = represent(list(rows.filter(pk__in=page).order_by("pk"))) if page else []
    return {
        "schemas": [LIST],
        "totalResults": len(ids),
        "startIndex": query.start,
        "itemsPerPage": len(found),
        "Resources": [query.parts.of(each) for each in found],
    }


def _condition(term: Term, condition: Condition) -> Q:
    try:
        return condition(term)
    except KeyError as exc:
        raise ScimFault(400, f"{term.attribute[:100]} cannot be searched by here.", "invalidFilter") from exc


def _parts_of(value: Any, is_kept: Callable[[str], bool]) -> Any:
    """Return a complex attribute reduced to the kept sub-attributes, or None if nothing remains."""
    if isinstance(value, dict):
        return {part: each for part, each in value.items() if is_kept(part)} or None
    if isinstance(value, list):
        kept = [{part: each for part, each in one.items() if is_kept(part)} for one in value if isinstance(one, dict)]
        return [one for one in kept if one] or None
    return None


def _parts(fields: Mapping[str, Any]) -> Parts:
    only, without = (_names(fields.get(name) or "", name) for name in ("attributes", "excludedAttributes"))
    if only and without:
        raise ScimFault(400, "Give attributes or excludedAttributes, not both.", "invalidValue")
    return Parts(only, without)


def _names(listed: Any, parameter: str) -> frozenset[str]:
    names = listed.split(",", _MOST_NAMES) if isinstance(listed, str) else listed
    if not isinstance(names, list) or len(names) > _MOST_NAMES or not all(isinstance(name, str) for name in names):
        raise ScimFault(400, f"{parameter} is a list of at most {_MOST_NAMES} names.", "invalidValue")
    return frozenset(plain_name(name.strip()) for name in names if name.strip())


def _number(fields: Mapping[str, Any], name: str, default: int) -> int:
    text = str(fields.get(name, "")).strip()
    if not text:
        return default
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise ScimFault(400, f"{name} is a number.", "invalidValue")
    return int(text)
