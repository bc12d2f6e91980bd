"""Sign-in with a second factor in a real browser: without JavaScript, and in the dialog over a page."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.second_factor import second_factors_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Publication
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, PASSWORD
from tests.second_factors import App, set_up

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def types_password(page: Page) -> None:
    page.get_by_label("User name or email address").fill("bob")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_an_app_is_set_up_and_signed_in_with_by_pages_without_scripts(open_page: OpenPage, bob: User) -> None:
    page = open_page(bob, "/account/signing-in/", java_script_enabled=False)
    page.get_by_role("link", name="Set up").click()
    app = App((page.locator("#secret").text_content() or "").replace(" ", ""))
    page.get_by_label("Code", exact=True).fill(app.code(timezone.now()))
    page.get_by_role("button", name="Set up").click()
    codes = (page.locator("#codes").text_content() or "").split()
    assert len(codes) == 10
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_text("codes left: 10")).to_be_visible()
    page.context.clear_cookies(name="sessionid")
    page.reload()
    types_password(page)
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(app.wrong_code(timezone.now()))
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("Incorrect code.")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(codes[0])
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url(re.compile("/account/signing-in/$"))
    expect(page.get_by_text("codes left: 9")).to_be_visible()


def test_the_dialog_asks_for_the_code_and_the_page_goes_on(open_page: OpenPage, bob: User, make_zone: MakeZone) -> None:
    """Previously the dialog ignored that a code was missing, repeated the refused request, and opened again."""
    zone = make_zone("www 300 A 192.0.2.1")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.8"), now=NOW)
    app, codes = set_up(bob, timezone.now())
    page = open_page(bob)
    page.locator("#draft-bar [data-drawer]").click()
    page.get_by_label("Reason").fill("moved")
    page.context.clear_cookies(name="sessionid")
    page.locator("button.publish").click()
    dialog = page.locator("#sign-in-dialog")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    code = dialog.get_by_label("Two-factor code")
    expect(code).to_be_focused()
    expect(dialog.get_by_label("Password")).to_have_count(0)
    assert Publication.objects.count() == 1
    code.fill(app.wrong_code(timezone.now()))
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Incorrect code.")
    # A half signed-in person who is redirected there by the first step cannot continue without the code.
    page.reload()
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(codes[0])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.goto(page.url.split("/zones/")[0].rstrip("/") + "/zones/example.test./")
    page.locator("#draft-bar [data-drawer]").click()
    page.get_by_label("Reason").fill("moved")
    page.context.clear_cookies(name="sessionid")
    page.locator("button.publish").click()
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    code.fill(codes[1])
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("#review-drawer #progress")).to_be_visible()
    assert Publication.objects.latest("sequence").reason == "moved"
    assert second_factors_of(bob).codes_left == 8
