"""One change to many records, selected by ticks or by the filter, with and without JavaScript."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Operation, Zone
from replication.dns.rdtypes import A
from replication.dns.rrset import Notes
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.zones.conftest import rr

MANY = "/zones/example.test./many/"
RECORDS = "/zones/example.test./"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone(*(f"h{number} 300 A 192.0.2.{number}" for number in range(1, 6)), "t 300 TXT old", "u 300 TXT new")


def drafted(bob: User, zone: Zone) -> list[object]:
    rows = [rrset_pages.rrset_row(zone=zone, author=bob, name=o.name, type=o.type) for o in Operation.objects.all()]
    return sorted((row.change.after for row in rows), key=str)


@pytest.mark.django_db
def test_a_ttl_for_what_is_ticked_goes_straight_into_the_draft(zone: Zone, browser: Browser, bob: User) -> None:
    data = {"act": "ttl", "ttl": "1h", "rr": ["h1.example.test. 1", "h2.example.test. 1"]}
    response = browser(bob).post(MANY, data, follow=True)
    assert response.redirect_chain == [(f"{RECORDS}?in=draft", 302)]
    assert "2 records changed in your draft." in response.content.decode()
    assert drafted(bob, zone) == [rr("h1 3600 A 192.0.2.1"), rr("h2 3600 A 192.0.2.2")]


@pytest.mark.django_db
def test_all_that_the_filter_finds_in_one_act(zone: Zone, browser: Browser, bob: User) -> None:
    browser(bob).post(MANY, {"act": "off", "all": "1", "type": "A", "q": ""})
    assert Operation.objects.count() == 5
    assert all(op.type == A and op.wanted["disabled"] == op.wanted["rdata"] for op in Operation.objects.all())


@pytest.mark.django_db
def test_a_replacement_is_shown_before_it_is_made(zone: Zone, browser: Browser, bob: User) -> None:
    data = {"act": "replace", "find": "192.0.2.*", "replacement": "198.51.100.*", "pattern": "1", "all": "1"}
    page = browser(bob).post(MANY, data).content.decode()
    assert "<strong>5 records</strong> would" in page
    assert "198.51.100.5" in page
    assert Operation.objects.count() == 0
    browser(bob).post(MANY, {**data, "preview": "1"})
    assert Operation.objects.count() == 5


@pytest.mark.django_db
def test_what_is_refused_is_said_first_and_the_rest_can_go_on(zone: Zone, browser: Browser, bob: User) -> None:
    data = {"act": "replace", "find": "192.0.2.1", "replacement": "192.0.2.300", "all": "1"}
    page = browser(bob).post(MANY, data).content.decode()
    assert "No changes" in page
    assert "Not changed:" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"act": "ttl", "ttl": "soon"}, "Enter seconds"),
        ({"act": "ttl", "ttl": "9999999w"}, "Enter seconds"),
        ({"act": "ttl", "ttl": ""}, "Enter seconds"),
        ({"act": "replace", "find": ""}, "Enter a search text"),
        ({"act": "burn"}, "burn"),
    ],
)
def test_a_wrong_field_is_said_and_changes_nothing(
    zone: Zone, browser: Browser, bob: User, data: dict[str, str], words: str
) -> None:
    response = browser(bob).post(MANY, {**data, "rr": "h1.example.test. 1"})
    assert response.status_code == 422
    assert words in response.content.decode()
    assert Operation.objects.count() == 0


@pytest.mark.django_db
def test_without_a_tick_nothing_is_done(zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).post(MANY, {"act": "delete", "rr": "nonsense", "q": "h"}, follow=True)
    assert response.redirect_chain == [(f"{RECORDS}?q=h", 302)]
    assert "Nothing was selected" in response.content.decode()


@pytest.fixture
def page(open_page: OpenPage, bob: User, zone: Zone) -> Page:
    return open_page(bob)


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_ticks_ranges_keys_and_a_ttl_in_a_browser(page: Page) -> None:
    """The action bar appears with the first tick. Shift+click selects a range, x ticks the row, Enter sets the TTL."""
    expect(page.locator("#many")).to_be_hidden()
    page.get_by_label("Select h1 A").check()
    page.get_by_label("Select h3 A").click(modifiers=["Shift"])
    expect(page.locator("#many-count")).to_have_text("3 selected")
    page.locator('tbody[data-name="h5.example.test."] .row-link').focus()
    page.keyboard.press("x")
    expect(page.locator("#many-count")).to_have_text("4 selected")
    page.get_by_text("Set TTL", exact=True).first.click()
    page.get_by_label("TTL in seconds").fill("60")
    page.keyboard.press("Enter")
    expect(page.locator("#draft-bar")).to_contain_text("4 changes")
    assert {op.wanted["ttl"] for op in Operation.objects.all()} == {60}
    assert len({op.name for op in Operation.objects.all()}) == 4


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_head_ticks_all_that_is_shown(page: Page) -> None:
    page.get_by_label("Select all shown records").check()
    expect(page.locator("#many-count")).to_have_text("9 selected")
    page.get_by_label("Select all shown records").uncheck()
    expect(page.locator("#many")).to_be_hidden()


@pytest.mark.django_db
def test_tags_are_added_to_many_and_taken_away(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    client.post(MANY, {"act": "add-tags", "tags": "old, rack-1", "rr": ["h1.example.test. 1", "h2.example.test. 1"]})
    client.post(MANY, {"act": "remove-tags", "tags": "old", "rr": ["h1.example.test. 1"]})
    assert drafted(bob, zone) == [
        replace(rr("h1 300 A 192.0.2.1"), notes=Notes(("rack-1",))),
        replace(rr("h2 300 A 192.0.2.2"), notes=Notes(("old", "rack-1"))),
    ]
    wrong = client.post(MANY, {"act": "add-tags", "tags": "", "rr": ["h1.example.test. 1"]})
    assert wrong.status_code == 422
    assert "Enter at least one tag." in wrong.content.decode()
