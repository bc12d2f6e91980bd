"""The DNSSEC page in a real browser: the picture after a check, links into folded parts, and a narrow screen."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dnspanel.accounts.models import User
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.web.test_every_page import AXE, EVERYTHING, RUN_AXE, TAGS
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = "/zones/example.test./dnssec/"


@pytest.fixture
def signed(zone: Zone) -> Zone:
    sign.sign(zones=[zone], acting=Acting(None, "web", NOW), split=True)
    return zone


def test_the_picture_follows_a_check_of_the_parent(signed: Zone, open_page: OpenPage, bob: User) -> None:
    page = open_page(bob, PAGE)
    expect(page.locator("#chain")).to_contain_text("No node is serving zones yet.")  # the nodes were asked
    page.get_by_role("button", name="Check parent now").click()
    expect(page.locator("#parent-check")).to_contain_text("Checking parent…")
    key = next(key for key in queries.keys_of(signed) if key.ds)
    found = {"servers": {"ns.test. 192.0.2.1": [key.ds[0]]}, "ttl": 60, "root": "secure"}
    now = timezone.now()
    ParentCheck.objects.update(
        state=ParentState.MATCHES, message="It matches.", parent="test.", found=found, known_at=now, checked_at=now
    )
    expect(page.locator(".signing-state")).to_contain_text("the chain from the root is complete")
    expect(page.locator(".chain")).to_contain_text(f"DS {key.tag}")
    expect(page.locator("#ds")).to_contain_text("Nothing to do")
    expect(page.get_by_role("button", name="Check parent now")).to_be_focused()


def test_links_open_the_folded_forms(signed: Zone, open_page: OpenPage, bob: User) -> None:
    page = open_page(bob, PAGE)
    expect(page.get_by_label("Rollover type")).to_be_hidden()
    page.locator(".dnssec-facts").get_by_role("link", name="Change…").first.click()
    expect(page.get_by_label("Rollover type")).to_be_visible()
    expect(page.get_by_label("Zone policy")).to_be_hidden()
    page.locator(".dnssec-facts").get_by_role("link", name="Change…").last.click()
    expect(page.get_by_label("Zone policy")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wrong_chain_is_readable_on_a_phone(signed: Zone, open_page: OpenPage, bob: User, scheme: str) -> None:
    found = {"servers": {"ns.test. 192.0.2.1": [f"4711 13 2 {'ab' * 32}"]}, "ttl": 60, "root": ""}
    ParentCheck.objects.create(
        zone=signed, due_at=NOW, known_at=NOW, state=ParentState.DIFFERS, parent="test.", found=found
    )
    page = open_page(bob, PAGE, viewport={"width": 360, "height": 4000}, color_scheme=scheme)
    expect(page.get_by_role("list", name="Chain of trust for example.test.")).to_contain_text("DS 4711")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE, [EVERYTHING, TAGS]) == []
