"""Tests of the URLs of API v1 that don't belong to a zone."""

import pytest
from django.urls import URLPattern

from dnspanel.accounts.models import User
from dnspanel.api.v1.urls_server import urlpatterns
from dnspanel.api.v1.view import PowerdnsView
from tests.dnspanel.api.v1.calls import caller


@pytest.mark.parametrize("pattern", urlpatterns, ids=lambda pattern: str(pattern.name))
def test_every_url_is_a_call_of_the_frame(pattern: URLPattern) -> None:
    assert issubclass(pattern.callback.view_class, PowerdnsView)  # type: ignore[attr-defined]
    assert str(pattern.name).startswith("v1-")
    assert not str(pattern.pattern).endswith("/")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/config/", "/config/api-key", "/nope", "/zones/a.test./nope", "/cache"])
def test_anything_beside_them_is_not_found(path: str, bob: User) -> None:
    assert caller(bob)("GET", path).status_code == 404
