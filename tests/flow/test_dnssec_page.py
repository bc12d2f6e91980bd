"""A person signs a zone with one click in a real browser, copies its DS, and unsigns it."""

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo.stack import Stack
from tests.browser import chromium as chromium
from tests.browser import person
from tests.stack import make_person, run_inside

pytestmark = [pytest.mark.flow, pytest.mark.browser]

ZONE, SHARED = "page.signed.test.", "shared.signed.test."


def test_a_zone_is_signed_in_one_click_and_unsigned(stack: Stack, chromium: Browser) -> None:
    run_inside(stack, "dnssec.create", ZONE)
    password = make_person(stack, "dana", role="editor")
    with person(chromium, stack) as dana:
        dana.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        dana.signs_in("dana", password)
        dana.opens(ZONE)
        dana.page.get_by_role("link", name="DNSSEC").click()
        dana.page.get_by_role("button", name=f"Sign {ZONE}").click()
        expect(dana.page.locator(".signing-state")).to_contain_text("Signed with ECDSAP256SHA256")
        expect(dana.page.locator("#signing-nodes")).to_contain_text("3/3", timeout=20_000)
        dana.page.get_by_role("button", name="Copy DS (SHA-256)").click()
        expect(dana.page.locator("#toasts")).to_contain_text("Copied.")
        assert dana.page.evaluate("navigator.clipboard.readText()").startswith(f"{ZONE} IN DS ")
        dana.page.locator("summary[aria-label='More DNSSEC actions']").click()
        dana.page.get_by_role("link", name="Unsign").click()
        dana.page.get_by_label("Type the zone name to confirm").fill(ZONE)
        dana.page.get_by_role("button", name=f"Unsign {ZONE}").click()
        expect(dana.page.locator(".signing-state")).to_contain_text("Not signed.")
        dana.page.get_by_role("link", name="History").click()
        expect(dana.page.locator("#revisions")).to_contain_text("unsigned, key")


def test_two_people_meet_at_a_rollover(stack: Stack, chromium: Browser) -> None:
    """The second person sees the first one's rollover, cannot break it from an outdated page, and can cancel it."""
    run_inside(stack, "dnssec.create", SHARED)
    passwords = {name: make_person(stack, name, role="editor") for name in ("rollo", "kay")}
    with person(chromium, stack) as rollo, person(chromium, stack) as kay:
        for one, name in ((rollo, "rollo"), (kay, "kay")):
            one.signs_in(name, passwords[name])
            one.goes_to(f"/zones/{SHARED}/dnssec/")
        rollo.page.get_by_text("algorithm, two keys, NSEC3").click()
        rollo.page.get_by_label("Separate KSK and ZSK").check()
        rollo.page.get_by_role("button", name=f"Sign {SHARED}").click()
        expect(rollo.page.locator("#keys tbody tr")).to_have_count(2)

        kay.goes_to(f"/zones/{SHARED}/dnssec/")
        kay.page.get_by_text("Add key", exact=True).first.click()
        rollo.page.get_by_text("Start rollover, or change the algorithm").click()
        rollo.page.get_by_label("Rollover type").select_option("zsk")
        rollo.page.get_by_role("button", name="Start rollover").click()
        expect(rollo.page.locator("#rollover-state")).to_contain_text("started")
        expect(rollo.page.locator("#keys tbody tr")).to_have_count(3)

        kay.page.get_by_label("Sign with this key").uncheck()
        kay.page.get_by_role("button", name="Add key").first.click()  # on an outdated page
        expect(kay.page.locator("#keys")).to_contain_text(f"A rollover for {SHARED} is in progress")
        kay.complaints = [line for line in kay.complaints if "422" not in line]
        expect(kay.page.locator("#keys tbody tr")).to_have_count(3)
        expect(kay.page.locator("#rollover-state")).to_contain_text("by rollo")
        kay.page.get_by_role("button", name="Cancel rollover").click()

        # After the nodes have the earlier state. A worker checks this every half minute.
        expect(rollo.page.locator("#rollover-state")).to_contain_text("cancelled", timeout=90_000)
        rollo.page.reload()
        expect(rollo.page.locator("#keys tbody tr")).to_have_count(2)
        expect(rollo.page.locator("#keys summary", has_text="Add key")).to_be_visible()
