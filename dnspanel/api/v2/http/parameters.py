"""Query parameters: those that the document of the API names for an operation, and no others."""

from functools import cache
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from dnspanel.api.v2.http.problems import RequestFault, invalid


def refuse_unknown_parameters(request: Request, view: type[Any]) -> None:
    """Raise Problem for a parameter that this operation does not have, such as `dry_run`: it would be passed over.

    Nothing has been done yet when it is refused.
    """
    if not request.query_params:
        return
    method = "get" if request.method == "HEAD" else str(request.method).lower()
    known = query_parameters(view, method)
    if known is None:
        return
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        there_are = f"it has {', '.join(sorted(known))}" if known else "it has none"
        detail = f"This operation has no such parameter; {there_are}."
        raise invalid([RequestFault("unknown", detail, parameter=name[:100]) for name in unknown])


@cache
def query_parameters(view: type[Any], method: str) -> frozenset[str] | None:
    """Return the names of the parameters of an operation; None if the view does not have this method."""
    do = getattr(view, method, None)
    if do is None:
        return None
    operation = do.kwargs["schema"]()
    # drf-spectacular looks at the request's version before it gives the parameters, of which there is one only.
    operation.view, operation.method = view(), method.upper()
    operation.view.request, operation.view.kwargs = None, {}
    declared = operation.get_override_parameters()
    return frozenset(each.name for each in declared if each.location == OpenApiParameter.QUERY)
