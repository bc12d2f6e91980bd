"""OIDC sign-in in Chromium at a real provider, with and without JavaScript."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from dnspanel.accounts.models import Role, User
from dnspanel.accounts.providers.provider_identity import Rule
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.oidc.provider import SECRET, Somebody, added, provider_running
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop


@pytest.mark.browser
@pytest.mark.parametrize("has_script", [False, True], ids=["without-script", "with-script"])
def test_chromium_signs_in_at_the_provider(
    with_an_event_loop: None,
    chromium: Chromium,
    live_server: LiveServer,
    reachable: None,
    settings: Any,
    tmp_path: Path,
    has_script: bool,
) -> None:
    settings.PANEL_URL = live_server.url
    with provider_running(tmp_path, f"{live_server.url}/sign-in/by/one/answer/") as idp:
        added(idp, makes_people=True, rules=(Rule("web", Role.READER),))
        idp.users(e1=Somebody("eve", "eve@people.test", Groups=["web"]))
        context = chromium.new_context(java_script_enabled=has_script)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.goto(f"{live_server.url}/account/time-zone/")
        page.get_by_role("button", name="Sign in with One").click()
        page.get_by_label("Username:").fill("eve")
        page.get_by_label("Password:").fill(SECRET)
        page.get_by_role("button", name="Login").click()
        expect(page.get_by_role("heading", name="Time zone")).to_be_visible()
        assert page.url == f"{live_server.url}/account/time-zone/"
        context.close()
    assert User.objects.get().username == "eve"
