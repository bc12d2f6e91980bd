"""Make HTTP requests to providers, with time and size limits.

The session only connects to addresses that `dnspanel.outbound` allows, and doesn't follow redirects. The adapter passes
the session to django-allauth for each request to a provider. The session connects to the checked address, but uses the
host name for TLS and HTTP.
"""

import time
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter

from dnspanel import outbound
from dnspanel.texts import gettext

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
MOST_BYTES = 1 << 20
_PORTS = {"https": 443, "http": 80}


class ProviderAway(requests.ConnectionError):
    """The provider's address isn't allowed, or its response is missing or invalid. Users can read the message."""


def provider_session() -> requests.Session:
    """Return a session for a few requests to one provider. The session ignores the environment (proxies, .netrc)."""
    session = _Session()
    session.trust_env = False
    session.mount("https://", _CheckedAddress())
    session.mount("http://", _CheckedAddress())
    return session


class _Session(requests.Session):
    def request(self, method: str, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        kwargs["allow_redirects"] = False  # the address of a redirect would not be checked
        kwargs["timeout"] = (CONNECT_SECONDS, ANSWER_SECONDS)
        return super().request(method, url, *args, **kwargs)


class _CheckedAddress(HTTPAdapter):
    """A transport adapter that connects to one checked address of the host, for one session in one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._host = self._address = ""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        parts = urlsplit(request.url or "")
        if parts.scheme != "https" and not settings.OUTBOUND_HTTP:
            raise ProviderAway(gettext("Providers must use https."))
        try:
            self._host = outbound.canonical_host(parts.hostname or "")
            port = parts.port or _PORTS[parts.scheme]
            self._address = outbound.allowed_addresses(self._host, port, settings.OIDC_NETWORKS)[0]
        except outbound.NotReachable as exc:
            raise ProviderAway(
                gettext("{exc} The operator can allow networks with PANEL_OIDC_NETWORKS.").format(exc=exc)
            ) from exc
        except (outbound.OutboundError, ValueError) as exc:
            raise ProviderAway(str(exc)) from exc
        request.headers["Host"] = parts.netloc.rpartition("@")[2]
        kwargs["stream"] = True
        response = super().send(request, *args, **kwargs)
        _read(response)
        return response

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> tuple[Any, Any]:
        place, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        place["host"] = self._address
        if place["scheme"] == "https":
            pool["server_hostname"] = pool["assert_hostname"] = self._host
        return place, pool


def _read(response: requests.Response) -> None:
    """Read the response body. Raise ProviderAway if it is too long or takes too long."""
    body, until = bytearray(), time.monotonic() + ANSWER_SECONDS
    try:
        while chunk := response.raw.read1(1 << 16, decode_content=True):
            body += chunk
            if len(body) > MOST_BYTES or time.monotonic() > until:
                raise ProviderAway(gettext("The provider’s response is too long or too slow."))
    finally:
        response.close()
    response._content = bytes(body)
    response._content_consumed = True
