"""Text mode: the zone as text, errors while typing, and the changes that it puts into the draft."""

import re
from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.transfer import zone_text
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Channel, Operation, Zone
from dnspanel.zones.publishing import revision
from replication.dns.rrset import RRset
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr

ADDRESS = "/zones/example.test./text/"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1 | 192.0.2.2", "shop 300 CNAME www")


def field(page: str, name: str) -> str:
    """Return the content of a text area of the page."""
    found = re.search(rf'<textarea[^>]*\bname="{name}"[^>]*>(.*?)</textarea>', page, re.S)
    assert found
    return unescape(found[1])


def opened(client: Any, query: str = "") -> dict[str, str]:
    """Return the form's fields as the page first shows them."""
    # The folding client would join the lines of the text area.
    response = client.get(ADDRESS + query)
    page = getattr(response, "unfolded", response.content).decode()
    hidden = dict(re.findall(r'<input type="hidden" name="(revision|whole)" value="(.*?)"', page))
    return {"text": field(page, "text"), "base": field(page, "base"), **hidden}


def as_drafted(bob: User, zone: Zone, name: str, type: int = 1) -> RRset | None:
    return rrset_pages.rrset_row(zone=zone, author=bob, name=name, type=type).change.after


def text_with(form: dict[str, str], old: str, new: str) -> dict[str, str]:
    assert old in form["text"]
    return form | {"text": form["text"].replace(old, new)}


def test_the_text_is_a_zone_file_that_changes_nothing(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    form = opened(client)
    assert form["text"].startswith("$ORIGIN example.test.\n$TTL 3600\n@ 3600 IN SOA ")
    assert "www 300 IN A 192.0.2.1\nwww 300 IN A 192.0.2.2\n" in form["text"]
    assert (form["whole"], form["revision"]) == ("1", "1")
    # As a browser sends it.
    form["text"] = form["text"].replace("\n", "\r\n")
    response = client.post(ADDRESS, form | {"act": "save"}, follow=True)
    assert response.redirect_chain[0][0] == "/zones/example.test./"
    assert "The text contains no changes" in response.content.decode()
    assert Operation.objects.count() == 0


def test_saving_fills_the_draft_and_shows_it(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    form = text_with(
        opened(client), "www 300 IN A 192.0.2.1\nwww 300 IN A 192.0.2.2\n", "www 60 A 192.0.2.3\nnew A 1.2.3.4\n"
    )
    form = text_with(form, "shop 300 IN CNAME www.example.test.\n", "")
    checked = client.post(ADDRESS, form | {"act": "check"}, headers=HTMX).content.decode()
    assert "1 added, 1 changed, 1 deleted" in checked
    assert "<textarea" not in checked
    assert Operation.objects.count() == 0
    response = client.post(ADDRESS, form | {"act": "save"}, headers=HTMX)
    assert response["HX-Redirect"] == "/zones/example.test./?in=draft"
    assert as_drafted(bob, zone, "www.example.test.") == rr("www 60 A 192.0.2.3")
    assert as_drafted(bob, zone, "new.example.test.") == rr("new 3600 A 1.2.3.4")
    assert as_drafted(bob, zone, "shop.example.test.", 5) is None
    assert Operation.objects.count() == 3


def test_a_fault_has_line_and_column_and_nothing_typed_is_lost(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    form = text_with(opened(client), "www 300 IN A 192.0.2.2", "www 300 IN A 192.0.2.299")
    response = client.post(ADDRESS, form | {"act": "save"})
    page = response.content.decode()
    assert response.status_code == 422
    assert re.search(r'data-line="8" data-column="14">Show line 8, column 14<', page)
    assert field(page, "text") == form["text"]
    assert field(page, "base") == form["base"]
    assert Operation.objects.count() == 0
    assert client.post(ADDRESS, form | {"act": "check"}).status_code == 200


def test_what_somebody_publishes_meanwhile_stays_or_is_a_conflict(
    zone: Zone, browser: Browser, bob: User, alice: User
) -> None:
    client = browser(bob)
    form = opened(client)
    now = timezone.now()
    for line in ("www 300 A 192.0.2.7", "mine 300 A 192.0.2.8"):
        draft.replace_rrset(author=alice, zone=zone, rrset=rr(line), now=now)
    revision.publish(acting=Acting(alice, Channel.WEB, now), zones=[zone])
    form = text_with(form, "shop 300 IN", "shop 600 IN")
    client.post(ADDRESS, form | {"act": "save"})
    assert as_drafted(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.7")
    assert as_drafted(bob, zone, "mine.example.test.") == rr("mine 300 A 192.0.2.8")
    [operation] = Operation.objects.all()
    assert operation.name == "shop.example.test."
    client.post(ADDRESS, text_with(form, "www 300 IN A 192.0.2.1\n", "") | {"act": "save"})
    row = rrset_pages.rrset_row(zone=zone, author=bob, name="www.example.test.", type=1)
    assert row.conflict
    assert row.change.after == rr("www 300 A 192.0.2.2")


def test_what_the_draft_got_meanwhile_is_asked_about(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    form = text_with(opened(client), "www 300 IN A 192.0.2.1\n", "")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.7"), now=timezone.now())
    response = client.post(ADDRESS, form | {"act": "save"})
    assert response.status_code == 422
    assert "www.example.test. A was changed in your draft after this text was opened" in response.content.decode()
    assert as_drafted(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.7")
    client.post(ADDRESS, form | {"act": "save", "over": "1"})
    assert as_drafted(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.2")


def test_the_filter_and_the_ticks_choose_a_part(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get("/zones/example.test./?q=shop&type=CNAME").content.decode()
    assert f'<form id="as-text" method="get" action="{ADDRESS}"' in page
    assert '<input type="hidden" form="as-text" name="q" value="shop">' in page
    assert '<input type="hidden" form="as-text" name="type" value="CNAME">' in page
    form = opened(client, "?q=shop")
    assert "www 300" not in form["text"]
    assert form["whole"] == ""
    form["text"] += "www 60 A 192.0.2.1\nother A 192.0.2.1\n"
    page = client.post(ADDRESS, form | {"act": "save", "q": "shop"}).content.decode()
    assert "www.example.test. A exists in the zone, but not in the part you’re editing" in page
    assert "other.example.test." not in page
    ticked = client.post(ADDRESS, {"rr": ["www.example.test. 1"]}).content.decode()
    assert field(ticked, "text").count("\n") == 4
    assert client.post(ADDRESS, {}, follow=True).redirect_chain[0][0] == "/zones/example.test./"


def test_more_than_fits_leads_to_files(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zone_text, "MOST_RRSETS", 3)
    page = browser(bob).get(ADDRESS).content.decode()
    assert "/zones/example.test./export/bind/" in page
    assert "/imports/new/" in page
    assert "<textarea" not in page
    too_long = {"act": "check", "text": "x" * (2 * zone_text.LONGEST_TEXT + 1)}
    response = browser(bob).post(ADDRESS, too_long, headers=HTMX)
    assert (response.status_code, "2,000,000" in response.content.decode()) == (422, True)


def test_a_full_draft_is_said_beside_the_text(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    form = text_with(opened(client), "shop 300 IN", "shop 600 IN")
    set_quotas(of=bob, quotas={Kind.OPERATIONS: 0}, by=None, now=timezone.now())
    response = client.post(ADDRESS, form | {"act": "save"})
    assert response.status_code == 422
    assert field(response.content.decode(), "text") == form["text"]
