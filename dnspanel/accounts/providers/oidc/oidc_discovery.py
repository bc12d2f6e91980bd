"""Fetch providers' endpoints and signing keys (OpenID Connect Discovery 1.0)."""

import time
from typing import Any

import requests
from django.conf import settings

from dnspanel.accounts.providers.provider_http import ProviderAway, provider_session
from dnspanel.texts import gettext

# Many clicks on a sign-in button cause only one request to the provider.
REMEMBERED_SECONDS = 300
_MOST_REMEMBERED = 100
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_remembered: dict[str, tuple[float, dict[str, Any]]] = {}


def configuration_of(issuer: str) -> dict[str, Any]:
    """Return the provider's configuration, cached for REMEMBERED_SECONDS. Raise ProviderAway if it can't be used.

    The configuration must contain this issuer, so that one provider can't impersonate another (section 4.3).
    """
    known = _remembered.get(issuer)
    if known is not None and time.monotonic() - known[0] < REMEMBERED_SECONDS:
        return known[1]
    found = _fetch_json(issuer.rstrip("/") + "/.well-known/openid-configuration")
    if found.get("issuer") != issuer:  # section 4.3: otherwise, one provider could impersonate another
        raise ProviderAway(
            gettext("The provider’s issuer is {value}. Enter it exactly as shown.").format(
                value=str(found.get("issuer"))[:200]
            )
        )
    for name in _NEEDED:
        _refuse_bad_url(name, found.get(name))
    if found.get("userinfo_endpoint"):
        _refuse_bad_url("userinfo_endpoint", found["userinfo_endpoint"])
    if len(_remembered) >= _MOST_REMEMBERED:
        _remembered.clear()
    _remembered[issuer] = time.monotonic(), found
    return found


def keys_of(configuration: dict[str, Any]) -> dict[str, Any]:
    """Fetch the provider's current JSON Web Key Set. Raise ProviderAway if the key set can't be fetched or used."""
    return _fetch_json(configuration["jwks_uri"])


def forget() -> None:
    """Clear the cached configurations, so that they are fetched again."""
    _remembered.clear()


def _fetch_json(url: str) -> dict[str, Any]:
    try:
        with provider_session() as session:
            response = session.get(url)
        found = response.json() if response.status_code == 200 else None
    except ProviderAway:
        raise
    except requests.JSONDecodeError as exc:
        raise ProviderAway(gettext("{url} didn’t return valid JSON.").format(url=url)) from exc
    except requests.RequestException as exc:
        raise ProviderAway(gettext("{url} didn’t respond.").format(url=url)) from exc
    if not isinstance(found, dict):
        raise ProviderAway(
            gettext("{url} returned status {status_code} instead of the provider’s configuration.").format(
                url=url, status_code=response.status_code
            )
        )
    return found


def is_allowed_url(url: object) -> bool:
    """Return True if the panel can fetch or redirect to this https URL (http only if the operator allows it)."""
    schemes = ("https://", "http://") if settings.OUTBOUND_HTTP else ("https://",)
    return isinstance(url, str) and url.startswith(schemes) and url.isprintable() and " " not in url


def _refuse_bad_url(name: str, url: object) -> None:
    if not is_allowed_url(url):
        raise ProviderAway(gettext("The provider’s {name} must be an https URL.").format(name=name))
