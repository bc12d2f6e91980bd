"""The review drawer over the editor in a real browser, up to publication and back to the records."""

import pytest
from playwright.sync_api import Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.models import Operation, Publication, Zone
from dnspanel.zones.publishing import revision
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import EDITOR, OpenPage
from tests.dnspanel.web.test_every_page import AXE, RUN_AXE, TAGS
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def zone(bob: User, make_zone: MakeZone) -> Zone:
    """Create a small zone with one change in Bob's draft."""
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")
    edits(bob, zone, "www 60 A 192.0.2.8")
    return zone


@pytest.fixture
def page(open_page: OpenPage, bob: User, zone: Zone) -> Page:
    return open_page(bob)


def edits(person: User, zone: Zone, *lines: str) -> None:
    for line in lines:
        draft.replace_rrset(author=person, zone=zone, rrset=rr(line), now=NOW)


def review(page: Page) -> None:
    page.locator("#draft-bar [data-drawer]").click()
    expect(page.locator("#review-drawer")).to_be_visible()
    expect(page.locator("#drawer-title")).to_be_focused()


def closed(page: Page) -> None:
    expect(page.locator("#review-drawer")).to_be_hidden()
    assert page.url.endswith(EDITOR)


def test_it_shows_the_review_and_closes_by_key_back_and_button(page: Page) -> None:
    """Focus stays in the drawer and returns afterward; typed text is there when the drawer is opened again."""
    review(page)
    expect(page.locator("#review-drawer")).to_contain_text("192.0.2.8")
    expect(page.locator("#review-drawer")).to_contain_text("(www.example.test. A has TTL 300)")
    for _ in range(30):
        page.keyboard.press("Tab")
        # After the last control, the browser has the focus (for the page: body), and never the page behind.
        assert page.evaluate("document.activeElement.matches('body, #review-drawer, #review-drawer *')")
    page.get_by_label("Reason").fill("a ticket")
    page.keyboard.press("Escape")
    closed(page)
    expect(page.locator("#draft-bar [data-drawer]")).to_be_focused()
    review(page)
    expect(page.get_by_label("Reason")).to_have_value("a ticket")
    page.go_back()
    closed(page)
    review(page)
    page.get_by_role("button", name="Close").click()
    closed(page)
    assert Operation.objects.count() == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


def test_the_records_stay_where_they_were(open_page: OpenPage, bob: User, zone: Zone) -> None:
    page = open_page(bob, viewport={"width": 1280, "height": 300})
    page.evaluate("scrollTo(0, 100)")
    page.keyboard.press("Control+Enter")  # for a click, Playwright would scroll
    expect(page.locator("#drawer-title")).to_be_focused()
    assert page.evaluate("scrollY") == 100
    expect(page.locator("button.publish")).to_be_in_viewport()
    page.keyboard.press("Escape")
    closed(page)
    assert page.evaluate("scrollY") == 100


def test_no_id_stands_twice_while_it_is_open(page: Page) -> None:
    review(page)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids)), sorted(each for each in ids if ids.count(each) > 1)


def test_publishing_shows_the_progress_and_then_the_records_as_they_are(page: Page) -> None:
    page.locator("#quick-line").fill("half a li")
    review(page)
    page.get_by_label("Reason").fill("moved")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#review-drawer #progress")).to_be_visible()
    expect(page.locator("#drawer-title")).to_contain_text("Revision 2 of example.test.")
    published = Publication.objects.latest("sequence")
    assert published.reason == "moved"
    page.get_by_role("button", name="Back to records").click()
    closed(page)
    expect(page.locator('tbody[data-name="www.example.test."]')).to_contain_text("192.0.2.8")
    expect(page.locator("#draft-bar")).to_be_empty()
    expect(page.locator("#zone-head")).to_contain_text("Revision 2")
    expect(page.locator("#quick-line")).to_have_value("half a li")


def test_an_undo_is_reviewed_and_published_in_it_too(page: Page) -> None:
    review(page)
    page.locator("button.publish").click()
    page.get_by_role("button", name="Undo publication…").click()
    expect(page.locator("#drawer-title")).to_contain_text("Review example.test.")
    expect(page.locator("#review-drawer")).to_contain_text("Nothing changes until you publish it.")
    expect(page.get_by_label("Reason")).to_have_value("Undo publication 2")
    page.get_by_label("Reason").press("Enter")
    expect(page.locator("#drawer-title")).to_contain_text("Revision 3")
    page.keyboard.press("Escape")
    expect(page.locator('tbody[data-name="www.example.test."]')).to_contain_text("192.0.2.1")


def test_a_dead_session_keeps_what_was_typed_and_publishes_after_signing_in(page: Page) -> None:
    review(page)
    page.get_by_label("Reason").fill("moved")
    page.context.clear_cookies(name="sessionid")
    page.locator("button.publish").click()
    dialog = page.locator("#sign-in-dialog")
    expect(dialog).to_be_visible()
    assert Publication.objects.count() == 1
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.locator("#review-drawer #progress")).to_be_visible()
    assert Publication.objects.latest("sequence").reason == "moved"


