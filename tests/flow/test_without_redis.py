"""Without Redis people can sign in, edit and publish, and pages display the missing functions."""

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo.stack import Stack
from tests.browser import chromium, person
from tests.stack import ask_all, make_person, until, wait_until_in_sync

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

ZONE = "lab.example."


def test_a_person_signs_in_and_publishes_and_the_nodes_follow_when_redis_is_back(
    chromium: Browser, stack: Stack
) -> None:
    wait_until_in_sync(stack)
    password = make_person(stack, "dave")
    stack.supervisor.stop(["redis"])
    try:
        with person(chromium, stack) as dave:
            dave.signs_in("dave", password)
            dave.goes_to("/nodes/")
            expect(dave.page.locator("#main")).to_contain_text("ns1")
            dave.adds(ZONE, "no-redis 300 A 192.0.2.99")
            dave.reviews()
            dave.publishes()
            expect(dave.page.locator("#progress")).to_contain_text("Saved")
    finally:
        stack.supervisor.start(["redis"])
    until(
        lambda: all(answer.rdata == ("192.0.2.99",) for answer in ask_all(stack, f"no-redis.{ZONE}")),
        seconds=60,
        what="the edit at every node",
    )
