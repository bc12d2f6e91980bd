"""Middleware: pages travel compressed, with bytes of random number beside them.

Files and answers of the APIs are left as they are: files have their own length and form, and compression would make
the ETags weak by which clients say what they have seen.

BREACH guesses a secret of a page by the length of its compressed answers, sending its guesses along. Here it finds
nothing to guess: the token against CSRF is masked anew in each page, other secrets are shown once, cookies do not
travel with requests of other sites (SameSite), and each answer is longer by up to 100 random bytes.
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
