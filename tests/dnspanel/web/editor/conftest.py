"""Fixtures for tests that use the editor in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from dnspanel.accounts.models import User
from tests.browser import chromium as chromium
from tests.dnspanel.web.conftest import Browser

EDITOR = "/zones/example.test./"
OpenPage = Callable[..., Page]

__all__ = ["EDITOR", "OpenPage", "chromium"]


@pytest.fixture(scope="module")
def with_an_event_loop() -> Iterator[None]:
    """Disable Django's check for queries in async code, because Playwright runs an event loop in this thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture
def open_page(
    with_an_event_loop: None, chromium: Chromium, live_server: LiveServer, browser: Browser
) -> Iterator[OpenPage]:
    """Return a function that opens a page as a person, by default a small zone's editor. Script errors fail a test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(person: User, path: str = EDITOR, **how: object) -> Page:
        context = chromium.new_context(**how)  # type: ignore[arg-type]
        contexts.append(context)
        cookie = browser(person).cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.set_default_timeout(10_000)
        page.goto(live_server.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
