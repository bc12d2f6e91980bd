"""New zones that are transferred from a primary: they wait for the first transfer, and a search finds their primary."""

import re

import pytest

from dnspanel.accounts.models import User
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import Browser, MakeZone

pytestmark = pytest.mark.django_db(transaction=True)

NEW = "/zones/new/transferred/"
SENT = {
    "form_id": "00000000-0000-4000-8000-000000000001",
    "name": "Abroad.test",
    "addresses": "9.9.9.9",
    "tsig_algorithm": "hmac-sha256",
}


def test_a_zone_from_elsewhere_is_made_and_found(make_zone: MakeZone, browser: Browser, alice: User) -> None:
    make_zone(name="here.test.")
    client = browser(alice)
    assert NEW in client.get("/zones/new/").content.decode()
    assert client.get(NEW).status_code == 200
    assert client.post(NEW, SENT)["Location"] == "/zones/abroad.test./"
    row = TransferredZone.objects.get(zone__name="abroad.test.")
    assert (row.addresses, row.is_active, row.serial) == (["9.9.9.9"], True, None)
    for search, found in (("elsewhere", "abroad.test."), ("here", "here.test.")):
        page = client.get("/zones/", {"q": f"primary:{search}"}).content.decode()
        assert [name for name in ("abroad.test.", "here.test.") if f"/zones/{name}/" in page] == [found]


def test_what_stands_against_it_is_told_at_its_field(make_zone: MakeZone, browser: Browser, alice: User) -> None:
    make_zone(name="abroad.test.")
    client = browser(alice)
    for sent, told in (
        ({}, "abroad.test."),
        ({"name": "not..a name"}, 'id="id_name_error"'),
        ({"addresses": "127.0.0.1"}, 'id="id_addresses_error"'),
    ):
        answer = client.post(NEW, {**SENT, **sent})
        assert answer.status_code == 422
        assert told in answer.content.decode()
    assert Zone.objects.count() == 1


def open_folds(page: bytes) -> list[str]:
    return re.findall(r'<details class="more" open> ?<summary>(\w+)', page.decode())


def test_tls_and_key_are_folded_until_they_have_a_value_or_an_error(browser: Browser, alice: User) -> None:
    client = browser(alice)
    page = client.get(NEW).content
    assert page.count(b'<details class="more">') == 2
    assert page.index(b'name="addresses"') < page.index(b'<details class="more') < page.index(b'name="uses_tls"')
    for sent, opened in (
        ({"addresses": "127.0.0.1"}, []),
        ({"addresses": "127.0.0.1", "tls_names": "ns1.abroad.test"}, ["TLS"]),
        ({"tsig_algorithm": "rot13"}, ["TSIG"]),
    ):
        assert open_folds(client.post(NEW, {**SENT, **sent}).content) == opened
    assert open_folds(client.get("/catalogs/new/").content) == []


def test_a_zone_with_tls_and_a_key_shows_them(browser: Browser, alice: User) -> None:
    terms = {"uses_tls": "on", "tls_names": "ns1.abroad.test", "tsig_name": "key", "tsig_secret": "c2VjcmV0" * 4}
    client = browser(alice)
    assert client.post(NEW, SENT | terms).status_code == 302
    assert open_folds(client.get("/zones/abroad.test./primaries/").content) == ["TLS", "TSIG"]
