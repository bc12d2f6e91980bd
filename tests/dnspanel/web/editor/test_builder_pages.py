"""Builders in a real browser: live preview, drafts by keyboard, and no axe complaints with everything expanded."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.models import Operation
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, resolver_of, serving
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.test_every_page import AXE, RUN_AXE, TAGS
from tests.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(open_page: OpenPage, bob: User, make_zone: MakeZone) -> Page:
    """Open the builders of a small zone as Bob."""
    make_zone("mail 300 A 192.0.2.2", "@ 300 MX 10 mail", '@ 300 TXT "v=spf1 mx -all"')
    page = open_page(bob, reduced_motion="reduce")
    page.get_by_role("link", name="Builders").click()
    return page


def test_a_record_is_previewed_as_typed_and_enter_only_previews(page: Page) -> None:
    page.get_by_role("link", name="DMARC", exact=True).click()
    page.get_by_label("Daily report addresses").fill("reports@example.test")
    preview = page.locator("#builder-preview")
    expect(preview).to_contain_text("v=DMARC1; p=none; rua=mailto:reports@example.test")
    page.get_by_label("Daily report addresses").press("Enter")
    expect(preview).to_contain_text("Add 1 change to draft")
    assert not Operation.objects.exists()
    page.get_by_role("button", name="Add 1 change to draft").press("Enter")
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
        page.get_by_role("button", name="Check DNS lookups").click()
        expect(page.locator("#spf-look")).to_contain_text("of 10 lookups")
    page.get_by_text("Flattened record").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE, [{"include": [["main"]]}, {"type": "tag", "values": TAGS}]) == []
