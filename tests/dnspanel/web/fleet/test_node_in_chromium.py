"""The parts of the node pages that load themselves, in a real browser."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.web.fleet.test_minute_squares import create_fleet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("live_redis")]


def test_an_open_form_survives_the_updates_and_pauses_the_node(
    active_node: MakeNode, open_page: OpenPage, alice: User
) -> None:
    node = active_node("ns1")
    page = open_page(alice, "/nodes/ns1/")
    page.locator("#node-drain").click()
    expect(page.locator("#drain input[name=reason]")).to_be_focused()
    page.locator("#drain input[name=reason]").fill("new disk")
    for _ in range(2):
        with page.expect_response(lambda response: "acts=active" in response.url):
            pass
    expect(page.locator("#drain input[name=reason]")).to_have_value("new disk")
    page.get_by_role("button", name="Pause updates for ns1").click()
    expect(page.locator("#node-facts")).to_contain_text("new disk")
    node_lifecycle.resume(node=Node.objects.get(pk=node.pk), now=timezone.now(), by=None)
    expect(page.locator("#node-drain")).to_be_visible()  # without a reload
    assert Node.objects.get().state == NodeState.ACTIVE


def test_every_tab_updates_its_parts_on_a_phone(active_node: MakeNode, open_page: OpenPage, alice: User) -> None:
    active_node("ns1")
    page = open_page(alice, "/nodes/ns1/", viewport={"width": 360, "height": 800})
    for tab, part in (
        ("Traffic", "#node-top"),
        ("Sync", "#node-sync"),
        ("Log", "#node-log"),
        ("Overview", "#node-now"),
    ):
        page.get_by_role("link", name=tab, exact=True).click()
        page.locator(part).evaluate("element => element.dataset.old = 'yes'")
        expect(page.locator(f"{part}:not([data-old])")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Retire this node").click()
    expect(page.get_by_label("Type ns1 to retire this node")).to_be_visible()


def test_the_picture_stays_when_the_tiles_are_replaced(active_node: MakeNode, open_page: OpenPage, alice: User) -> None:
    active_node("ns1")
    page = open_page(alice, "/nodes/")
    page.locator("#fleet-minutes").get_by_role("link", name="Queries", exact=True).click()
    expect(page.locator("#fleet-minutes")).to_contain_text("no data")
    page.locator("#node-ns1").evaluate("element => element.dataset.old = 'yes'")
    expect(page.locator("#node-ns1:not([data-old])")).to_be_visible()
    chosen = page.locator("#fleet-minutes [aria-current]")
    expect(chosen).to_have_text("Queries")
    expect(page.locator("#fleet-minutes")).to_have_count(1)


def test_the_squares_of_a_group_are_one_tab_stop_with_arrow_keys(open_page: OpenPage, alice: User) -> None:
    create_fleet(100)
    page = open_page(alice, "/fleet/minutes/")
    stops = "document.querySelectorAll('.squares a:not([tabindex=\"-1\"])').length"
    assert page.evaluate(stops) == 2  # one for each group
    page.locator(".squares").nth(1).locator("a").first.focus()
    at = "document.activeElement.getAttribute('href')"
    places = [page.evaluate(at)]
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "End", "ArrowRight", "Home"):
        page.keyboard.press(key)
        places.append(page.evaluate(at))
    first, second, third, again, below, above, last, end, home = places
    assert (again, above, end, home) == (second, second, last, first)
    assert len({first, second, third, below, last}) == 5
    page.keyboard.press("ArrowRight")
    # The picture is replaced each minute. The focus stays on its square.
    page.locator("#fleet-minutes").evaluate("element => element.dataset.old = 'yes'")
    page.evaluate("htmx.trigger('#fleet-minutes', 'live')")
    expect(page.locator("#fleet-minutes:not([data-old])")).to_be_visible()
    assert page.evaluate(at) == second
    assert page.evaluate(stops) == 2
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.squares')") is None
    page.keyboard.press("?")
    expect(page.locator("#keys-list")).to_contain_text("Move between squares")
