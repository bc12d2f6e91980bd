"""Named drafts that two people or two windows use at the same time, in real browsers. No typed text is lost."""

import re

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.models import Draft, Publication, Zone
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def move(alice: User, bob: User, make_zone: MakeZone) -> Draft:
    """Return Bob's draft, which he has put aside and shared with Alice for editing."""
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")
    edits(bob, zone, "www 60 A 192.0.2.8")
    made = named_drafts.put_aside(author=bob, name="Move", now=NOW)
    named = named_drafts.named_draft(bob, made.key)
    named_drafts.share(by=bob, named=named, to=alice, may_edit=True, now=NOW)
    return made


def edits(person: User, zone: Zone, line: str) -> None:
    draft.replace_rrset(author=person, zone=zone, rrset=rr(line), now=NOW)


def address(of: Draft) -> str:
    return f"/drafts/{of.key}/"


def adds(page: Page, line: str) -> None:
    page.locator("#quick-line").fill(line)
    page.keyboard.press("Enter")
    expect(page.locator(f'tbody[data-name="{line.split()[0]}.example.test."]')).to_be_visible()


def names_in(person: User) -> list[str]:
    return sorted(operation.name.split(".")[0] for operation in draft.operations_of(person))


def test_of_two_who_take_it_up_the_second_is_told_who_has_it(
    open_page: OpenPage, alice: User, bob: User, move: Draft
) -> None:
    hers, his = open_page(alice, address(move)), open_page(bob, address(move))
    hers.get_by_role("button", name="Resume").click()
    expect(hers.locator("main")).to_contain_text("Your current draft is “Move”")
    his.get_by_role("button", name="Resume").click()
    expect(his.locator("body")).to_contain_text("alice is working on this draft. Nothing was changed.")
    assert names_in(alice) == ["www"]


def test_what_she_types_after_its_owner_took_it_back_is_in_a_draft_of_her_own(
    open_page: OpenPage, alice: User, bob: User, move: Draft
) -> None:
    hers = open_page(alice, address(move))
    hers.get_by_role("button", name="Resume").click()
    hers.get_by_role("link", name="example.test.").first.click()
    expect(hers.locator("#draft-bar")).to_contain_text("in “Move”")
    adds(hers, "new 60 A 192.0.2.9")
    his = open_page(bob, address(move))
    his.get_by_role("button", name="Stop alice’s editing session").click()
    expect(his.locator("body")).to_contain_text("saved with all changes")
    adds(hers, "late 60 A 192.0.2.10")
    expect(hers.locator("#draft-bar")).to_contain_text("in your draft")
    assert names_in(alice) == ["late"]
    assert sorted(operation.name.split(".")[0] for operation in move.operations.all()) == ["new", "www"]


def test_a_line_typed_in_one_window_goes_into_what_was_taken_up_in_the_other(
    open_page: OpenPage, bob: User, move: Draft
) -> None:
    editor = open_page(bob)
    adds(editor, "new 60 A 192.0.2.9")
    other = open_page(bob, address(move))
    other.get_by_text("Resume…").click()
    expect(other.get_by_label("Draft name")).to_be_focused()
    other.keyboard.press("Enter")  # puts the current draft aside, which already has a name
    expect(other.locator("main")).to_contain_text("Your current draft is “Move”")
    adds(editor, "late 60 A 192.0.2.10")
    assert names_in(bob) == ["late", "www"]
    (aside,) = Draft.objects.filter(name="Before Move")
    assert [operation.name for operation in aside.operations.all()] == ["new.example.test."]


def test_of_two_who_publish_it_one_does(open_page: OpenPage, alice: User, bob: User, move: Draft) -> None:
    hers, his = open_page(alice, address(move)), open_page(bob, address(move))
    hers.locator("button.publish").click()
    expect(hers.locator("#progress")).to_be_visible()
    his.locator("button.publish").click()
    expect(his.locator("body")).to_contain_text("Draft not found.")
    assert Publication.objects.latest("sequence").author == alice
    assert Publication.objects.count() == 2


def test_a_draft_is_shared_and_taken_up_without_script(
    open_page: OpenPage, alice: User, bob: User, charlie: User, move: Draft
) -> None:
    his = open_page(bob, address(move), java_script_enabled=False)
    his.get_by_label("Person or team").fill("charlie")
    his.get_by_role("button", name="Share", exact=True).click()
    expect(his.get_by_role("region", name="Shared with")).to_contain_text(re.compile(r"charlie\s+can read"))
    theirs = open_page(charlie, "/drafts/", java_script_enabled=False)
    theirs.get_by_role("link", name="Move").click()
    expect(theirs.locator("main")).to_contain_text("192.0.2.8")
    his.get_by_role("button", name="Resume").click()
    expect(his.locator("main")).to_contain_text("Your current draft is “Move”")
    his.get_by_role("button", name="Save draft").click()
    expect(his.locator("body")).to_contain_text("saved. Your draft is now empty.")
    assert names_in(bob) == []
