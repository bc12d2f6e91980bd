"""Middleware that compresses HTML pages and pads each one with a random number of bytes.

Files aren't compressed, because they have their own length and format. API responses are compressed by
`api.compressed_answers`, which needs no padding and keeps the ETags that clients send back.

A BREACH attack guesses a secret in a page from the lengths of compressed responses to requests that contain the
guesses. It fails here: the CSRF token is masked differently in each page, other secrets are shown only once, and each
response is longer by up to 100 random bytes. Browsers don't send the cookies across sites (SameSite).
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedPagesMiddleware(GZipMiddleware):
    """Middleware that compresses HTML for browsers that accept compression."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
