"""Middleware: pages travel compressed, with bytes of random number beside them.

Files are left as they are: they have their own length and form. Answers of the APIs are compressed by
`api.compressed_answers`, which needs no random bytes, and leaves alone the ETags that clients send back.

BREACH guesses a secret of a page by the length of its compressed answers, sending its guesses along. Here it finds
nothing to guess: the token against CSRF is masked differently in each page, other secrets are shown once, cookies
do not travel with requests of other sites (SameSite), and each answer is longer by up to 100 random bytes.
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedPagesMiddleware(GZipMiddleware):
    """Compress HTML for browsers that ask for it."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
