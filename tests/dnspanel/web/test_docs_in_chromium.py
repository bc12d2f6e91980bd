"""The form "Try it" of the API documentation, in a real browser with a real token."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(open_page: OpenPage, bob: User, make_zone: MakeZone) -> Page:
    make_zone("www 300 A 192.0.2.1")
    scope = (Grant(frozenset({Right.READ}), everywhere=True),)
    made = create_token(owner=bob, terms=TokenTerms("try", scope), by=bob, now=timezone.now())
    page = open_page(bob, "/docs/api/task-change-records/")
    page.locator("#docs-secret").fill(made.secret)
    return page


def test_a_request_is_sent_with_the_token_and_its_answer_is_shown(page: Page) -> None:
    form = page.locator("form[data-try=GET]").first
    page.locator("details:has(form[data-try=GET]) summary").first.click()
    form.get_by_label("Path").fill("/api/v2/zones/example.test/rrsets")
    form.get_by_role("button", name="Send request").click()
    expect(form.locator("pre")).to_contain_text("200 OK")
    expect(form.locator("pre")).to_contain_text("192.0.2.1")


def test_the_token_is_sent_to_this_panel_only(page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    form = page.locator("form[data-try=GET]").first
    page.locator("details:has(form[data-try=GET]) summary").first.click()
    for path in ("https://other.test/api/v2/me", "//other.test/api/v2/me", "/sign-in/"):
        form.get_by_label("Path").fill(path)
        form.get_by_role("button", name="Send request").click()
    page.locator("#docs-secret").fill("")
    form.get_by_label("Path").fill("/api/v2/me")
    form.get_by_role("button", name="Send request").click()
    expect(page.locator("#docs-secret")).to_be_focused()
    assert requests == []
