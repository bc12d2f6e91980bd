"""Middleware that compresses HTML pages, and pads each with a random number of bytes.

Files aren't compressed, because they have their own length and format. API responses are compressed by
`api.compressed_answers`, which needs no padding and keeps the ETags that clients send back.

BREACH guesses a secret in a page from the length of compressed answers to requests that contain the guesses. Here the
attack finds nothing to guess: the CSRF token is masked differently in each page, other secrets are shown only once,
cookies aren't sent with requests from other sites (SameSite), and each answer is longer by up to 100 random bytes.
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
