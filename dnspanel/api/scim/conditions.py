"""Check and send versions of SCIM resources: `ETag`, `If-Match` and `If-None-Match` (RFC 7644, section 3.14)."""

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.scim.lists import Resource, parts_in
from dnspanel.api.scim.view import answer
from dnspanel.api.v2.http.etag import condition_in


def refuse_moved(request: Request, resource: Resource) -> None:
    """Raise ScimFault (412) unless the request's condition holds, and Problem if a header is invalid."""
    if not condition_in(request).holds(resource["meta"]["version"]):
        raise ScimFault(412, "It has changed since you read it.")


def answer_resource(request: Request, resource: Resource, status: int = 200) -> HttpResponse:
    """Return the resource's requested attributes with an ETag, or 304 if the client has this version.

    With status 201, the response has the resource's URL in `Location`.
    """
    meta = resource["meta"]
    headers = {"ETag": meta["version"]}
    if request.method in ("GET", "HEAD") and not condition_in(request).holds(meta["version"]):
        return HttpResponse(status=304, headers=headers)
    body = parts_in(request).of(resource)
    return answer(body, status, headers=headers | ({"Location": meta["location"]} if status == 201 else {}))
