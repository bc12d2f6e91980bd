"""Keys on the pages in a real browser: the way to the first row, the dialog of keys, and menus that close."""

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.edit import NewZone
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import EDITOR, OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.people import NOW

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_TABS = 15  # from a page's start to its first row
PAGES_WITH_KEYS = (
    "/zones/",
    "/search/?q=example",
    "/nodes/",
    "/people/",
    "/imports/",
    "/tokens/",
    "/webhooks/",
    "/catalogs/",
    "/secondaries/",
    "/settings/evidence/",
    EDITOR,
)


def tabs_to_first_row(page: Page, link: str) -> int:
    """Press Tab up to the skip link with this text, Enter, and then Tab up to the first row. Return all Tabs."""
    for pressed in range(1, MOST_TABS + 1):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.textContent.trim()")
        if focused == link:
            page.keyboard.press("Enter")
        elif page.evaluate("document.activeElement.closest('[data-row]') !== null"):
            return pressed
    raise AssertionError(f"{MOST_TABS} Tabs don't reach the first row")


@pytest.mark.parametrize(
    ("path", "link"),
    [(EDITOR, "Skip to records"), ("/zones/", "Skip to zones"), ("/search/?q=example", "Skip to results")],
)
def test_the_first_row_is_a_few_tabs_away(
    open_page: OpenPage, bob: User, make_zone: MakeZone, path: str, link: str
) -> None:
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")
    Zone.objects.filter(pk=zone.pk).update(tags=[f"tag-{number}" for number in range(9)])
    assert tabs_to_first_row(open_page(bob, path), link) <= MOST_TABS


@pytest.mark.parametrize("path", PAGES_WITH_KEYS)
def test_the_dialog_lists_each_key_of_the_page_once(
    open_page: OpenPage, alice: User, make_zone: MakeZone, path: str
) -> None:
    make_zone("www 300 A 192.0.2.1")
    page = open_page(alice, path)
    assert page.locator("#main h1").inner_text() != "Page not found"
    used = page.evaluate("[...document.querySelectorAll('[data-key]')].map(each => each.dataset.key)")
    page.keyboard.press("?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    listed = page.locator("#keys-list dt").all_inner_texts()
    assert set(used) <= {key for keys in listed for key in keys.split()}
    assert all(page.locator("#keys-list dd").all_inner_texts())
    assert len(listed) == len(set(listed)) or path == EDITOR  # Enter opens a row, and saves an open one
    assert ("x" in listed) == (page.locator("[data-tick]").count() > 0)


def test_a_screen_shows_25_zones_and_a_menu_closes_behind_its_link(open_page: OpenPage, alice: User) -> None:
    zones = [NewZone(f"customer-{number:03}.test.") for number in range(40)]
    edit.create_zones(zones=zones, acting=Acting(alice, Channel.IMPORT, NOW))
    Zone.objects.filter(name__lt="customer-030").update(tags=["eu", "customers"])
    page = open_page(alice, "/zones/", viewport={"width": 1280, "height": 900})
    expect(page.locator("tr[data-row]").nth(24)).to_be_in_viewport(ratio=1)
    menu = page.locator(".list-tools details", has=page.get_by_label("More actions"))
    menu.locator("summary").click()
    menu.get_by_role("link", name="Show views").click()
    expect(page.locator("#views-title")).to_be_visible()
    expect(menu).not_to_have_attribute("open", "")
