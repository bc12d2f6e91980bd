"""SAML sign-in in a real browser at a real provider. `accounts.providers.saml` checks the responses themselves."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page, expect

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Publication
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.saml.conftest import running_saml as running_saml
from tests.dnspanel.accounts.providers.saml.conftest import saml_idp as saml_idp
from tests.dnspanel.accounts.providers.saml.provider import AtSaml, Member, saml_added
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def eves(
    with_an_event_loop: None, chromium: Chromium, live_server: Any, saml_idp: AtSaml, settings: Any
) -> Iterator[BrowserContext]:
    """Yield a browser that is signed in at the provider as Eve, whose group there makes her an editor."""
    settings.PANEL_URL = live_server.url
    saml_added(saml_idp, makes_people=True, rules=(Rule("web", Role.EDITOR),), group_claim="eduPersonAffiliation")
    saml_idp.users(eve=Member("e1", "eve@people.test", ["web"]))
    context = chromium.new_context(base_url=live_server.url)
    context.set_default_timeout(10_000)
    context.add_cookies([{"name": "user", "value": "eve", "url": saml_idp.root}])
    yield context
    context.close()


def signs_in(page: Page) -> None:
    page.get_by_role("button", name="Sign in with Work").click()
    expect(page).to_have_url(re.compile("/account/here/$"))


def test_the_way_to_the_provider_and_back_ends_where_it_was_wanted(eves: BrowserContext) -> None:
    """The provider's form is cross-site, so it comes without the session. The redirect after it finds the session."""
    page = eves.new_page()
    page.goto("/account/here/")
    signs_in(page)
    expect(page.get_by_text("As eve.")).to_be_visible()
    page.goto("/zones/")
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert User.objects.get(username="eve").role == Role.EDITOR
    acts = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"saml.sign-in", "sign-in"} <= acts


def test_the_page_of_an_ended_session_goes_on_after_a_sign_in_at_the_provider(
    eves: BrowserContext, make_zone: MakeZone
) -> None:
    page = eves.new_page()
    page.goto("/account/here/")
    signs_in(page)
    zone = make_zone("www 300 A 192.0.2.1")
    eve = User.objects.get(username="eve")
    draft.replace_rrset(author=eve, zone=zone, rrset=rr("www 60 A 192.0.2.8"), now=NOW)
    page.goto(f"/zones/{zone.name}/")
    page.locator("#draft-bar [data-drawer]").click()
    page.get_by_label("Reason").fill("moved")
    eves.clear_cookies(name="sessionid")
    page.locator("button.publish").click()
    with eves.expect_page() as popped:
        page.locator("#sign-in-dialog").get_by_role("link", name="Sign in in another tab").click()
    signs_in(popped.value)
    expect(page.locator("#review-drawer #progress")).to_be_visible()
    assert Publication.objects.latest("sequence").reason == "moved"
