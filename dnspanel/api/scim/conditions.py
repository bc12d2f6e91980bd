"""Versions of SCIM resources (RFC 7644, section 3.14): `ETag`, `If-Match` and `If-None-Match`."""

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.scim.lists import Resource, parts_in
from dnspanel.api.scim.view import answer
from dnspanel.api.v2.http.etag import condition_in


def refuse_moved(request: Request, resource: Resource) -> None:
    """Raise ScimFault (412) if the request's condition fails for the resource. Raise Problem if a header is invalid."""
    if not condition_in(request).holds(resource["meta"]["version"]):
        raise ScimFault(412, "It has changed since you read it.")


def answer_resource(request: Request, resource: Resource, status: int = 200) -> HttpResponse:
    """Return the requested attributes of the resource, with ETag. Return 304 if the client has this version.

    Status 201 adds the resource's URL as `Location`.
    """
    meta = resource["meta"]
    headers = {"ETag": meta["version"]}
    if request.method in ("GET", "HEAD") and not condition_in(request).holds(meta["version"]):
        return HttpResponse(status=304, headers=headers)
    body = parts_in(request).of(resource)
    return answer(body, status, headers=headers | ({"Location": meta["location"]} if status == 201 else {}))
