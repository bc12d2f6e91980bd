"""A person at a real browser signs a zone in one click, copies its DS, and unsigns it again."""

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo.stack import Stack
from tests.browser import chromium as chromium
from tests.browser import person
from tests.stack import make_person, run_script

pytestmark = [pytest.mark.flow, pytest.mark.browser]

ZONE = "page.signed.test."

CREATE = """
import sys
import django
django.setup()
from django.utils import timezone
from dnspanel.zones import edit
edit.create_zone(name=sys.argv[1], author=None, channel="system", now=timezone.now())
"""


def test_a_zone_is_signed_in_one_click_and_unsigned(stack: Stack, chromium: Browser) -> None:
    run_script(stack, CREATE, ZONE)
    password = make_person(stack, "dana", role="editor")
    with person(chromium, stack) as dana:
        dana.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        dana.signs_in("dana", password)
        dana.opens(ZONE)
        dana.page.get_by_role("link", name="DNSSEC").click()
        dana.page.get_by_role("button", name=f"Sign {ZONE}").click()
        expect(dana.page.locator(".signing-state")).to_contain_text("Signed with ECDSAP256SHA256")
        expect(dana.page.locator("#signing-nodes")).to_contain_text("3/3", timeout=20_000)
        dana.page.get_by_role("button", name="Copy the DS, SHA-256").click()
        expect(dana.page.locator("#toasts")).to_contain_text("Copied.")
        assert dana.page.evaluate("navigator.clipboard.readText()").startswith(f"{ZONE} IN DS ")
        dana.page.get_by_role("link", name="Unsign").click()
        dana.page.get_by_label("Type the zone's name").fill(ZONE)
        dana.page.get_by_role("button", name=f"Unsign {ZONE}").click()
        expect(dana.page.locator(".signing-state")).to_contain_text("Not signed.")
        dana.page.get_by_role("link", name="History").click()
        expect(dana.page.locator("#revisions")).to_contain_text("unsigned, key")
