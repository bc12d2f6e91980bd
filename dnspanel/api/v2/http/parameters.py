"""Query parameters: those that the document of the API names for an operation, and no others."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from dnspanel.api.v2.http.fault_texts import unknown_parameter
from dnspanel.api.v2.http.problems import RequestFault, bad_choice, invalid


def refuse_unknown_parameters(request: Request, view: APIView) -> None:
    """Raise Problem for a parameter that this operation does not have: a misspelled `dry_run` would be a write.

    Nothing has been done yet when it is refused.
    """
    if not request.query_params:
        return
    method = "GET" if request.method == "HEAD" else str(request.method)
    known = query_parameters(view, method)
    if known is None:
        return
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise invalid(
            [RequestFault("unknown", unknown_parameter(name, known), parameter=name[:100]) for name in unknown]
        )


def query_parameters(view: APIView, method: str) -> frozenset[str] | None:
    """Return the names of the parameters of an operation; None if the view does not have this method."""
    do = getattr(view, method.lower(), None)
    if do is None:
        return None
    operation = do.kwargs["schema"]()
    operation.view, operation.method = view, method
    declared = operation.get_override_parameters()
    return frozenset(each.name for each in declared if each.location == OpenApiParameter.QUERY)


def flag_in(request: Request, name: str, default: bool) -> bool:
    """A query parameter that is `true` or `false`. Raises Problem."""
    value = request.query_params.get(name, "true" if default else "false")
    if value not in {"true", "false"}:
        raise bad_choice(name, value, ("true", "false"))
    return bool(value == "true")
