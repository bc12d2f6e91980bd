"""Pages of consumed catalogs, and their forms (`fleet.catalog_form`)."""

from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.models import Team, User
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.primaries.models import TransferredZone
from dnspanel.web.fleet import catalogs
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import YES, Browser
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "c2l4dGVlbiBieXRlcyBub3c="
MEMBERS = {"tags": "partner", "within": "test", "most_members": "100", "most_lost": "20"}
PRIMARIES = {"addresses": "9.9.9.9", "tsig_algorithm": "hmac-sha256", "tsig_name": "key", "tsig_secret": SECRET}


def followed(browser: Browser, person: User, **fields: Any) -> Catalog:
    form = {"name": "Catalog.partner.test", **MEMBERS, **PRIMARIES, "form_id": str(uuid4()), **fields}
    answer = browser(person).post("/catalogs/new/", form)
    assert answer.status_code == 302, answer.content.decode()
    return Catalog.objects.latest("created_at")


def test_one_is_followed_and_its_page_says_how_it_stands(browser: Browser, alice: User, charlie: User) -> None:
    client = browser(alice)
    assert "No consumed catalogs yet" in client.get("/catalogs/").content.decode()
    catalog = followed(browser, alice)
    url = f"/catalogs/{catalog.pk}/"
    assert "transfer pending" in client.get("/catalogs/").content.decode()
    Catalog.objects.update(broken_since=NOW, broken_reason="It has no version", listed=1234)
    page = client.get(url).content.decode()
    assert "and its changes are ignored. Reason: It has no version." in page
    assert "1,234" in page
    assert SECRET not in page
    reader = browser(charlie).get(url).content.decode()
    assert "It has no version." in reader
    assert "Stop following" not in reader
    assert browser(charlie).post(f"{url}unfollow/").status_code == 403


def test_what_is_wrong_stands_at_its_field(browser: Browser, alice: User) -> None:
    form = {"name": "a..b", **MEMBERS, **PRIMARIES, "addresses": "127.0.0.1", "form_id": str(uuid4())}
    assert 'id="id_name_error"' in browser(alice).post("/catalogs/new/", form).content.decode()
    form["name"] = "catalog.test"
    page = browser(alice).post("/catalogs/new/", form)
    assert page.status_code == 422
    assert 'id="id_addresses_error"' in page.content.decode()
    page = browser(alice).post("/catalogs/new/", {**form, "addresses": "9.9.9.9", "tags": "no!tag"})
    assert 'id="id_tags_error"' in page.content.decode()
    assert not Zone.objects.exists()
    followed(browser, alice)
    again = {**form, "name": "catalog.partner.test", "addresses": "9.9.9.9", "form_id": str(uuid4())}
    assert "already exists" in browser(alice).post("/catalogs/new/", again).content.decode()


def test_it_is_changed_and_given_rules_with_a_secret_that_stays(browser: Browser, alice: User) -> None:
    catalog, client = followed(browser, alice), browser(alice)
    url = f"/catalogs/{catalog.pk}/"
    team = Team.objects.create(name="Partners", created_at=NOW)
    assert client.post(f"{url}change/", {**MEMBERS, "team": team.pk, "most_lost": "5"})["Location"] == url
    catalog.refresh_from_db()
    assert (catalog.team, catalog.most_lost) == (team, 5)
    assert client.post(f"{url}change/", {**MEMBERS, "within": "a..b"}).status_code == 422
    assert client.post(f"{url}rule/", {"group": "gold", "tags": "gold", **PRIMARIES})["Location"] == url
    assert client.post(f"{url}rule/", {"group": "silver", "tsig_algorithm": "hmac-sha256"})["Location"] == url
    kept = {"group": "gold", "addresses": "9.9.9.10", "tsig_name": "key", "tsig_algorithm": "hmac-sha256"}
    assert client.post(f"{url}rule/", kept)["Location"] == url
    gold, silver = catalog.rules.order_by("pk")
    assert (gold.addresses, gold.tsig_name, silver.addresses) == (["9.9.9.10"], "key.", [])
    page = client.post(f"{url}rule/", {**kept, "group": "bronze"})
    assert page.status_code == 422
    assert "Enter the key secret" in page.content.decode()
    assert client.post(f"{url}rule/", {"drop": str(silver.pk)})["Location"] == url
    assert [rule.group for rule in catalog.rules.all()] == ["gold"]


def test_removals_are_confirmed_once_that_was_asked(browser: Browser, alice: User) -> None:
    catalog, client = followed(browser, alice), browser(alice)
    url = f"/catalogs/{catalog.pk}/"
    said = client.post(f"{url}confirm/", {"revision": "3"}, follow=True).content.decode()
    assert "is waiting for confirmation" in said
    Catalog.objects.update(kept_since=NOW, kept_count=7, kept_revision=3)
    assert "7 members left the catalog" in client.get(url).content.decode()
    effects = client.post(f"{url}confirm/", {"revision": "3"}).content.decode()
    assert "7 zones that left the catalog will be moved to the trash" in effects
    assert Catalog.objects.get().confirmed_revision is None
    assert client.post(f"{url}confirm/", {"revision": "3", **YES})["Location"] == url
    assert Catalog.objects.get().confirmed_revision == 3


def test_the_zones_that_it_names_come_page_by_page(
    browser: Browser, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogs, "MOST_LISTED", 2)
    catalog, client = followed(browser, alice), browser(alice)
    url = f"/catalogs/{catalog.pk}/"
    assert "No zones in this catalog yet." in client.get(url).content.decode()
    for name, state in (("a.test.", State.MEMBER), ("b.test.", State.REFUSED), ("c.test.", State.MEMBER)):
        Listing.objects.create(
            catalog=catalog, zone_name=name, label="x", state=state, reason="Why not.", coo="other.", since=NOW
        )
    first = client.get(url).content.decode()
    assert "?q=&amp;state=&amp;after=b.test." in first
    assert "Why not." in first
    assert "can move to other." in first
    second = client.get(f"{url}?after=b.test.").content.decode()
    assert ("c.test." in second, "a.test." in second) == (True, False)
    refused = client.get(f"{url}?state=refused").content.decode()
    assert ("b.test." in refused, "a.test." in refused) == (True, False)
    assert "No matching zones." in client.get(f"{url}?q=z").content.decode()


def test_it_is_asked_and_followed_no_more(browser: Browser, alice: User) -> None:
    catalog, client = followed(browser, alice), browser(alice)
    url = f"/catalogs/{catalog.pk}/"
    TransferredZone.objects.update(due_at=None)
    assert client.post(f"{url}ask/")["Location"] == url
    assert TransferredZone.objects.get().due_at is not None
    assert "kept and will still be transferred from their primaries" in client.post(f"{url}unfollow/").content.decode()
    assert client.post(f"{url}unfollow/", YES)["Location"] == "/catalogs/"
    assert not Catalog.objects.exists()
    assert client.get(url).status_code == 404
