"""Tests of the URLs of API v1."""

from typing import Any

from django.urls import get_resolver, reverse
from django.urls.resolvers import URLPattern

from dnspanel.api.v1 import urls
from dnspanel.api.v1.view import NothingHere, PowerdnsView


def view_class(view: Any) -> type:
    """Return the class of a view that `as_view` created."""
    found: type = view.view_class
    return found


def test_every_view_denies_by_default() -> None:
    for pattern in urls.urlpatterns:
        assert isinstance(pattern, URLPattern)
        assert issubclass(view_class(pattern.callback), PowerdnsView)
        assert str(pattern.name).startswith("v1-")


def test_the_api_sits_at_the_root_of_the_host() -> None:
    kwargs = {"server_id": "localhost", "zone_id": "example.test."}
    assert reverse("api:v1-zone-notify", kwargs=kwargs) == "/api/v1/servers/localhost/zones/example.test./notify"


def test_whatever_else_is_below_it_is_nothing() -> None:
    for path in ("/api/v1/servers/localhost/zones/", "/api/v1/x/y", "/api/v1/"):
        assert view_class(get_resolver().resolve(path).func) is NothingHere
