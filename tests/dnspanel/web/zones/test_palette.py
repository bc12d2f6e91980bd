"""The entries that the command palette offers to each person."""

import re

import pytest

from dnspanel.accounts.models import Role, User
from dnspanel.web.frame.rows import row_id
from dnspanel.web.zones import palette as palette_page
from dnspanel.zones.lists.zone_marks import note_visit, pin
from dnspanel.zones.search import zone_conditions
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import make_person

PALETTE = "/frame/palette/"


def offers(browser: Browser, person: User, text: str = "") -> dict[str, list[str]]:
    """Return the palette's texts by group."""
    page = browser(person).get(PALETTE, {"q": text}).content.decode()
    groups = re.split(r'<div role="group" aria-label="([^"]+)">', page)[1:]
    return {
        title: re.findall(r"</svg>\s*<span>(.*?)</span>", body)
        for title, body in zip(groups[::2], groups[1::2], strict=True)
    }


def test_pages_and_acts_are_those_that_the_person_may_use(
    browser: Browser, alice: User, bob: User, charlie: User
) -> None:
    everything = offers(browser, alice)
    assert {"Home", "Zones", "Nodes", "People", "Trash", "Settings", "Audit log"} <= set(everything["Pages"])
    assert {"New zone", "Review and publish", "Add node", "Invite person"} <= set(everything["Actions"])
    assert {"Add node", "Invite person"}.isdisjoint(offers(browser, bob)["Actions"])
    assert {"New zone", "Review and publish", "Import zones"}.isdisjoint(offers(browser, charlie)["Actions"])
    assert "Nodes" not in offers(browser, make_person("mia", Role.MEMBER))["Pages"]


def test_words_narrow_it_down(browser: Browser, alice: User) -> None:
    assert offers(browser, alice, "no ADD") == {"Actions": ["Add node"], "Search": ["Search for “no ADD”"]}


def test_pinned_zones_and_those_opened_last_come_first(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zones = [make_zone(name=f"{name}.test.") for name in ("pinned", "recent", "other")]
    pin(zone=zones[0], person=bob)
    note_visit(zone=zones[1], person=bob)
    assert offers(browser, bob)["Your zones"] == ["pinned.test.", "recent.test."]
    found = offers(browser, bob, "test")
    assert (found["Your zones"], found["Zones"]) == (["pinned.test.", "recent.test."], ["other.test."])


def test_records_lead_to_their_rows(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("www 300 A 192.0.2.7")
    assert offers(browser, bob, "192.0.2.7")["Records"] == ["www A"]
    page = browser(bob).get(PALETTE, {"q": "192.0.2.7"}).content.decode()
    assert f"/zones/example.test./?at=www#{row_id('www.example.test.', 1)}" in page


def test_what_cannot_be_looked_for_is_left_to_the_page_of_the_search(
    make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_zone()
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 0)
    assert offers(browser, bob, "ex") == {"Pages": ["Exports"], "Search": ["Search for “ex”"]}
    assert "mxx is not a valid type" in browser(bob).get(PALETTE, {"q": "type:mxx"}).content.decode()
    assert palette_page.FEWEST_LETTERS == 2
    assert set(offers(browser, bob, "e")) == {"Pages", "Actions", "Search"}
