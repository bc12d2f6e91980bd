"""The hands of a person in Chromium, which count their actions: a mouse, a keyboard or a finger on a phone."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from dnspanel.demo.stack import Stack
from tests.browser import Person, person

NOTE = Path(__file__).parents[2] / "docs/develop/interface.md"
WIDE, NARROW = 1280, 360
PATIENCE = 30_000  # milliseconds
FAR = 200  # the largest distance between elements, in presses of Tab


class Pointer:
    """A person who uses a mouse.

    Each click and Enter is one action; typed text doesn't count.
    """

    def __init__(self, page: Page) -> None:
        self.page, self.acts = page, 0

    def touches(self, target: Locator) -> None:
        target.click()

    def presses(self, target: Locator, keys: str = "") -> None:
        """Use a button, link or check box. `keys` is its keyboard shortcut."""
        self.touches(target)
        self.acts += 1

    def writes(self, field: Locator, text: str, keys: str = "") -> None:
        """Replace a field's text. Click the field first unless it has the focus."""
        expect(field).to_be_visible()
        if not is_focused(field):
            self.presses(field, keys)
            expect(field).to_be_focused()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def sets_time(self, field: Locator, moment: str) -> None:
        """Click a field for a date and time, then type its digits. They don't count."""
        self.presses(field)
        field.fill(moment)

    def enters(self) -> None:
        self.page.keyboard.press("Enter")
        self.acts += 1

    def opens_row(self, row: Locator, cell: str, keys: str) -> None:
        self.presses(row.locator(cell), keys)

    def publishes(self) -> None:
        """Go from the records or the review to the progress page, and wait until it reports all nodes."""
        review, publish = self.page.locator("#draft-bar [data-ctrl-enter]"), self.page.locator("button.publish")
        if not publish.count():
            self.presses(review, "Control+Enter")
        expect(publish).to_be_enabled()
        self.presses(publish, "Control+Enter")
        expect(self.page.locator("#progress .progress-head")).to_contain_text("on all nodes")


class Finger(Pointer):
    """A person with a phone. Each tap and Enter is one action; typed text doesn't count."""

    def touches(self, target: Locator) -> None:
        target.tap()


class Typist(Pointer):
    """A person without a mouse. Each key press is one action, except Tab and typed text."""

    def reaches(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(FAR):
            if is_focused(target):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never comes to {target}")

    def presses(self, target: Locator, keys: str = "") -> None:
        if not keys:
            self.reaches(target)
            keys = "Space" if target.get_attribute("type") == "checkbox" else "Enter"
        expect(target).to_be_attached()
        for key in keys.split():
            self.page.keyboard.press(key)
            self.acts += 1

    def writes(self, field: Locator, text: str, keys: str = "") -> None:
        if not keys:
            self.reaches(field)
        super().writes(field, text, keys)

    def sets_time(self, field: Locator, moment: str) -> None:
        self.reaches(field)
        field.fill(moment)

    def opens_row(self, row: Locator, cell: str, keys: str) -> None:
        self.reaches(row.locator(".row-link"))
        super().opens_row(row, cell, keys)


HANDS: dict[str, type[Pointer]] = {"mouse": Pointer, "keyboard": Typist, "phone": Finger}
Task = Callable[[Pointer, str], None]
# By name: the start page, or "" to start where the last task ended, and the function that does the task in a zone.
Tasks = dict[str, tuple[str, Task]]


def is_focused(element: Locator) -> bool:
    return bool(element.evaluate("element => element === document.activeElement"))


def row_of(page: Page, name: str) -> Locator:
    return page.locator(f'tbody[data-name="{name}"]')


@contextlib.contextmanager
def person_with(kind: str, browser: Browser, stack: Stack) -> Iterator[Person]:
    """Open a browser window for a person with this kind of hands."""
    is_phone = kind == "phone"
    with person(browser, stack, width=NARROW if is_phone else WIDE, has_touch=is_phone) as someone:
        someone.page.set_default_timeout(PATIENCE)
        yield someone


def counts_of(
    tasks: Tasks, someone: Person, kind: str, zone: str, *, prepare: Mapping[Task, Callable[[], None]]
) -> dict[str, int]:
    """Do the tasks in order and return their counts of actions. `prepare` acts before a task, without counting."""
    counted = {}
    for task, (begin, do) in tasks.items():
        if do in prepare:
            prepare[do]()
        if begin:
            someone.goes_to(begin.format(zone=zone))
        hands = HANDS[kind](someone.page)
        do(hands, zone)
        counted[task] = hands.acts
    return counted


def counts_in_note(tasks: Tasks, kind: str) -> dict[str, int]:
    """Return these tasks' counts from one column of the table in the document."""
    rows = [re.split(r"\s*\|\s*", line.strip("| \n")) for line in NOTE.read_text().splitlines() if line.startswith("|")]
    head = next(row for row in rows if row[0] == "Task")
    return {row[0]: int(row[head.index(kind.capitalize())]) for row in rows if row[0] in tasks}
