"""The page that clones a zone."""

from uuid import uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import clone
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone

CLONE = "/zones/example.test./clone/"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone(
        "www 300 A 192.0.2.1", "shop 300 CNAME www", "sub 60 NS ns1.example.net.", "sub 60 DS 1 13 2 " + "ab" * 32
    )


def test_a_zone_is_cloned_from_its_page(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert f'href="{CLONE}"' in client.get("/zones/example.test./").content.decode()
    page = client.get(CLONE).content.decode()
    assert "shop 300 CNAME www.example.test." in page
    assert "1 DS" in page
    preview = client.get(CLONE, {"names": "new.test"}, headers=HTMX).content.decode()
    assert "shop 300 CNAME www.new.test." in preview
    form = {"names": "new.test", "form_id": str(uuid4())}
    assert client.post(CLONE, form).url == "/zones/new.test./"
    [shop] = StoredRRset.objects.filter(zone__name="new.test.", name="shop.new.test.")
    assert shop.rdata == ["www.new.test."]
    # Sent again, the form leads to the same publication.
    assert client.post(CLONE, form).url == "/zones/new.test./"
    assert Zone.objects.count() == 2


def test_what_cannot_be_is_told_at_the_name(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(bob)
    taken = client.post(CLONE, {"names": "example.test", "form_id": str(uuid4())})
    assert (taken.status_code, b"example.test. already exists" in taken.content) == (422, True)
    assert b"already exists" in client.get(CLONE, {"names": "example.test"}, headers=HTMX).content
    monkeypatch.setattr(clone, "MOST_CLONED", 7)
    much = client.post(CLONE, {"names": "a.test\nb.test", "form_id": str(uuid4())})
    assert (much.status_code, b"can have at most 7" in much.content) == (422, True)
    assert Zone.objects.count() == 1


def test_a_reader_is_offered_no_clone(zone: Zone, browser: Browser, charlie: User) -> None:
    client = browser(charlie)
    assert CLONE.encode() not in client.get("/zones/example.test./").content
    assert client.get(CLONE).status_code == 403