def test_a_refusal_is_shown_in_it_with_what_was_typed(page: Page, bob: User, zone: Zone) -> None:
    edits(bob, zone, "old 60 CNAME gone.example.test.")
    review(page)
    page.get_by_label("Reason").fill("moved")
    page.locator("button.publish").click()
    expect(page.locator("#publish-form [role=alert]")).to_be_focused()
    expect(page.get_by_label("Reason")).to_have_value("moved")
    page.get_by_label("Accept:").check()
    page.locator("button.publish").click()
    expect(page.locator("#review-drawer #progress")).to_be_visible()


def test_a_change_is_dropped_in_it(page: Page, bob: User, zone: Zone) -> None:
    edits(bob, zone, "new 60 A 192.0.2.9")
    review(page)
    page.get_by_role("button", name="Discard www A").click()
    expect(page.locator("#review-drawer .rr-change")).to_have_count(1)
    page.get_by_role("link", name="Zone file").click()
    expect(page.locator("#review-drawer #changes")).to_contain_text("new.example.test.")
    expect(page.locator("#review-drawer #changes")).to_be_visible()
    page.keyboard.press("Escape")
    closed(page)
    expect(page.locator('tbody[data-name="www.example.test."]')).to_contain_text("192.0.2.1")
    expect(page.locator("#draft-bar")).to_contain_text("1 change")


def test_two_people_at_one_rrset_settle_it_in_the_drawer(
    page: Page, open_page: OpenPage, alice: User, zone: Zone
) -> None:
    edits(alice, zone, "www 61 A 192.0.2.1")
    hers = open_page(alice)
    review(hers)
    hers.locator("button.publish").click()
    expect(hers.locator("#review-drawer #progress")).to_be_visible()
    review(page)
    expect(page.locator("#review-drawer .conflict")).to_contain_text("Published version")
    page.get_by_role("button", name="Use my version").click()
    expect(page.locator("#review-drawer .conflict")).to_have_count(0)
    page.locator("button.publish").click()
    expect(page.locator("#drawer-title")).to_contain_text("Revision 3")


def test_an_open_row_is_kept_first_and_a_faulty_one_keeps_the_drawer_shut(page: Page) -> None:
    page.locator('tbody[data-name="mail.example.test."] [data-edit]').click()
    page.get_by_label("Values, one per line").fill("192.0.2.900")
    page.locator("#draft-bar [data-drawer]").click()
    expect(page.locator("tbody.is-editing .error")).to_be_visible()
    expect(page.locator("#review-drawer")).to_be_hidden()
    page.get_by_label("Values, one per line").fill("192.0.2.90")
    page.locator("#draft-bar [data-drawer]").click()
    expect(page.locator("#review-drawer")).to_contain_text("192.0.2.90")
    assert Operation.objects.count() == 2


def test_a_large_draft_and_a_page_without_script_have_the_whole_page(
    open_page: OpenPage, bob: User, zone: Zone
) -> None:
    plain = open_page(bob, java_script_enabled=False)
    plain.get_by_role("link", name="Review & publish").click()
    plain.wait_for_url("**/review/")
    edits(bob, zone, *(f"host{number} 60 A 192.0.2.{number}" for number in range(20)))
    page = open_page(bob)
    page.get_by_role("link", name="Review & publish").click()
    page.wait_for_url("**/review/")


def test_it_fills_a_phone_and_leads_to_the_whole_page(open_page: OpenPage, bob: User, zone: Zone) -> None:
    page = open_page(bob, viewport={"width": 360, "height": 700})
    review(page)
    page.locator("#review-drawer").evaluate("each => Promise.all(each.getAnimations().map(one => one.finished))")
    box = page.locator("#review-drawer").bounding_box()
    assert box is not None
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 360, 700)
    assert page.evaluate("document.querySelector('#review-drawer').scrollWidth") == 360
    page.get_by_role("link", name="Open full page").click()
    page.wait_for_url("**/review/")
    page.go_back()
    expect(page.locator("#review-drawer")).to_be_hidden()
    review(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_satisfies_axe(page: Page, bob: User, zone: Zone, scheme: str) -> None:
    edits(bob, zone, "old 60 CNAME gone.example.test.")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    review(page)
    page.evaluate(AXE)
    within = [{"include": [["#review-drawer"]]}, {"type": "tag", "values": TAGS}]
    assert page.evaluate(RUN_AXE, within) == []
    page.get_by_label("Accept:").check()
    page.get_by_label("Reason").fill("moved")
    page.locator("button.publish").click()
    expect(page.locator("#review-drawer #progress")).to_be_visible()
    assert page.evaluate(RUN_AXE, within) == []


def test_what_was_put_aside_meanwhile_is_not_published_from_it(page: Page, bob: User) -> None:
    review(page)
    named_drafts.put_aside(author=bob, name="Move", now=NOW)
    page.locator("button.publish").click()
    expect(page.locator("#review-drawer")).to_contain_text("No changes to publish")
    assert not Publication.objects.filter(sequence__gt=1).exists()
    assert revision.preview(author=bob) == ()
