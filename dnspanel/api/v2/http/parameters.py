"""Check a request's query parameters against those that the OpenAPI document defines for the operation."""

from typing import NamedTuple

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from dnspanel.api.v2.http.fault_texts import unknown_parameter
from dnspanel.api.v2.http.problems import RequestFault, bad_choice, invalid


def refuse_unknown_parameters(request: Request, view: APIView) -> None:
    """Raise Problem for an unknown query parameter, because a misspelled `dry_run` would otherwise cause a write."""
    if not request.query_params:
        return
    method = "GET" if request.method == "HEAD" else str(request.method)
    taken = taken_by(view, method)
    if taken is None:
        return
    unknown = [name for name in request.query_params if name not in taken.parameters]
    if unknown:
        raise invalid(
            [
                RequestFault("unknown", unknown_parameter(name, taken.parameters), parameter=name[:100])
                for name in unknown
            ]
        )


class Taken(NamedTuple):
    """The inputs that an operation accepts: the names of its query parameters, and a flag for a request body."""

    parameters: frozenset[str]
    body: bool


_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
# A cache by view and method. The accepted inputs depend only on the code.
_TAKEN: dict[tuple[type[APIView], str], Taken] = {}


def taken_by(view: APIView, method: str) -> Taken | None:
    """Return the inputs that an operation accepts, or None if the view doesn't have this method."""
    do = getattr(view, method.lower(), None)
    # A client can send any method name, even `options`, for which the framework has a function.
    if do is None or method.lower() not in view.http_method_names:
        return None
    kind = type(view), method
    if kind not in _TAKEN:
        operation = do.kwargs["schema"]()
        operation.view, operation.method = view, method
        declared = operation.get_override_parameters()
        _TAKEN[kind] = Taken(
            frozenset(each.name for each in declared if each.location == OpenApiParameter.QUERY),
            method in _WITH_BODY and operation.get_request_serializer() is not None,
        )
    return _TAKEN[kind]


def flag_in(request: Request, name: str, *, default: bool) -> bool:
    """Return a boolean query parameter. Raise Problem unless it is `true` or `false`."""
    value = request.query_params.get(name, "true" if default else "false")
    if value not in {"true", "false"}:
        raise bad_choice(name, value, ("true", "false"))
    return bool(value == "true")
