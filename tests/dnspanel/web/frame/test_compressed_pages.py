"""Pages are sent compressed; files are not."""

import gzip

from django.test import Client

from dnspanel.accounts.models import User
from tests.dnspanel.web.conftest import MakeZone

ASKS = {"Accept-Encoding": "gzip, br"}


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_a_page_is_compressed_for_who_asks(make_zone: MakeZone, alice: User) -> None:
    make_zone(*(f"host{number} 300 A 192.0.2.{number}" for number in range(1, 101)))
    client = signed_in(alice)
    plain = client.get("/zones/example.test./")
    packed = client.get("/zones/example.test./", headers=ASKS)
    assert "Content-Encoding" not in plain
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert len(packed.content) * 8 < len(plain.content)
    assert b"host50.example.test." in gzip.decompress(packed.content)


def test_equal_pages_differ_in_length(alice: User) -> None:
    """Otherwise the compressed length could reveal page content (BREACH)."""
    client = signed_in(alice)
    assert len({len(client.get("/zones/", headers=ASKS).content) for _ in range(8)}) > 1


def test_a_fragment_is_compressed_too(make_zone: MakeZone, alice: User) -> None:
    make_zone()
    fragment = signed_in(alice).get("/zones/example.test./", headers=ASKS | {"HX-Request": "true"})
    assert fragment["Content-Encoding"] == "gzip"


def test_files_keep_their_length(make_zone: MakeZone, alice: User) -> None:
    make_zone()
    client = signed_in(alice)
    for path in ("/zones/example.test./export/bind/", "/docs/api/openapi.json"):
        response = client.get(path, headers=ASKS)
        assert response.status_code == 200, path
        assert "Content-Encoding" not in response
