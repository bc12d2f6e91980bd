"""Answers with a secret that is shown once: a retry learns what was made, and the database never holds the secret."""

import json
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from dnspanel.api.v2.http.conditional_write import answer_with_tag
from dnspanel.api.v2.http.view import V2View


class _Once(HttpResponse):
    """An answer whose remembered form is already written; `with_secret` is what is sent this time."""

    with_secret: bytes = b""


class OneSecretView(V2View):
    """A view whose answers may hold a secret. Idempotency remembers them without it."""

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        final = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(final, _Once):
            final.content = final.with_secret
            final["Cache-Control"] = "no-store"
        return final


def once(value: dict[str, Any], *, secret: str, status: int = 201, **headers: str) -> HttpResponse:
    """Return the answer with this member; a client that gets the remembered answer finds null there."""
    plain = answer_with_tag(value | {secret: None}, status, **headers)
    response = _Once(plain.content, status=status, headers=dict(plain.headers))
    response.with_secret = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return response
