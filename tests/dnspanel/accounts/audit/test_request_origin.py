"""Tests of the origin of a request."""

from typing import Any

import pytest
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from dnspanel.accounts.audit import audit
from dnspanel.accounts.audit.request_origin import RequestOriginMiddleware


def test_the_request_and_its_answer_have_one_id() -> None:
    seen: list[audit.Origin] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(audit.origin())
        return HttpResponse()

    middleware = RequestOriginMiddleware(answer)
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.7")
    first, second = middleware(request), middleware(request)
    assert [origin.address for origin in seen] == ["192.0.2.7"] * 2
    assert [first["X-Request-ID"], second["X-Request-ID"]] == [origin.request_id for origin in seen]
    assert first["X-Request-ID"] != second["X-Request-ID"]
    assert audit.origin() == audit.Origin()


@pytest.mark.parametrize(
    ("connected", "forwarded", "sender"),
    [
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # not from our proxy: ignored
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),  # the part that the client wrote is ignored
        ("127.0.0.1", "198.51.100.7, 10.0.0.5", "198.51.100.7"),
        ("10.0.0.5", "2001:db8::1", "2001:db8::1"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("", "203.0.113.9, 198.51.100.7", "198.51.100.7"),  # through the web processes' UNIX socket
        ("", "198.51.100.7, 10.0.0.5", "198.51.100.7"),
        ("", "unknown", ""),
    ],
)
def test_behind_a_proxy_the_sender_is_the_one_that_the_proxy_saw(
    settings: Any, connected: str, forwarded: str, sender: str
) -> None:
    settings.TRUSTED_PROXIES = ["unix", "127.0.0.1", "10.0.0.0/8"]
    seen: list[str | None] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(audit.origin().address)
        return HttpResponse(request.META["REMOTE_ADDR"])

    request = RequestFactory().get("/", REMOTE_ADDR=connected, HTTP_X_FORWARDED_FOR=forwarded)
    assert RequestOriginMiddleware(answer)(request).content.decode() == sender
    assert seen == [sender or None]


@pytest.mark.parametrize("host", [{}, {"HTTP_HOST": ""}])
@pytest.mark.parametrize("server", [("127.0.0.9", "8000"), ("/run/dnspanel/web.sock", "")])
def test_a_request_without_a_host_is_to_the_panel(settings: Any, host: dict[str, str], server: tuple[str, str]) -> None:
    settings.PANEL_URL, settings.ALLOWED_HOSTS = "https://dns.example.net:8443", ["dns.example.net"]
    name, port = server
    request = RequestFactory().get("/nic/update", SERVER_NAME=name, SERVER_PORT=port, **host)
    answered = RequestOriginMiddleware(lambda request: HttpResponse(request.get_host()))(request)
    assert answered.content == b"dns.example.net:8443"


def test_a_host_that_is_not_the_panels_stays_refused(settings: Any) -> None:
    settings.PANEL_URL, settings.ALLOWED_HOSTS = "https://dns.example.net", ["dns.example.net"]
    request = RequestFactory().get("/", HTTP_HOST="evil.test")
    with pytest.raises(DisallowedHost):
        RequestOriginMiddleware(lambda request: HttpResponse(request.get_host()))(request)


def test_a_unix_socket_is_no_proxy_unless_the_settings_say_so(settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    middleware = RequestOriginMiddleware(lambda request: HttpResponse(request.META["REMOTE_ADDR"]))
    request = RequestFactory().get("/", REMOTE_ADDR="", HTTP_X_FORWARDED_FOR="198.51.100.7")
    assert middleware(request).content == b""
