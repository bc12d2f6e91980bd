"""Answers to HEAD requests: the headers of the GET, without its body (RFC 9110 section 9.3.2)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def without_bodies_for_head(application: "WSGIApplication") -> "WSGIApplication":
    """Return the application so that it sends no body in answer to HEAD.

    Django leaves that to the server. gunicorn drops the body as well, but logs a warning each time, and health checks
    of load balancers ask by HEAD every few seconds.
    """

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        body = application(environ, start_response)
        if environ["REQUEST_METHOD"] != "HEAD":
            return body
        if close := getattr(body, "close", None):
            close()
        return ()

    return answer
