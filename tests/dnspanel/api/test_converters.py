"""Tests of the URL converter for names with slashes. The tests of zones and keys of both APIs test its use."""

import pytest
from django.test import Client
from django.urls import resolve, reverse

from dnspanel.api.converters import LONGEST

V1 = "/api/v1/servers/localhost"


@pytest.mark.parametrize(
    ("path", "name", "zone"),
    [
        (f"{V1}/zones/0/25.test.", "v1-zone", "0/25.test."),
        (f"{V1}/zones/0/25.test./export", "v1-zone-export", "0/25.test."),
        (f"{V1}/zones/export", "v1-zone", "export"),
        (f"{V1}/zones/a.test./metadata/export", "v1-metadata", "a.test."),
        (f"{V1}/zones/a.test./cryptokeys/7", "v1-cryptokey", "a.test."),
        ("/api/v2/zones/0/25.test./revisions/3/rrsets", "v2-revision-rrsets", "0/25.test."),
        ("/api/v2/zones/0/25.test./rrsets", "v2-rrsets", "0/25.test."),
    ],
)
def test_the_longest_url_that_fits_is_meant(path: str, name: str, zone: str) -> None:
    found = resolve(path)
    assert found.url_name == name
    assert found.kwargs["zone_id" if "zone_id" in found.kwargs else "zone_name"] == zone


@pytest.mark.parametrize("path", [f"{V1}/zones/a%0Ab", "/api/v1/a%0Ab", "/api/v2/zones/a%0Ab", "/api/v2/a%0Ab"])
def test_a_line_end_in_a_url_is_answered_by_the_api(path: str) -> None:
    assert Client().get(path).headers["Content-Type"] in {"text/plain; charset=utf-8", "application/problem+json"}


def test_a_name_stands_in_a_url_as_it_is() -> None:
    kwargs = {"server_id": "localhost", "zone_id": "0/25.test."}
    assert resolve(reverse("api:v1-zone", kwargs=kwargs)).kwargs == kwargs


def test_what_is_too_long_for_a_name_is_nothing() -> None:
    assert resolve("/api/v2/zones/" + "a" * LONGEST).url_name == "v2-zone"
    assert resolve("/api/v2/zones/" + "a" * (LONGEST + 1)).url_name == "v2-nothing"
    assert resolve(f"{V1}/zones/" + "a" * (LONGEST + 1)).url_name == "v1-nothing"
