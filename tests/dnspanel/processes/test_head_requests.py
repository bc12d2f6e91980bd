"""Answers to HEAD, as Django gives them and as the panel's application does."""

from collections.abc import Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application

from dnspanel.processes.head_requests import without_bodies_for_head


class Closing:
    """A body that knows whether it was closed."""

    closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield b"text"

    def close(self) -> None:
        self.closed = True


def ask(application: Any, method: str, path: str = "/livez") -> tuple[str, dict[str, str], bytes]:
    environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path}
    setup_testing_defaults(environ)
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    body = application(environ, lambda status, headers, exc_info=None: begun.append((status, headers)))
    sent = b"".join(body)
    [(status, headers)] = begun
    return status, dict(headers), sent


@pytest.fixture
def application(settings: Any) -> WSGIHandler:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    return get_wsgi_application()


@pytest.mark.django_db
def test_head_has_the_headers_of_get_and_no_body(application: WSGIHandler) -> None:
    got = ask(without_bodies_for_head(application), "GET")
    assert (got[0], got[2] != b"") == ("200 OK", True)
    head = ask(without_bodies_for_head(application), "HEAD")
    assert head == (got[0], got[1], b"")
    assert ask(application, "HEAD")[2] == got[2], "Django does not do it by now: without_bodies_for_head may go"


def test_the_body_that_is_not_sent_is_closed() -> None:
    body = Closing()
    assert list(without_bodies_for_head(lambda environ, start: body)({"REQUEST_METHOD": "HEAD"}, lambda *_: None)) == []
    assert body.closed
