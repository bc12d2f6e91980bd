"""Text typed into an open row survives links, the review and reloading, in a real browser."""

import pytest
from playwright.sync_api import Dialog, Page, expect

from dnspanel.accounts.models import User
from dnspanel.zones.models import Operation
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(open_page: OpenPage, bob: User, make_zone: MakeZone) -> Page:
    """Open the editor of a small zone as Bob."""
    make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")
    return open_page(bob)


def open_row(page: Page, owner: str) -> None:
    page.locator(f'tbody[data-name="{owner}.example.test."] [data-edit]').click()
    expect(page.locator("tbody.is-editing")).to_be_visible()


def typed(page: Page, values: str) -> None:
    page.get_by_label("Values, one per line").fill(values)


def drafted() -> list[tuple[str, list[str]]]:
    return [(each.name, each.wanted["rdata"]) for each in Operation.objects.order_by("name")]


def test_the_review_saves_an_open_row_first(page: Page) -> None:
    page.locator("#quick-line").fill("new 300 A 192.0.2.7")
    page.keyboard.press("Enter")
    expect(page.locator("#draft-bar")).to_contain_text("1 change")
    open_row(page, "www")
    typed(page, "192.0.2.9")
    page.get_by_role("link", name="Review").first.click()
    expect(page.locator("#review-drawer")).to_be_visible()
    assert drafted() == [("new.example.test.", ["192.0.2.7"]), ("www.example.test.", ["192.0.2.9"])]


def test_a_faulty_row_stops_any_link_and_is_focused(page: Page) -> None:
    open_row(page, "www")
    typed(page, "192.0.2.900")
    page.get_by_role("link", name="Changes").first.click()
    expect(page.locator("tbody.is-editing .error")).to_be_visible()
    expect(page.get_by_label("Values, one per line")).to_be_focused()
    assert page.url.endswith("/zones/example.test./")
    typed(page, "192.0.2.90")
    page.get_by_role("link", name="Changes").first.click()
    page.wait_for_url("**/changes/")
    assert drafted() == [("www.example.test.", ["192.0.2.90"])]


def test_a_record_that_was_added_is_scrolled_to_and_the_line_stays_in_view(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})
    for number in range(12):
        page.locator("#quick-line").fill(f"host{number:02} 300 A 192.0.2.7")
        page.keyboard.press("Enter")
        expect(page.locator("#quick-line")).to_have_value("")
        expect(page.locator(f'tbody[data-name="host{number:02}.example.test."]')).to_be_in_viewport(ratio=1)
        expect(page.locator("#quick-line")).to_be_in_viewport(ratio=1)
    expect(page.locator("#quick-line")).to_be_focused()


def test_the_chosen_type_stays_chosen_while_types_are_counted_anew(page: Page) -> None:
    page.locator("#filter-type").select_option("A")
    page.locator("#quick-line").fill("@ 300 TXT hello")
    page.keyboard.press("Enter")
    expect(page.locator("#filter-type")).to_contain_text("TXT (1)")
    expect(page.locator("#filter-type")).to_have_value("A")


def test_reloading_asks_and_an_untouched_row_does_not(page: Page) -> None:
    dialogs: list[str] = []

    def stay(dialog: Dialog) -> None:
        dialogs.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    open_row(page, "www")
    page.reload()
    assert dialogs == []
    open_row(page, "www")
    typed(page, "192.0.2.9")
    with page.expect_event("dialog"):
        page.evaluate("setTimeout(() => location.reload(), 0)")
    assert dialogs == ["beforeunload"]
    expect(page.get_by_label("Values, one per line")).to_have_value("192.0.2.9")
    page.keyboard.press("Escape")
    expect(page.locator("tbody.is-editing")).to_have_count(0)
    page.reload()
    assert dialogs == ["beforeunload"]


def test_rows_that_block_publishing_are_marked_and_counted_as_the_draft_changes(page: Page) -> None:
    marks, bar = page.locator("#rrsets [data-blocked]"), page.locator("#draft-bar")
    page.locator("#quick-line").fill("mail 300 CNAME www")
    page.keyboard.press("Enter")
    expect(bar).to_contain_text("1 blocking error")
    expect(marks).to_have_count(1)
    expect(marks).to_contain_text("Blocks publishing: A CNAME must be the only record at a name")
    # A change of another row removes the fault, and the mark disappears from the first row.
    page.locator('tbody[data-name="mail.example.test."]', has_text="192.0.2.2").locator("[data-delete]").click()
    expect(bar).to_contain_text("2 changes")
    expect(bar).not_to_contain_text("publishing")
    expect(marks).to_have_count(0)
