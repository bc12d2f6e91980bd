"""The list below a search box: what it offers to each person, and how a person uses it."""

import re

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import Role, User
from dnspanel.web.frame.rows import row_id
from dnspanel.web.zones import search_offers
from dnspanel.zones.lists.zone_marks import note_visit, pin
from dnspanel.zones.models import Zone
from dnspanel.zones.search import zone_conditions
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.people import make_person

OFFERS = "/search/offers/"


def offers(browser: Browser, person: User, text: str = "", **query: str) -> dict[str, list[str]]:
    """Return the texts of the offers by group. The offer that Enter opens has an asterisk."""
    page = browser(person).get(OFFERS, {"q": text, **query}, headers=HTMX).content.decode()
    groups = re.split(r'<div role="group" aria-label="([^"]+)">', re.sub("</?mark>", "", page))[1:]
    found = {}
    for title, body in zip(groups[::2], groups[1::2], strict=True):
        lines = re.findall(r'aria-selected="(true|false)".*?</svg>\s*<span>(.*?)</span>', body)
        found[title] = [f"{text}*" if chosen == "true" else text for chosen, text in lines]
    return found


def test_pages_and_acts_are_those_that_the_person_may_use(
    browser: Browser, alice: User, bob: User, charlie: User
) -> None:
    everything = offers(browser, alice)
    assert {"Home", "Zones", "Nodes", "People", "Trash", "Settings", "Audit log"} <= set(everything["Pages"])
    assert {"New zone", "Review and publish", "Add node", "Invite person"} <= set(everything["Actions"])
    assert {"Add node", "Invite person"}.isdisjoint(offers(browser, bob)["Actions"])
    assert {"New zone", "Review and publish", "Import zones"}.isdisjoint(offers(browser, charlie)["Actions"])
    assert "Nodes" not in offers(browser, make_person("mia", Role.MEMBER))["Pages"]


def test_enter_opens_a_page_if_nothing_else_matches(make_zone: MakeZone, browser: Browser, alice: User) -> None:
    assert offers(browser, alice, "no ADD") == {"Actions": ["Add node*"], "Search": ["Search for “no ADD”"]}
    make_zone(name="trash.test.")
    assert offers(browser, alice, "trash") == {
        "Zones": ["trash.test."],
        "Pages": ["Trash*"],
        "Search": ["Search for “trash”"],
    }
    assert offers(browser, alice, "tras")["Pages"] == ["Trash"]
    assert offers(browser, alice, "h")["Pages"][0] == "Home"


def test_the_exact_name_comes_first_and_records_are_grouped_by_zone(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    names = [f"{name}example.test." for name in ("", "a.", "b.", "pinned.")]
    zones = [make_zone("www 300 A 192.0.2.7", name=name) for name in names]
    pin(zone=zones[3], person=bob)
    assert offers(browser, bob, "example.test")["Zones"][:2] == ["example.test.*", "pinned.example.test."]
    found = offers(browser, bob, "www.example.test")
    assert [*found] == ["example.test.", "Search"]
    assert found["example.test."] == ["www A*"]
    assert offers(browser, bob, "www")["b.example.test."] == ["www A"]


def test_pinned_zones_and_those_opened_last_come_first(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zones = [make_zone(name=f"{name}.test.") for name in ("pinned", "recent", "other")]
    pin(zone=zones[0], person=bob)
    note_visit(zone=zones[1], person=bob)
    assert offers(browser, bob)["Your zones"] == ["pinned.test.", "recent.test."]
    assert offers(browser, bob, "tes")["Zones"] == ["pinned.test.", "recent.test.", "other.test."]


def test_records_lead_to_their_rows_with_the_match_marked(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("www 300 A 192.0.2.7")
    assert offers(browser, bob, "192.0.2.7")["example.test."] == ["www A"]
    page = browser(bob).get(OFFERS, {"q": "192.0.2.7"}, headers=HTMX).content.decode()
    assert f"/zones/example.test./?at=www#{row_id('www.example.test.', 1)}" in page
    assert "<mark>192.0.2.7</mark>" in page


def test_what_cannot_be_looked_for_is_left_to_the_page_of_the_search(
    make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_zone()
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 0)
    assert offers(browser, bob, "ex") == {"Pages": ["Exports"], "Search": ["Search for “ex”"]}
    assert offers(browser, bob, "example.test")["Zones"] == ["example.test.*"]
    page = browser(bob).get(OFFERS, {"q": "type:mxx"}, headers=HTMX).content.decode()
    assert "mxx isn’t a valid type" in page
    assert search_offers.FEWEST_LETTERS == 2
    assert set(offers(browser, bob, "e")) == {"Pages", "Actions", "Search"}


def test_a_word_is_completed_also_in_boxes_of_lists(browser: Browser, bob: User) -> None:
    assert offers(browser, bob, "shop type:mx")["Filters"] == ["shop type:mx"]
    assert offers(browser, bob, "dns", only="filters") == {"Filters": ["dnssec:"]}


@pytest.fixture
def page(open_page: OpenPage, make_zone: MakeZone, bob: User) -> Page:
    for name in ("example.test.", "shop.test.", "workshop.test."):
        make_zone("www 300 A 192.0.2.7", name=name)
    return open_page(bob, "/zones/")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_keys_lead_to_the_box_through_its_list_and_away(page: Page) -> None:
    box, found = page.locator("#top-search"), page.locator("#search-offers")
    chosen = found.locator('[aria-selected="true"]')
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    expect(found).to_contain_text("DNSSEC key rollovers")
    page.keyboard.press("Escape")
    expect(found).to_be_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(box).to_be_focused()
    box.fill("shop")
    expect(found.locator("mark").first).to_have_text("shop")
    expect(chosen).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(chosen).to_contain_text("shop.test.")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_contain_text("workshop.test.")
    page.keyboard.press("Enter")
    expect(page.locator("#zone-head h1")).to_contain_text("workshop.test.")
    page.keyboard.press("Control+k")
    page.locator("#top-search").fill("shop")
    page.keyboard.press("Enter")
    expect(page.locator("#found-zones-title")).to_contain_text("2 zones")
    page.locator("#top-search").fill("shop.test")
    page.keyboard.press("Enter")
    expect(page.locator("#zone-head h1")).to_contain_text("shop.test.")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_chosen_filter_fills_the_box_of_the_list(page: Page) -> None:
    box = page.locator("#zone-filter")
    box.press_sequentially("-prim")
    expect(page.locator("#search-offers")).to_contain_text("-primary:")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value("-primary:")
    page.locator("#search-offers").get_by_text("-primary:elsewhere").click()
    expect(box).to_have_value("-primary:elsewhere")
    expect(box).to_be_focused()
    expect(page).to_have_url(re.compile("q=-primary%3Aelsewhere"))
    expect(page.locator("#zone-list tbody tr")).to_have_count(3)
    assert Zone.objects.count() == 3
