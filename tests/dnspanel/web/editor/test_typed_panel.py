"""The side panel in a real browser: keyboard use, checks while typing, and phone width."""

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.models import Operation
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.test_every_page import AXE, RUN_AXE, TAGS
from tests.dnspanel.zones.typed.test_computed import ED25519

FINGERPRINT = "4bd9dd4c57dbae051c3233f730e467eb272ce065f10f93b5769a62037beb5356"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(open_page: OpenPage, bob: User, make_zone: MakeZone) -> Page:
    """Open the editor of a zone with a mail server as Bob."""
    make_zone("mail 300 A 192.0.2.2", "@ 300 MX 10 mail")
    return open_page(bob, reduced_motion="reduce")


def drafted() -> list[tuple[str, list[str]]]:
    return [(each.name, each.wanted["rdata"]) for each in Operation.objects.order_by("name")]


def test_a_row_is_edited_in_its_fields_by_keyboard_alone(page: Page) -> None:
    page.locator('tbody[data-name="example.test."]', has_text="10 mail").locator(".row-link").focus()
    page.keyboard.press("o")
    expect(page.get_by_label("Preference")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("many")
    expect(page.locator("#v0-preference-error")).to_have_text("Enter a whole number.")
    expect(page.get_by_label("Preference")).to_be_focused()
    expect(page.get_by_label("Preference")).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Enter")
    expect(page.locator("#typed-side[data-unsaved]")).to_be_visible()
    expect(page.get_by_label("Preference")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("20")
    expect(page.locator("#typed-result")).to_contain_text("20 mail.example.test.")
    page.keyboard.press("Enter")
    expect(page.locator("#typed-side")).to_have_count(0)
    expect(page.locator("#draft-bar")).to_contain_text("1 change")
    expect(page.locator('tbody[data-name="example.test."]', has_text="20 mail").locator(".row-link")).to_be_focused()
    assert drafted() == [("example.test.", ["20 mail.example.test."])]


def test_a_line_goes_on_in_the_panel_with_its_type_chosen(page: Page) -> None:
    page.locator("#quick-line").fill("_sip._tcp SRV")
    page.locator('#quick-below a[href*="line="]').click()
    expect(page.get_by_label("Port", exact=True)).to_be_visible()
    expect(page.locator("#quick-line")).to_have_value("")
    expect(page.locator("#quick-below")).to_contain_text("Use form")
    expect(page.locator("#typed-name")).to_have_value("_sip._tcp")
    page.get_by_label("Port", exact=True).fill("5060")
    page.get_by_label("Server").fill("mail")
    page.get_by_role("button", name="Add value").click()
    expect(page.get_by_label("Port", exact=True).nth(1)).to_be_visible()
    expect(page.get_by_label("Port", exact=True).first).to_have_value("5060")
    page.get_by_role("button", name="Remove Value 2").click()
    page.get_by_role("group", name="Edit as").get_by_role("button", name="Text").click()
    expect(page.get_by_label("Values", exact=True)).to_have_value("10 0 5060 mail")
    page.get_by_role("button", name="Fields").click()
    page.get_by_role("button", name="Save to draft").click()
    expect(page.locator("#draft-bar")).to_contain_text("1 change")
    assert drafted() == [("_sip._tcp.example.test.", ["10 0 5060 mail.example.test."])]


def test_an_open_row_goes_on_in_the_panel_and_escape_leaves_it_as_it_was(page: Page) -> None:
    page.locator('tbody[data-name="example.test."]', has_text="10 mail").locator("[data-edit]").click()
    page.get_by_label("Values, one per line").fill("33 mail")
    page.locator("tbody.is-editing .menu > summary").click()
    page.locator("[data-to-panel]").click()
    expect(page.get_by_label("Preference")).to_have_value("33")
    expect(page.locator("tbody.is-editing")).to_have_count(0)
    page.get_by_label("Preference").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#typed-side")).to_have_count(0)
    assert drafted() == []


def test_another_type_has_other_fields_at_once(page: Page) -> None:
    page.get_by_role("link", name="Use form").click()
    page.locator("#typed-type").select_option("LOC")
    expect(page.get_by_label("Latitude")).to_be_visible()
    expect(page.locator("#typed-type")).to_be_focused()
    expect(page.locator("#typed-side")).to_contain_text("A location on Earth.")


def test_keys_are_computed_into_values_that_are_saved(page: Page) -> None:
    page.locator("#quick-line").fill("host SSHFP")
    page.locator('#quick-below a[href*="line="]').click()
    page.get_by_text("Generate from public keys").click()
    page.get_by_label("Public keys").fill(ED25519)
    page.get_by_role("button", name="Generate fingerprints").click()
    expect(page.get_by_text("One value computed.")).to_be_visible()
    expect(page.get_by_label("Fingerprint", exact=True)).to_have_value(FINGERPRINT)
    page.get_by_role("button", name="Save to draft").click()
    expect(page.locator("#draft-bar")).to_contain_text("1 change")
    assert drafted() == [("host.example.test.", [f"4 2 {FINGERPRINT}"])]


def test_a_link_saves_the_panel_first(page: Page) -> None:
    page.locator('tbody[data-name="example.test."]', has_text="10 mail").locator("[data-form]").click()
    page.get_by_label("Preference").fill("5")
    page.get_by_role("link", name="Changes").first.click()
    page.wait_for_url("**/changes/")
    assert drafted() == [("example.test.", ["5 mail.example.test."])]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_open_panel_satisfies_axe_and_a_phone(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 360, "height": 800})
    for type in ("HTTPS", "TLSA"):
        page.get_by_role("link", name="Use form").click()
        page.locator("#typed-type").select_option(type)
        expect(page.locator("#typed-side")).to_contain_text("Priority" if type == "HTTPS" else "Usage")
        page.locator("#typed-helper summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.evaluate(AXE)
        only = {"type": "tag", "values": TAGS}
        assert page.evaluate(RUN_AXE, [{"include": [["#typed-side"]]}, only]) == []
        page.locator("#typed-side").get_by_role("link", name="Close").click()
