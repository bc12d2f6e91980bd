"""Build JSON responses without serializers, because a page can have a thousand items."""

import json
from collections.abc import Mapping
from typing import Any, cast

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor

JSON = "application/json"


def actor_in(request: Request) -> Actor:
    """Return the request's actor."""
    return cast(Actor, request.auth)


def answer(value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the value as a JSON response."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text.encode(errors="backslashreplace"), status=status, content_type=JSON, headers=headers)


def no_content(headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return a response with status 204 and no body."""
    response = HttpResponse(status=204, headers=headers)
    del response["Content-Type"]
    return response
