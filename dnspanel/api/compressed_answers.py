"""Middleware that compresses the APIs' JSON responses for clients that accept gzip.

It covers only paths below `/api/` and `/scim/`. A BREACH attack needs a browser that sends a secret automatically, and
a response that contains the attacker's text. The APIs don't read cookies. They read a token from a header that browsers
don't add automatically, so an attacker can't make another user's browser send such a request. Pages read cookies;
`web.frame.compressed_pages` protects them.

The entity tag stays the same, because it identifies a resource's state, not the response's bytes. Clients send it back
in If-Match. A proxy that compresses responses makes the tag weak, which `etag` ignores.

Streamed responses aren't compressed: exports are compressed files, or are sent while they are read.
"""

import gzip
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers

LEAST_BYTES = 1_000  # a smaller response fits into one packet
_LEVEL = 5  # level 6 takes 50 % longer and saves only 5 % more
_PATHS = ("/api/", "/scim/")


class CompressedAnswersMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.path.startswith(_PATHS) and isinstance(response, HttpResponse) and _is_worth_it(response):
            patch_vary_headers(response, ["Accept-Encoding"])
            if accepts_gzip(request.headers.get("Accept-Encoding", "")):
                response.content = gzip.compress(response.content, _LEVEL, mtime=0)
                response.headers["Content-Encoding"] = "gzip"
                response.headers["Content-Length"] = str(len(response.content))
        return response


def accepts_gzip(header: str) -> bool:
    """Return True if this Accept-Encoding header lists gzip with a weight other than 0."""
    for coding in header.lower().split(","):
        name, _, parameters = coding.partition(";")
        if name.strip() in ("gzip", "x-gzip"):
            weight = parameters.replace(" ", "").partition("q=")[2]
            return not weight or weight.strip("0.") != ""
    return False


def _is_worth_it(response: HttpResponse) -> bool:
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    is_json = media_type == "application/json" or media_type.endswith("+json")
    return is_json and len(response.content) >= LEAST_BYTES and not response.has_header("Content-Encoding")
