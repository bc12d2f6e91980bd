"""Mark deprecated operations and parameters of API v2, in the OpenAPI document and in two response headers.

`Deprecation` (RFC 9745) is the start of the deprecation, `Sunset` (RFC 8594) the earliest removal. A `Link` header
points to the compatibility page, which promises a minimum time between the two.

    @mark_deprecated(since=date(2027, 3, 1), sunset=date(2028, 3, 1))
    def get(self, request): …

    @mark_deprecated(since=date(2027, 3, 1), sunset=date(2028, 3, 1), parameters=("sort",))

Only this decorator marks operations in the document, so every deprecated operation also sends both headers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from django.http.response import HttpResponseBase
from django.utils.http import http_date
from rest_framework.request import Request

LEAST_NOTICE = timedelta(days=365)
PAGE = "/docs/api/compatibility/"
View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The start and the earliest removal of a deprecated operation, or of some of its parameters."""

    since: date
    sunset: date
    parameters: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Deprecation": f"@{_seconds(self.since)}",
            "Sunset": http_date(_seconds(self.sunset)),
            "Link": f'<{PAGE}>; rel="deprecation"; type="text/html"',
        }


def mark_deprecated(*, since: date, sunset: date, parameters: tuple[str, ...] = ()) -> Callable[[View], View]:
    """Mark a view's method or some of its parameters as deprecated.

    Raise ValueError if the sunset is less than LEAST_NOTICE after the start.
    """
    if sunset - since < LEAST_NOTICE:
        raise ValueError(f"{sunset} is less than {LEAST_NOTICE.days} days after {since}.")

    def mark(method: View) -> View:
        method.deprecation = Deprecation(since, sunset, parameters)  # type: ignore[attr-defined]
        return method

    return mark


def deprecation_of(view: object, method: str) -> Deprecation | None:
    """Return the deprecation of a view's method, or None if the method isn't deprecated."""
    found: Deprecation | None = getattr(getattr(view, method.lower(), None), "deprecation", None)
    return found


def say_deprecated(view: object, request: Request, response: HttpResponseBase) -> None:
    """Set the deprecation headers if the operation, or a parameter in the request, is deprecated."""
    found = deprecation_of(view, request.method or "")
    if found is None or (found.parameters and not set(found.parameters) & set(request.query_params)):
        return
    for name, value in found.headers.items():
        if name == "Link" and response.has_header("Link"):
            value = f"{response.headers['Link']}, {value}"
        response.headers[name] = value


def _seconds(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())
