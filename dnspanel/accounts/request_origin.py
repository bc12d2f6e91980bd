"""From where each request comes, for the audit log and for the answer's `X-Request-ID`."""

from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse

from dnspanel.accounts import audit


class RequestOriginMiddleware:
    """Every request has an id, and `audit.origin()` knows it and the sender's address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        origin = audit.Origin(request.META.get("REMOTE_ADDR") or None, str(uuid4()))
        with audit.coming_from(origin):
            response = self.get_response(request)
        response["X-Request-ID"] = origin.request_id
        return response
