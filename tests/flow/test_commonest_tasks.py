"""The ten most frequent tasks in Chromium, with counted actions: by mouse, by keyboard alone, and at 360 px width.

The table in docs/develop/interface.md lists the actions per task and has to equal these counts.
"""

import re

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo.stack import Stack
from tests.browser import Person, chromium
from tests.flow.pointers import HANDS, Pointer, Tasks, counts_in_note, counts_of, person_with, row_of
from tests.stack import make_person

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

LINES = ["@ 3600 SOA ns1.example.net. dns.example.net. 1 10800 3600 604800 3600", "@ 3600 NS ns1.example.net."]
HOSTS = [f"host{number} 3600 A 192.0.2.{10 + number}" for number in range(10)]


def import_a_zone_file(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(page.get_by_role("link", name="Import…"))
    content = "\n".join([f"$ORIGIN {zone}", *LINES, *HOSTS, "www 3600 A 192.0.2.77", ""])
    page.set_input_files("#import-files", {"name": f"{zone}zone", "mimeType": "text/plain", "buffer": content.encode()})
    hands.acts += 1  # a dialog of the browser
    hands.presses(page.get_by_role("button", name="Upload and scan"))
    hands.presses(page.get_by_role("button", name="Start dry run"))
    hands.presses(page.get_by_role("button", name="Apply to 1 zone"))
    expect(page.locator("#report-title")).to_have_text("Done")


def add_an_a_record(hands: Pointer, zone: str) -> None:
    hands.writes(hands.page.locator("#quick-line"), "new 300 A 192.0.2.8", "n")
    hands.enters()
    expect(row_of(hands.page, f"new.{zone}")).to_be_visible()
    hands.publishes()


def change_one_ttl(hands: Pointer, zone: str) -> None:
    hands.opens_row(row_of(hands.page, f"host3.{zone}"), "td.col-ttl", "t")
    field = hands.page.locator("tbody.is-editing").get_by_label("TTL")
    expect(field).to_be_focused()
    hands.writes(field, "60")
    hands.enters()
    expect(row_of(hands.page, f"host3.{zone}").locator("td.col-ttl")).to_contain_text("60")
    hands.publishes()


def change_ten_ttls(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.writes(page.locator('[data-key="f"]'), "host", "f")
    expect(page.locator("#rrsets tbody[data-row]")).to_have_count(10)
    if page.locator("#rrsets thead").evaluate("head => head.offsetHeight > 1"):
        hands.presses(page.locator("[data-tick-all]"))
    else:  # the table has no header on a phone
        hands.presses(page.locator("#rrsets [data-tick]").first)
        hands.presses(page.locator("#many-all"))
    hands.presses(page.locator("#many summary", has_text="Set TTL"))
    expect(page.locator("#many-ttl")).to_be_focused()
    hands.writes(page.locator("#many-ttl"), "120")
    hands.enters()
    expect(page.locator("#draft-bar")).to_contain_text("10 changes")
    hands.publishes()


def delete_a_record(hands: Pointer, zone: str) -> None:
    row = row_of(hands.page, f"host9.{zone}")
    hands.opens_row(row, "[data-delete]", "d")
    expect(row.locator("tr.is-delete")).to_be_visible()
    hands.publishes()


def undo_a_publication(hands: Pointer, zone: str) -> None:
    """Undo the publication on the progress page, which is a deletion."""
    hands.presses(hands.page.get_by_role("button", name="Undo publication…"))
    expect(hands.page.locator("#publish-form")).to_be_visible()
    hands.publishes()


def see_whether_a_change_is_on_all_nodes(hands: Pointer, zone: str) -> None:
    chip = hands.page.locator("#zone-head a", has_text="nodes")
    expect(chip).to_contain_text("3 nodes")
    hands.presses(chip)
    expect(hands.page.locator("#progress .progress-head")).to_contain_text("on all nodes")


def find_a_record_by_its_value(hands: Pointer, zone: str) -> None:
    hands.writes(hands.page.locator("#top-search"), f"has:192.0.2.77 {zone.split('.')[0]}", "/")
    hands.enters()
    hands.presses(hands.page.locator("#main").get_by_role("link", name=zone).first)
    expect(row_of(hands.page, f"www.{zone}")).to_be_visible()


def create_a_zone(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(page.get_by_role("link", name="New zone"), "n")
    hands.writes(page.locator("#main").get_by_label("Name", exact=True), f"new-{zone}")
    hands.presses(page.get_by_role("button", name="Create and publish"))
    expect(page.locator("#zone-head h1")).to_contain_text(f"new-{zone}")


def restore_a_deleted_zone(hands: Pointer, zone: str) -> None:
    page = hands.page
    hands.presses(page.get_by_role("link", name="Trash"))
    hands.presses(page.locator("tr", has_text=f"new-{zone}").get_by_role("button", name="Restore"))
    expect(page.locator("#zone-head h1")).to_contain_text(f"new-{zone}")


# Each task finds what earlier ones created. The text is its start page, or "" to start where the last one ended.
TASKS: Tasks = {
    "Import a zone file": ("/zones/", import_a_zone_file),
    "Add an A record": ("/zones/{zone}/", add_an_a_record),
    "Change one TTL": ("/zones/{zone}/", change_one_ttl),
    "Change the TTL of ten records": ("/zones/{zone}/", change_ten_ttls),
    "Delete a record": ("/zones/{zone}/", delete_a_record),
    "Undo a publication": ("", undo_a_publication),
    "See whether a change is on all nodes": ("/zones/{zone}/", see_whether_a_change_is_on_all_nodes),
    "Find a record by its value": ("/", find_a_record_by_its_value),
    "Create a zone": ("/zones/", create_a_zone),
    "Restore a deleted zone": ("/zones/", restore_a_deleted_zone),
}


def deletes(someone: Person, zone: str) -> None:
    """Move a zone to the trash, without counting actions."""
    someone.goes_to(f"/zones/{zone}/delete/")
    someone.page.get_by_label("Enter the zone name to delete the zone").fill(zone)
    someone.page.get_by_role("button", name=re.compile("^Delete")).click()
    expect(someone.page.locator("#progress")).to_be_visible()


@pytest.mark.sample(1, reason="hands that do the commonest tasks")
@pytest.mark.parametrize("kind", HANDS)
def test_the_ten_commonest_tasks_take_as_many_acts_as_the_note_says(stack: Stack, chromium: Browser, kind: str) -> None:
    zone = f"{kind}-tasks.test."
    password = make_person(stack, f"{kind}-hands", role="editor")
    with person_with(kind, chromium, stack) as someone:
        someone.signs_in(f"{kind}-hands", password)
        counted = counts_of(
            TASKS, someone, kind, zone, prepare={restore_a_deleted_zone: lambda: deletes(someone, f"new-{zone}")}
        )
    assert counted == counts_in_note(TASKS, kind)
