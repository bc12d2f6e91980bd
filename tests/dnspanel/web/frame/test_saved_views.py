"""Pages of saved views: saved from a list, opened from the list and the search box, changed and deleted."""

import re

from dnspanel.accounts.models import Membership, Team, User
from dnspanel.zones.models import SavedView
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

VIEWS = "/views/"


def test_a_view_is_saved_from_a_list_and_leads_back_to_it(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone()
    client = browser(bob)
    page = client.get("/zones/", {"q": "example", "sort": "-serial"}).content.decode()
    link = re.search(r'href="(/views/\?[^"]+)"', page)
    assert link is not None
    form = client.get(link[1].replace("&amp;", "&")).content.decode()
    assert 'name="q" value="example"' in form
    assert 'name="sort" value="-serial"' in form
    data = {"of": "zones", "q": "example", "sort": "-serial", "name": "Mine"}
    assert client.post(VIEWS, data)["Location"] == "/zones/?q=example&sort=-serial"
    assert "Mine" in client.get(VIEWS, {"of": "zones"}).content.decode()
    assert (
        "/zones/?q=example&amp;sort=-serial"
        in client.get("/search/offers/", {"q": "mine"}, headers=HTMX).content.decode()
    )
    assert "Mine" not in client.get(VIEWS, {"of": "search"}).content.decode()
    refused = client.post(VIEWS, data)
    assert refused.status_code == 422
    assert "You already have a view with this name" in refused.content.decode()


def test_above_a_list_the_form_saves_what_the_address_says(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    """Filters and sorting change the URL, but not the link to the form."""
    make_zone("www 300 A 192.0.2.1")
    headers = {**HTMX, "HX-Current-URL": "http://testserver/zones/example.test./?q=www&type=A&in=draft&after=x"}
    panel = browser(bob).get(VIEWS, {"of": "records", "zone": "example.test."}, headers=headers).content.decode()
    assert "<html" not in panel
    assert re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', panel)[1:] == [
        ("of", "records"),
        ("zone", "example.test."),
        ("q", "www"),
        ("type", "A"),
        ("in", "draft"),
    ]


def test_records_of_one_zone_or_of_every_zone(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("www 300 A 192.0.2.1")
    make_zone("www 300 A 192.0.2.1", name="other.test.")
    client = browser(bob)
    data = {"of": "records", "zone": "example.test.", "q": "www", "name": "Here"}
    assert client.post(VIEWS, data)["Location"] == "/zones/example.test./?q=www"
    client.post(VIEWS, data | {"name": "Everywhere", "everywhere": "on"})
    there = client.get(VIEWS, {"of": "records", "zone": "other.test."}).content.decode()
    assert 'href="/zones/other.test./?q=www"' in there
    assert ">Here</a>" not in there
    assert "open the view in a zone" in client.get(VIEWS).content.decode()
    assert client.get(VIEWS, {"of": "records", "zone": "hidden.test."}).status_code == 404


def test_a_view_with_columns_shows_those_to_whoever_opens_it(
    make_zone: MakeZone, browser: Browser, bob: User, charlie: User
) -> None:
    make_zone()
    team = Team.objects.create(name="Web ops", created_at=NOW)
    for person in (bob, charlie):
        Membership.objects.create(team=team, user=person, role="editor")
    client = browser(bob)
    client.post("/account/lists/zones/", {"column": ["serial"], "dense": "yes"})
    data = {"of": "zones", "q": "example", "name": "Narrow", "columns": "on", "team": str(team.pk)}
    address = client.post(VIEWS, data)["Location"]
    others = browser(charlie)
    assert "no-author" in others.get(address).content.decode()
    assert "no-author" not in others.get("/zones/?q=example").content.decode()
    assert "Narrow" in others.get(VIEWS).content.decode()
    assert others.get(f"{VIEWS}{SavedView.objects.get().pk}/").status_code == 404
    # A deleted view leaves only its search.
    client.post(f"{VIEWS}{SavedView.objects.get().pk}/delete/")
    assert "no-author" not in others.get(address).content.decode()


def test_its_owner_renames_shares_and_deletes_it(browser: Browser, bob: User) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    Membership.objects.create(team=team, user=bob, role="editor")
    client = browser(bob)
    client.post(VIEWS, {"of": "search", "q": "type:mx", "name": "Mail"})
    view = SavedView.objects.get()
    page = f"{VIEWS}{view.pk}/"
    assert "type:mx" in client.get(page).content.decode()
    assert client.post(page, {"name": "", "team": ""}).status_code == 422
    assert client.post(page, {"name": "Mail servers", "team": str(team.pk)})["Location"] == VIEWS
    view.refresh_from_db()
    assert (view.name, view.team) == ("Mail servers", team)
    listed = client.get(VIEWS).content.decode()
    assert "shared with Web ops" in listed
    assert 'href="/search/?q=type%3Amx"' in listed
    assert client.post(f"{page}delete/")["Location"] == VIEWS
    assert not SavedView.objects.exists()
