"""URLs of alerts are readable, and redirect only to allowed targets."""

import pytest
from django.urls import reverse


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("alert-list", "/alerts/"),
        ("alert-history", "/alerts/history/"),
        ("alert-routes", "/alerts/routes/"),
        ("alert-route-new", "/alerts/routes/new/"),
        ("alert-bell", "/frame/alerts/"),
    ],
)
def test_addresses(name: str, path: str) -> None:
    assert reverse(name) == path
