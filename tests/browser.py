"""A simulated user of a real Chromium: signs in, types, clicks and reads."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from dnspanel.demo.stack import Stack

CHROMIUM = Path("/usr/bin/chromium-headless-shell")
# No sandbox, because tests may run as root, and no features that access the internet.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# Playwright's own 5 s are too short on a busy machine. The tests don't measure time.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


class Person:
    """A simulated person with a separate browser window."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.set_default_timeout(10_000)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def goes_to(self, path: str) -> None:
        self.page.goto(self.url + path)

    def signs_in(self, username: str, password: str) -> None:
        self.goes_to("/sign-in/")
        self.page.get_by_label("User name or email address").fill(username)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("navigation", name="Main")).to_be_visible()

    def adds(self, zone: str, line: str) -> None:
        """Type one line into the quick-add field of the zone's editor."""
        self.opens(zone)
        field = self.page.locator("#quick-line")
        field.fill(line)
        field.press("Enter")
        expect(field).to_have_value("")
        expect(self.page.locator("#draft-bar")).to_contain_text("in your draft")

    def opens(self, zone: str) -> None:
        """Go to the editor of the zone. Close the review drawer if it is open."""
        if not self.page.url.endswith(f"/zones/{zone}/") or self.page.locator("#review-drawer[open]").count():
            self.goes_to(f"/zones/{zone}/")

    def changes_value(self, zone: str, owner: str, values: str) -> None:
        """Edit the values of the owner's row in place."""
        self.opens(zone)
        row = self.row(f"{owner}.{zone}")
        row.locator("[data-edit]").click()
        box = self.row(f"{owner}.{zone}", editing=True).get_by_label("Values, one per line")
        box.fill(values)
        box.press("Enter")
        expect(self.row(f"{owner}.{zone}")).to_contain_text(values.splitlines()[0])

    def deletes(self, zone: str, owner: str) -> None:
        """Delete the owner's row, as an operation in the draft."""
        self.opens(zone)
        row = self.row(f"{owner}.{zone}")
        row.hover()
        row.locator("[data-delete]").click()
        expect(self.row(f"{owner}.{zone}").locator("tr.is-delete")).to_be_visible()

    def row(self, name: str, *, editing: bool = False):  # type: ignore[no-untyped-def]  # a Locator
        if editing:
            return self.page.locator("tbody.is-editing")
        return self.page.locator(f'tbody[data-name="{name}"]')

    def reviews(self) -> None:
        self.page.get_by_role("link", name="Review & publish").click()
        expect(self.page.locator("#publish-form")).to_be_visible()

    def publishes(self) -> None:
        """Accept all warnings, give a reason and publish. The next page then shows the progress."""
        for box in self.page.locator("#publish-form input[name=accept]").all():
            box.check()
        typed = self.page.locator("#publish-form input[name^=confirm-]")
        if typed.count():
            typed.first.fill(re.sub(r".*/zones/([^/]+)/.*", r"\1", self.page.url))
        self.page.get_by_label(re.compile(r"^\s*Reason")).fill("flow test")
        self.page.locator("button.publish").click()
        expect(self.page.locator("#progress")).to_be_visible()

    def sees_everywhere(self, nodes: int = 3) -> None:
        """Check that the progress display, without a reload, shows that every node answers with the publication."""
        expect(self.page.locator("#progress .progress-head")).to_contain_text("on all nodes", timeout=10_000)
        expect(self.page.locator("#progress .big-number")).to_contain_text(f"{nodes} nodes")


@contextlib.contextmanager
def person(
    browser: Browser, stack: Stack, *, width: int = 1280, height: int = 900, has_touch: bool = False
) -> Iterator[Person]:
    """Open a new browser window for a person. Fail at the end if the browser's console contains a complaint."""
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=has_touch)
    someone = Person(context.new_page(), stack.url)
    yield someone
    context.close()
    assert someone.complaints == [], someone.complaints
