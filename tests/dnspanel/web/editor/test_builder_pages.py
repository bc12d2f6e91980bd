"""Builders in a real browser: previewed as typed, drafted by keyboard, and clean for axe with all that can be shown."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from dnspanel.accounts.models import User
from dnspanel.zones.models import Operation
from tests.browser import chromium as chromium
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, resolver_of, serving
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.web.editor.test_leaving import with_an_event_loop as with_an_event_loop
from tests.dnspanel.web.test_every_page import AXE, RUN_AXE, TAGS
from tests.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(
    chromium: Chromium, live_server: LiveServer, browser: Browser, bob: User, make_zone: MakeZone
) -> Iterator[Page]:
    """Bob's browser, at the builders of a small zone."""
    make_zone("mail 300 A 192.0.2.2", "@ 300 MX 10 mail", '@ 300 TXT "v=spf1 mx -all"')
    context = chromium.new_context(reduced_motion="reduce")
    cookie = browser(bob).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{live_server.url}/zones/example.test./")
    page.get_by_role("link", name="Builders").click()
    yield page
    context.close()


def test_a_record_is_previewed_as_typed_and_enter_only_previews(page: Page) -> None:
    page.get_by_role("link", name="DMARC", exact=True).click()
    page.get_by_label("Daily reports to").fill("reports@example.test")
    preview = page.locator("#builder-preview")
    expect(preview).to_contain_text("v=DMARC1; p=none; rua=mailto:reports@example.test")
    page.get_by_label("Daily reports to").press("Enter")
    expect(preview).to_contain_text("Add 1 change to the draft")
    assert not Operation.objects.exists()
    page.get_by_role("button", name="Add 1 change to the draft").press("Enter")
    page.wait_for_url("**/?in=draft")
    expect(page.locator("#draft-bar")).to_contain_text("1 change")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_builder_with_all_that_it_shows_satisfies_axe_and_a_phone(page: Page, settings: Any, scheme: str) -> None:
    port = free_port()
    settings.DNS_RESOLVERS = [f"{RESOLVER}:{port}"]
    records = [("one.test.", "TXT", '"v=spf1 ip4:198.51.100.0/24 include:two.test -all"')]
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 360, "height": 2400})
    page.get_by_role("link", name="SPF", exact=True).click()
    with serving({RESOLVER: resolver_of({}, *records)}, port):
        page.get_by_label("Providers (include)").fill("one.test")
        page.get_by_role("button", name="Count look-ups over DNS").click()
        expect(page.locator("#spf-look")).to_contain_text("of 10 look-ups")
    page.get_by_text("The same with addresses only").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE, [{"include": [["main"]]}, {"type": "tag", "values": TAGS}]) == []
