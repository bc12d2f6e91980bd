"""Return a secret only once. Retries don't receive it, and it is never stored in the database."""

import json
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from dnspanel.api.v2.http.etag import answer_with_tag
from dnspanel.api.v2.http.view import V2View


class _Once(HttpResponse):
    """A response whose content is stored for retries without the secret. `with_secret` is sent the first time."""

    with_secret: bytes = b""


class OneSecretView(V2View):
    """The base class of views whose responses can contain a secret. The secret isn't stored for retries."""

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        final = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(final, _Once):
            final.content = final.with_secret
            final["Cache-Control"] = "no-store"
        return final


def once(value: dict[str, Any], *, secret: str, status: int = 201, **headers: str) -> HttpResponse:
    """Return a response with `value`. In the copy stored for retries, the member named by `secret` is null."""
    plain = answer_with_tag(value | {secret: None}, status, **headers)
    response = _Once(plain.content, status=status, headers=dict(plain.headers))
    response.with_secret = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return response
