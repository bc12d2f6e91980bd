"""Responses to exceptions that no view handled, such as those of middleware for sessions and authentication."""

import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string

from dnspanel.api import database_away as of_apis
from dnspanel.database.database_away import is_outage
from dnspanel.web.frame import database_away as of_pages
from replication.log_lines import request_id

_FACES: tuple[tuple[str, Callable[[HttpRequest, BaseException], HttpResponse]], ...] = (
    ("/api/v1", of_apis.answer_v1),
    ("/api/", of_apis.answer_v2),
    ("/scim/", of_apis.answer_scim),
    ("/nic/update", of_apis.answer_dyndns),
    ("/v3/update", of_apis.answer_dyndns),
    ("/metrics", of_apis.answer_text),
)


def answer(request: HttpRequest) -> HttpResponse:
    """Return the error page with the request id, or the response to an outage (503, 507) in the interface's format."""
    exc = sys.exc_info()[1]
    if exc is None or not is_outage(exc):
        return HttpResponseServerError(render_to_string("500.html", {"request_id": request_id.get()}))
    face = next((face for start, face in _FACES if request.path_info.startswith(start)), of_pages.answer)
    return face(request, exc)
