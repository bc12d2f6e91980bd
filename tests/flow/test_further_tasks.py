"""Ten more frequent tasks in Chromium, with counted actions: by mouse, by keyboard alone, and by touch at 360 px width.

The table in docs/develop/interface.md lists the actions per task and has to equal these counts.
"""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dnspanel.demo.stack import Stack
from tests.browser import Person, chromium
from tests.flow.pointers import HANDS, Pointer, Tasks, counts_in_note, counts_of, person_with, row_of
from tests.stack import make_person, run_inside, wait_until_in_sync

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

NODE = "ns3"
HOSTS = 10


def tab(page: Page, name: str) -> Locator:
    return page.locator("#zone-head").get_by_role("link", name=name, exact=True)


def add_an_mx_record(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(page.get_by_role("link", name="Use form"))
    expect(page.locator("#typed-name")).to_be_focused()
    hands.writes(page.locator("#typed-name"), "@")
    hands.writes(page.get_by_label("Mail server"), "host1")
    hands.enters()
    expect(row_of(page, zone).filter(has_text="MX")).to_contain_text("host1")
    hands.publishes()


def edit_a_zone_as_text(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(page.get_by_role("button", name="Edit as text"))
    area = page.get_by_label("Zone file lines")
    hands.writes(area, area.input_value().replace("192.0.2.12", "192.0.2.99"))
    hands.presses(page.get_by_role("button", name="Save to draft"))
    expect(row_of(page, f"host2.{zone}")).to_contain_text("192.0.2.99")
    hands.publishes()


def schedule_a_publication(hands: Pointer, zone: str) -> None:
    """Schedule the publication of a draft that already has a change."""
    page = hands.page
    hands.presses(page.locator("#zone-head").get_by_role("link", name="Review"))
    hands.presses(page.locator("#publish-form summary", has_text="Schedule"))
    hands.sets_time(page.get_by_label("Publish time"), f"{datetime.now(UTC) + timedelta(days=7):%Y-%m-%dT%H:%M}")
    hands.presses(page.get_by_role("button", name="Schedule", exact=True))
    expect(page.get_by_text("planned for")).to_be_visible()


def revert_a_zone(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(tab(page, "History"))
    row = page.locator("#revisions tbody tr", has=page.get_by_role("link", name="2", exact=True))
    hands.presses(row.get_by_role("button", name="Restore"))
    expect(page.locator("#publish-form")).to_be_visible()
    hands.publishes()


def compare_two_revisions(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(tab(page, "History"))
    for number in (3, 1):
        hands.presses(page.get_by_label(f"Compare revision {number}", exact=True))
    hands.presses(page.get_by_role("button", name="Compare selected"))
    expect(page.get_by_role("heading", name="Revision 1 → 3")).to_be_visible()
    expect(page.locator(".changes")).to_contain_text("192.0.2.99")


def sign_a_zone(hands: Pointer, zone: str) -> None:
    hands.presses(tab(hands.page, "DNSSEC"))
    hands.presses(hands.page.get_by_role("button", name=f"Sign {zone}"))
    expect(hands.page.locator(".signing-state")).to_contain_text("Signed with")


def copy_the_ds_record(hands: Pointer, zone: str) -> None:
    hands.presses(tab(hands.page, "DNSSEC"))
    hands.presses(hands.page.get_by_role("button", name=re.compile("^Copy .*SHA-256.* for key")))
    expect(hands.page.locator("#toasts")).to_contain_text("Copied.")
    assert hands.page.evaluate("navigator.clipboard.readText()").startswith(f"{zone} IN DS ")


def export_a_zone_file(hands: Pointer, zone: str) -> None:
    hands.presses(hands.page.locator("#zone-head summary[aria-label=Export]"))
    with hands.page.expect_download() as download:
        hands.presses(hands.page.get_by_role("link", name="Download zone file (BIND)"))
    assert "192.0.2.11" in download.value.path().read_text()


def create_an_api_token(hands: Pointer, zone: str) -> None:
    """Create a token for a pipeline that edits one zone."""
    page = hands.page
    hands.presses(page.get_by_role("link", name="CI for one zone"))
    expect(page.locator("[name=zone]")).to_be_focused()
    hands.writes(page.locator("[name=zone]"), zone)
    hands.presses(page.get_by_role("button", name="Create token"))
    expect(page.locator("#token-secret")).to_be_visible()


def drain_a_node(hands: Pointer, zone: str) -> None:
    hands.presses(hands.page.locator("#node-drain"))
    hands.presses(hands.page.get_by_role("button", name=f"Pause updates for {NODE}"))
    expect(hands.page.locator("#node-facts")).to_contain_text("Updates are paused until")


# In this order, because some tasks need the revisions or keys of earlier tasks.
TASKS: Tasks = {
    "Add an MX record with the form": ("/zones/{zone}/", add_an_mx_record),
    "Edit a zone as text": ("/zones/{zone}/", edit_a_zone_as_text),
    "Schedule a publication": ("/zones/{zone}/", schedule_a_publication),
    "Revert a zone to an earlier revision": ("/zones/{zone}/", revert_a_zone),
    "Compare two revisions": ("/zones/{zone}/", compare_two_revisions),
    "Sign a zone with DNSSEC": ("/zones/{zone}/", sign_a_zone),
    "Copy the DS record": ("/zones/{zone}/", copy_the_ds_record),
    "Export a zone as a zone file": ("/zones/{zone}/", export_a_zone_file),
    "Create an API token": ("/tokens/", create_an_api_token),
    "Drain a node": (f"/nodes/{NODE}/", drain_a_node),
}


def resumes(someone: Person) -> None:
    """Resume the node if it is drained, without counting actions, because other tests use it too."""
    someone.goes_to(f"/nodes/{NODE}/")
    if someone.page.locator("#node-resume").count():
        someone.page.locator("#node-resume").click()
    expect(someone.page.locator("#node-drain")).to_be_visible()


@pytest.mark.sample(1, reason="hands that do the tasks")
@pytest.mark.parametrize("kind", HANDS)
def test_ten_more_tasks_take_as_many_acts_as_the_note_says(stack: Stack, chromium: Browser, kind: str) -> None:
    zone = f"{kind}-further.test."
    hosts = [(f"host{number}.{zone}", "A", f"192.0.2.{10 + number}") for number in range(HOSTS)]
    run_inside(stack, "dnssec.act", "create", zone, hosts)
    wait_until_in_sync(stack)
    password = make_person(stack, f"{kind}-further", role="administrator")
    with person_with(kind, chromium, stack) as someone:
        someone.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        someone.signs_in(f"{kind}-further", password)
        try:
            counted = counts_of(
                TASKS,
                someone,
                kind,
                zone,
                prepare={schedule_a_publication: lambda: someone.adds(zone, "later 300 A 192.0.2.50")},
            )
        finally:
            resumes(someone)
    assert counted == counts_in_note(TASKS, kind)
