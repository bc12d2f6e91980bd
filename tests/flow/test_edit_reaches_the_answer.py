"""An edit from the line typed in the browser to the answers of all three name servers, with all parts real."""

import sys
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo.stack import Stack
from tests.browser import Person, chromium, person
from tests.stack import ask_all, make_person, until

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

ZONE = "test101.org."
# Until the last node answers. It takes a fraction of a second, which `./dev bench push` measures. This limit only ends
# a hanging test.
SECONDS_TO_ANSWER = 10.0


@pytest.fixture(scope="module")
def password(stack: Stack) -> str:
    make_person(stack, "bob", role="administrator")
    return make_person(stack, "alice", role="administrator")


@pytest.fixture
def alice(chromium: Browser, stack: Stack, password: str) -> Iterator[Person]:
    with person(chromium, stack) as someone:
        someone.signs_in("alice", password)
        yield someone


@pytest.fixture
def bob(chromium: Browser, stack: Stack, password: str) -> Iterator[Person]:
    with person(chromium, stack) as someone:
        someone.signs_in("bob", password)
        yield someone


def publishes_until(someone: Person, stack: Stack, name: str, *, rdata: tuple[str, ...], rcode: str) -> None:
    """Publish the reviewed changes. Wait until nodes and page show the result, and print the time."""
    began = time.monotonic()
    someone.publishes()
    wanted = [(rcode, rdata)] * len(stack.nodes)
    until(
        lambda: [(a.rcode, a.rdata) for a in ask_all(stack, name)] == wanted,
        seconds=SECONDS_TO_ANSWER,
        what=f"{name} {rdata or rcode} at every node",
    )
    answered = time.monotonic() - began
    someone.sees_everywhere()
    displayed = someone.page.locator("#progress .big-number").inner_text()
    sys.stdout.write(f"{name} {rdata or rcode}: click to last answer {answered:.2f} s, the page says {displayed!r}\n")


def test_an_added_record_is_answered_by_every_node_within_a_second(alice: Person, stack: Stack) -> None:
    alice.adds(ZONE, "www2 300 A 192.0.2.7")
    alice.reviews()
    expect(alice.page.locator("#main")).to_contain_text("192.0.2.7")
    publishes_until(alice, stack, f"www2.{ZONE}", rdata=("192.0.2.7",), rcode="NOERROR")


def test_a_changed_and_then_deleted_record_follow(alice: Person, stack: Stack) -> None:
    name = f"change.{ZONE}"
    alice.adds(ZONE, "change 300 A 192.0.2.10")
    alice.reviews()
    publishes_until(alice, stack, name, rdata=("192.0.2.10",), rcode="NOERROR")

    alice.changes_value(ZONE, "change", "192.0.2.11")
    alice.reviews()
    publishes_until(alice, stack, name, rdata=("192.0.2.11",), rcode="NOERROR")

    alice.deletes(ZONE, "change")
    alice.reviews()
    publishes_until(alice, stack, name, rdata=(), rcode="NXDOMAIN")


def test_a_zone_is_created_deleted_and_created_again(alice: Person, stack: Stack) -> None:
    zone = "flow-zone.test."

    def answered(rcode: str, rdata: tuple[str, ...]) -> bool:
        return [(a.rcode, a.rdata) for a in ask_all(stack, zone, "NS")] == [(rcode, rdata)] * len(stack.nodes)

    def create(nameserver: str) -> None:
        alice.goes_to("/zones/new/")
        alice.page.locator("#id_names").fill(zone)
        alice.page.locator("#id_nameservers").fill(f"{nameserver}\nns2.example.net.")
        alice.page.get_by_role("button", name="Create and publish").click()
        until(
            lambda: answered("NOERROR", tuple(sorted((nameserver, "ns2.example.net.")))),
            seconds=SECONDS_TO_ANSWER,
            what=f"{zone} with {nameserver}",
        )
        expect(alice.page.locator("#sync-chip")).to_contain_text("3 nodes, canary")

    create("ns1.example.net.")
    alice.goes_to(f"/zones/{zone}/delete/")
    alice.page.locator("#id_typed").fill(zone)
    alice.page.get_by_role("button", name="Delete").last.click()
    until(lambda: answered("REFUSED", ()), seconds=SECONDS_TO_ANSWER, what=f"{zone} refused")
    alice.sees_everywhere()
    create("ns9.example.net.")


def test_two_editors_of_one_rrset_see_base_theirs_and_mine(alice: Person, bob: Person, stack: Stack) -> None:
    name = f"both.{ZONE}"
    alice.adds(ZONE, "both 300 A 192.0.2.20")
    alice.reviews()
    publishes_until(alice, stack, name, rdata=("192.0.2.20",), rcode="NOERROR")

    bob.opens(ZONE)
    bob.changes_value(ZONE, "both", "192.0.2.22")
    alice.changes_value(ZONE, "both", "192.0.2.21")
    alice.reviews()
    publishes_until(alice, stack, name, rdata=("192.0.2.21",), rcode="NOERROR")

    bob.reviews()
    conflict = bob.page.locator("section.conflict")
    for value in ("192.0.2.20", "192.0.2.21", "192.0.2.22"):
        expect(conflict).to_contain_text(value)
    expect(bob.page.locator("button.publish")).to_be_disabled()
    conflict.get_by_role("button", name="Merge values").click()
    expect(bob.page.locator("button.publish")).to_be_enabled()
    publishes_until(bob, stack, name, rdata=("192.0.2.21", "192.0.2.22"), rcode="NOERROR")


def test_the_nodes_page_shows_live_queries_without_reload(alice: Person, stack: Stack) -> None:
    alice.goes_to("/nodes/")
    grid = alice.page.locator("#main")
    for node in stack.nodes:
        expect(grid).to_contain_text(node.name)
    first = grid.inner_text()
    until(lambda: grid.inner_text() != first, seconds=6, what="the numbers move")
