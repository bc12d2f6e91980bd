"""Determine each request's id, client address and host for the audit log, `X-Request-ID` and network-bound tokens."""

from collections.abc import Callable
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.exceptions import DisallowedHost
from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Session
from replication.log_lines import request_id

# In PANEL_TRUSTED_PROXIES: all processes that can open the UNIX socket of the web processes.
UNIX_SOCKET = "unix"


class RequestOriginMiddleware:
    """Middleware that assigns an id to every request and sets `REMOTE_ADDR` to the client's address.

    `audit.origin()` returns both. A missing Host header is set too. Behind reverse proxies, the client's address is the
    last address in X-Forwarded-For that isn't a trusted proxy, because clients can forge earlier addresses. A client
    that connects through a UNIX socket has no address. Such a client counts as a trusted proxy if PANEL_TRUSTED_PROXIES
    contains `unix`, because the permissions of the socket's directory decide who can connect.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.TRUSTED_PROXIES and (forwarded := request.META.get("HTTP_X_FORWARDED_FOR")):
            request.META["REMOTE_ADDR"] = self._sender(request.META["REMOTE_ADDR"], forwarded)
        _name_host(request)
        origin = audit.Origin(request.META.get("REMOTE_ADDR") or None, str(uuid4()), lambda: _session_of(request))
        request_id.set(origin.request_id)  # Django logs some responses after the last middleware
        with audit.coming_from(origin):
            response = self.get_response(request)
        response["X-Request-ID"] = origin.request_id
        return response

    @cached_property
    def _proxies(self) -> list[IPv4Network | IPv6Network]:
        return [ip_network(network) for network in settings.TRUSTED_PROXIES if network != UNIX_SOCKET]

    def _is_proxy(self, sender: str) -> bool:
        if not sender:
            return UNIX_SOCKET in settings.TRUSTED_PROXIES
        return any(ip_address(sender) in proxy for proxy in self._proxies)

    def _sender(self, connected: str, forwarded: str) -> str:
        sender = connected
        for before in reversed(forwarded.split(",")):
            if not self._is_proxy(sender):
                break
            try:
                sender = str(ip_address(before.strip()))
            except ValueError:  # not an address, so the proxy that wrote it is the last known one
                break
        return sender


def _session_of(request: HttpRequest) -> str:
    """Return the public id of the signed-in browser session that sent the request, or "" if there is none."""
    session = getattr(request, "session", None)
    # A key from a cookie is only known to be real once the session is loaded.
    if session is None or not session.session_key or SESSION_KEY not in session:
        return ""
    return Session(session_key=session.session_key).public_id


@receiver(request_finished)
def _forget_request_id(**signal: object) -> None:
    request_id.set("")


def _name_host(request: HttpRequest) -> None:
    """Set a missing Host header to the host of PANEL_URL, unless Django's substitute is an allowed host.

    HTTP/1.0, which some routers use, doesn't require the header. Without it, Django would use the address or socket
    that the web processes listen on.
    """
    if request.META.get("HTTP_HOST"):
        return
    try:
        request.get_host()
    except DisallowedHost:
        request.META["HTTP_HOST"] = urlsplit(settings.PANEL_URL).netloc
