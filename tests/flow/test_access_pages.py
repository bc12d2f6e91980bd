"""A person creates and copies a token in a real browser, and a program uses it until it is revoked."""

import json
import urllib.request
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo.stack import Stack
from tests.browser import chromium as chromium
from tests.browser import person
from tests.stack import make_person

pytestmark = [pytest.mark.flow, pytest.mark.browser]


def me(stack: Stack, secret: str) -> dict[str, object]:
    """Return API v2's description of this token."""
    request = urllib.request.Request(f"{stack.url}/api/v2/me", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        found = json.load(answer)
    assert isinstance(found, dict)
    return found


def test_a_token_is_made_copied_used_and_revoked(stack: Stack, chromium: Browser) -> None:
    password = make_person(stack, "tara", role="editor")
    with person(chromium, stack) as tara:
        tara.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tara.signs_in("tara", password)
        tara.page.get_by_role("link", name="Access").click()
        tara.page.get_by_role("link", name="Read-only monitoring").click()
        tara.page.get_by_role("button", name="Create token").click()
        secret = tara.page.locator("#token-secret").inner_text()
        tara.page.get_by_role("button", name="Copy secret").click()
        expect(tara.page.locator("#toasts")).to_contain_text("Copied.")
        assert tara.page.evaluate("navigator.clipboard.readText()") == secret
        assert secret in tara.page.locator("#snippet-1").inner_text()
        assert me(stack, secret)["user"]
        tara.page.reload()
        expect(tara.page.locator("#toasts")).to_contain_text("Secrets are shown only once")
        expect(tara.page.locator("#token-secret")).to_have_count(0)
        expect(tara.page.locator("main")).to_contain_text("127.0.0.1")
        tara.page.get_by_role("button", name="Revoke").click()
        expect(tara.page.locator("main")).to_contain_text("can’t be restored")
        tara.page.get_by_role("button", name="Revoke").click()
        expect(tara.page.locator("#toasts")).to_contain_text("revoked")
        with pytest.raises(HTTPError) as refused:
            me(stack, secret)
        with refused.value as answer:  # closed here rather than by garbage collection in another test
            assert answer.code == 401


def test_the_form_of_a_tsig_key_unfolds_only_when_it_is_asked_for(stack: Stack, chromium: Browser) -> None:
    password = make_person(stack, "tilo", role="editor")
    with person(chromium, stack, width=360) as tilo:
        tilo.signs_in("tilo", password)
        tilo.goes_to("/tokens/new/custom/")
        tilo.page.get_by_text("More options:").click()
        expect(tilo.page.get_by_label("Key name")).to_be_hidden()
        tilo.page.get_by_label("TSIG key", exact=True).check()
        expect(tilo.page.get_by_label("Key name")).to_be_visible()
        tilo.page.get_by_label("All zones").check()
        expect(tilo.page.get_by_label("Zones by tag")).to_be_hidden()
        assert tilo.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_documentation_is_filled_with_the_reader_s_token_in_the_browser_only(
    stack: Stack, chromium: Browser
) -> None:
    password = make_person(stack, "tess", role="editor")
    with person(chromium, stack) as tess:
        tess.signs_in("tess", password)
        tess.goes_to("/tokens/new/monitoring/")
        tess.page.get_by_role("button", name="Create token").click()
        secret = tess.page.locator("#token-secret").inner_text()
        tess.goes_to("/docs/api/")
        sent: list[str] = []
        tess.page.on("request", lambda request: sent.append(f"{request.url} {request.post_data}"))
        tess.page.locator("#docs-secret").fill(secret)
        expect(tess.page.locator("#start-me-curl")).to_contain_text(secret)
        tess.page.get_by_role("link", name="Change records").click()
        expect(tess.page.locator("#docs-page")).to_have_attribute("data-page", "/docs/api/task-change-records/")
        expect(tess.page.locator(".docs-nav [aria-current=page]")).to_have_text("Change records")
        expect(tess.page.locator("[data-secret]").first).to_have_text(secret)
        expect(tess.page.locator(".is-python").first).to_be_hidden()
        tess.page.get_by_text("Python", exact=True).click()
        expect(tess.page.locator(".is-python").first).to_be_visible()
        expect(tess.page.locator(".is-curl").first).to_be_hidden()
        assert not any(secret in each for each in sent)
        assert secret not in tess.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        tess.page.reload()
        assert secret not in tess.page.content()
