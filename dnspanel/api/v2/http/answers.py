"""Answers as they are sent. Made by hand, because a page of a thousand items is."""

import json
from collections.abc import Mapping
from typing import Any, cast

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor

JSON = "application/json"


def actor_in(request: Request) -> Actor:
    """Return the caller."""
    return cast(Actor, request.auth)


def answer(value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return a JSON answer."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text.encode(errors="backslashreplace"), status=status, content_type=JSON, headers=headers)


def no_content(headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Answer 204: the request is carried out, and there is nothing to say."""
    response = HttpResponse(status=204, headers=headers)
    del response["Content-Type"]
    return response
