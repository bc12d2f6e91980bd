"""Pages deny access by default. Also tests the pages that refuse access."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dnspanel.accounts.models import User
from dnspanel.web.account import signed_in
from dnspanel.web.account.signed_in import OPEN_VIEWS
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone


def test_only_these_views_are_open() -> None:
    assert {*OPEN_VIEWS} == {
        *("account_login", "mfa_authenticate", "account_inactive", "password-forgotten", "password-link"),
        *("passkey-sign-in", "welcome", "webhook-stop-mails", "enroll-agent", "language", "calendar-feed"),
        *("livez", "readyz", "healthz", "docs-cli-file"),
        *("openid_connect_login", "openid_connect_callback", "oidc-ended"),
        *("saml-acs", "saml-finish", "saml-metadata"),
    }


def test_a_person_is_sent_to_sign_in_and_back() -> None:
    response = Client().get("/zones/?q=shop")
    assert response.status_code == 302
    assert response["Location"] == "/sign-in/?next=/zones/%3Fq%3Dshop"


def test_a_form_sent_after_the_session_ended_leads_back_to_its_page() -> None:
    response = Client().post("/people/invite/", headers={"Referer": "https://panel.test/people/"})
    assert response["Location"] == "/sign-in/?next=/people/"
    assert Client().post("/people/invite/")["Location"] == "/sign-in/?next=/"


@pytest.mark.parametrize("headers", [HTMX, {"Accept": "application/json"}])
def test_a_script_is_told_rather_than_redirected(headers: dict[str, str]) -> None:
    response = Client().get("/nodes/", headers=headers)
    assert response.status_code == 401
    assert response["HX-Trigger"] == "sign-in-needed"


def test_an_unknown_zone_and_a_page_that_never_was_look_alike(browser: Browser, alice: User) -> None:
    for address in ("/zones/unknown.test./", "/no/such/page/"):
        response = browser(alice).get(address)
        assert response.status_code == 404
        assert b"Page not found" in response.content
        assert b'<nav class="nav"' in response.content


def test_a_stranger_sees_no_frame_around_a_missing_page() -> None:
    response = Client().get("/no/such/page/")
    assert response.status_code == 404
    assert b'<nav class="nav"' not in response.content


def test_a_refusal_names_the_permission_and_who_can_give_it(browser: Browser, charlie: User, bob: User) -> None:
    response = browser(charlie).get(reverse("zone-new"))
    assert response.status_code == 403
    page = response.content.decode()
    assert "does not allow you to edit, publish, create and delete zones" in page
    assert "Required role: Editor and Administrator. An administrator can change your role." in page
    assert "enroll and change nodes" in browser(bob).get(reverse("node-new")).content.decode()


def test_a_page_and_its_fragment_are_told_apart_by_caches(browser: Browser, alice: User) -> None:
    assert "HX-Request" in browser(alice).get("/zones/")["Vary"]


def test_no_page_holds_inline_script_or_style(browser: Browser, alice: User) -> None:
    for address in ("/zones/", "/zones/new/", "/nodes/", "/add-node/", "/people/", "/account/password/"):
        page = browser(alice).get(address).content.decode()
        assert " style=" not in page
        assert "<style" not in page
        assert " onclick=" not in page
        assert "<script>" not in page
        assert "hx-on" not in page


def test_nothing_of_a_persons_pages_and_files_is_stored(browser: Browser, alice: User, make_zone: MakeZone) -> None:
    """Previously the back button showed pages after a sign-out, and the browser's cache contained files."""
    make_zone("www 300 A 192.0.2.1")
    client = browser(alice)
    for path in ("/zones/", "/zones/example.test./", "/people/", "/sign-in/", "/zones/example.test./export/bind/"):
        response = client.get(path)
        assert response.status_code in {200, 302}, path
        assert "no-store" in response["Cache-Control"], path


def test_a_session_in_which_nobody_does_anything_ends(
    browser: Browser, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SESSION_IDLE_MINUTES = 30
    clock = [1_000_000.0]
    monkeypatch.setattr(signed_in.time, "time", lambda: clock[0])
    client = browser(alice)

    def asks(minutes: int, **headers: str) -> int:
        clock[0] += minutes * 60
        status: int = client.get("/zones/", headers=headers).status_code
        return status

    assert [asks(0), asks(29), asks(29)] == [200, 200, 200]
    # Requests by htmx or fetch come from the open page, without a person's action.
    by_itself = {"HX-Request": "true"}, {"Sec-Fetch-Dest": "empty"}
    assert [asks(20, **by_itself[0]), asks(9, **by_itself[1])] == [200, 200]
    assert asks(2, **by_itself[0]) == 401
    assert asks(0) == 302
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    assert [asks(0), asks(29)] == [200, 200]
