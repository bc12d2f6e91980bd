"""Answer HEAD requests with the headers of a GET, without the body (RFC 9110 section 9.3.2)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def without_bodies_for_head(application: "WSGIApplication") -> "WSGIApplication":
    """Wrap a WSGI application to drop the bodies of its answers to HEAD requests.

    Django leaves this to the server. gunicorn also drops the body, but logs a warning each time. Load balancers send
    HEAD requests as health checks every few seconds.
    """

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        body = application(environ, start_response)
        if environ["REQUEST_METHOD"] != "HEAD":
            return body
        if close := getattr(body, "close", None):
            close()
        return ()

    return answer
