"""Passkeys with Chromium's virtual authenticator, as a second factor and instead of the password.

Tests `sign_in.passkeys` and `account.recovery_codes` too.
"""

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone
from playwright.sync_api import CDPSession, Locator, Page, expect

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.sessions.session_store import SessionStore
from dnspanel.accounts.sign_in import passkeys
from dnspanel.accounts.sign_in.passkeys import are_possible
from dnspanel.accounts.sign_in.second_factor import second_factors_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, PASSWORD, make_person
from tests.second_factors import set_up

in_chromium = pytest.mark.browser
committed = pytest.mark.django_db(transaction=True)
PAGE = "/account/signing-in/"
Open = Callable[..., tuple[Page, "Key"]]


class Key:
    """Chromium's virtual authenticator. With `checks` it verifies the user, otherwise only the user's presence."""

    def __init__(self, page: Page, *, checks: bool) -> None:
        self.devtools: CDPSession = page.context.new_cdp_session(page)
        self.devtools.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal" if checks else "usb",
            "automaticPresenceSimulation": True,
        }
        options |= {"hasResidentKey": checks, "hasUserVerification": checks, "isUserVerified": checks}
        self.id = self.devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]

    def credentials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.devtools.send("WebAuthn.getCredentials", {"authenticatorId": self.id})[
            "credentials"
        ]
        return found

    def lend(self, credential: dict[str, Any]) -> None:
        """Add another authenticator's credential to this authenticator."""
        self.devtools.send("WebAuthn.addCredential", {"authenticatorId": self.id, "credential": credential})


@pytest.fixture
def opened(open_page: OpenPage, live_server: Any, settings: Any) -> Open:
    """Return a function that opens a page of the panel with a virtual authenticator, at a URL that allows passkeys."""
    settings.PANEL_URL = live_server.url

    def opened(person: User, path: str = PAGE, *, checks: bool = True, **how: Any) -> tuple[Page, Key]:
        page = open_page(person, path, **how)
        return page, Key(page, checks=checks)

    return opened


def add_passkey(page: Page, *, alone: bool = True) -> None:
    page.get_by_role("link", name="Add passkey").click()
    page.get_by_label("Passkey name").fill("My laptop")
    page.get_by_label("Sign in with this passkey").set_checked(alone)
    page.get_by_role("button", name="Create").click()


def sign_out(page: Page) -> None:
    page.context.clear_cookies(name="sessionid")
    page.goto(page.url.split("/account")[0] + "/sign-in/")


def types_password(page: Page) -> None:
    page.get_by_label("User name or email address").fill("bob")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def acts() -> list[str]:
    found = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    return [action for action in found if action != "sign-out"]


@in_chromium
@committed
def test_a_passkey_signs_in_alone_and_as_the_second_factor(opened: Open, bob: User) -> None:
    page, key = opened(bob)
    add_passkey(page)
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    [credential] = key.credentials()
    assert credential["rpId"] == "localhost"
    assert credential["isResidentCredential"]
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_text("My laptop")).to_be_visible()
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    page.goto(page.url.rstrip("/") + PAGE)
    expect(page.get_by_text("last used just now")).to_be_visible()
    sign_out(page)
    types_password(page)
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    page.get_by_role("button", name="Use passkey").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert acts() == ["sign-in", "second-factor.set-up", "sign-in", "second-factor.wanted", "sign-in"]


@in_chromium
@committed
def test_a_stick_that_is_only_touched_is_a_second_factor_and_no_more(opened: Open, bob: User) -> None:
    page, _ = opened(bob, checks=False)
    add_passkey(page, alone=False)
    page.get_by_role("link", name="Continue").click()
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("No passkey was used")
    types_password(page)
    page.get_by_role("button", name="Use passkey").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    # Its answer to a second-factor challenge is not accepted for a sign-in by passkey alone, either.
    sign_out(page)
    types_password(page)
    page.wait_for_function("window.webauthnJSON")
    posted = page.evaluate(
        """async (handle) => {
            const form = document.querySelector("form[data-passkey]");
            const answer = await window.webauthnJSON.get(JSON.parse(form.dataset.options));
            answer.response.userHandle = handle;  // which no signature covers
            const body = new FormData(form);
            body.set("credential", JSON.stringify(answer));
            return (await fetch("/sign-in/passkey/", {method: "POST", body, redirect: "manual"})).type;
        }""",
        base64.urlsafe_b64encode(user_pk_to_url_str(bob).encode()).decode().rstrip("="),
    )
    assert posted == "opaqueredirect"
    page.goto(page.url.split("/sign-in")[0] + "/zones/")
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()


@in_chromium
@committed
def test_somebody_elses_key_signs_nobody_in(opened: Open, bob: User) -> None:
    """A credential with another account's user handle is not accepted for that account."""
    mallory = make_person("mallory", Role.READER)
    page, key = opened(mallory)
    add_passkey(page)
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    [credential] = key.credentials()
    theirs = credential | {"userHandle": base64.b64encode(user_pk_to_url_str(bob).encode()).decode()}
    key.devtools.send("WebAuthn.clearCredentials", {"authenticatorId": key.id})
    key.lend(theirs)
    page.context.clear_cookies(name="sessionid")
    page.goto(page.url.split("/once")[0] + "/sign-in/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey wasn’t accepted.")).to_be_visible()
    entry = AuditEntry.objects.get(action="sign-in.failed")
    assert (entry.target, entry.user) == ("bob", None)


def in_the_dialog(page: Page, made: Zone) -> Locator:
    """End the session while a person types on the zone's page, and return the sign-in dialog over the page."""
    page.goto(page.url.split("/account")[0].split("/once")[0] + f"/zones/{made.name}/")
    page.locator("#draft-bar [data-drawer]").click()
    page.get_by_label("Reason").fill("moved")
    page.context.clear_cookies(name="sessionid")
    page.locator("button.publish").click()
    dialog = page.locator("#sign-in-dialog")
    expect(dialog).to_be_visible()
    return dialog


def is_published_with_what_was_typed(page: Page) -> None:
    expect(page.locator("#review-drawer #progress")).to_be_visible()
    assert Publication.objects.latest("sequence").reason == "moved"


@pytest.fixture
def drafted(make_zone: MakeZone, bob: User) -> Zone:
    """Create a zone that Bob's draft changes."""
    zone = make_zone("www 300 A 192.0.2.1")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.8"), now=NOW)
    return zone


@in_chromium
@committed
def test_the_dialog_over_a_page_takes_a_passkey_in_place_of_the_password(
    opened: Open, bob: User, drafted: Zone
) -> None:
    page, key = opened(bob)
    add_passkey(page)
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    dialog = in_the_dialog(page, drafted)
    key.devtools.send("WebAuthn.setUserVerified", {"authenticatorId": key.id, "isUserVerified": False})
    dialog.get_by_role("button", name="Use passkey").click()
    expect(dialog.get_by_role("alert")).to_contain_text("No passkey was used")
    key.devtools.send("WebAuthn.setUserVerified", {"authenticatorId": key.id, "isUserVerified": True})
    dialog.get_by_role("button", name="Use passkey").click()
    is_published_with_what_was_typed(page)


@in_chromium
@committed
def test_the_dialog_takes_a_passkey_as_the_second_factor(opened: Open, bob: User, drafted: Zone) -> None:
    page, _ = opened(bob, checks=False)
    add_passkey(page, alone=False)
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    dialog = in_the_dialog(page, drafted)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(dialog.get_by_label("Two-factor code")).to_be_visible()
    dialog.get_by_role("button", name="Use passkey").click()
    is_published_with_what_was_typed(page)


@in_chromium
@committed
def test_a_passkey_of_somebody_else_does_not_go_on_with_ones_page(opened: Open, bob: User, drafted: Zone) -> None:
    """Otherwise one person would publish the text that another typed."""
    mallory = make_person("mallory", Role.EDITOR)
    page, key = opened(mallory)
    add_passkey(page)
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    [credential] = key.credentials()
    page, other = opened(bob, "/account/here/")
    other.lend(credential)
    dialog = in_the_dialog(page, drafted)
    dialog.get_by_role("button", name="Use passkey").click()
    expect(dialog.get_by_role("alert")).to_contain_text("belongs to another account")
    assert Publication.objects.count() == 1
    assert "sessionid" not in {cookie["name"] for cookie in page.context.cookies() if not is_nobodys(cookie["value"])}


def is_nobodys(session: str) -> bool:
    return "_auth_user_id" not in SessionStore(session).load()


@in_chromium
@committed
def test_who_signs_in_by_a_provider_does_it_in_another_tab_and_the_page_goes_on(
    opened: Open, bob: User, alice: User, drafted: Zone, browser: Browser, live_server: Any
) -> None:
    """The provider is tested in tests/dnspanel/accounts/providers. Here the other tab only comes back signed in."""
    bob.set_unusable_password()
    bob.save()
    page, _ = opened(bob, "/account/here/")
    dialog = in_the_dialog(page, drafted)
    expect(dialog.get_by_label("Password")).to_have_count(0)
    with page.context.expect_page() as popped:
        dialog.get_by_role("link", name="Sign in in another tab").click()
    tab = popped.value
    expect(tab).to_have_url(re.compile(r"/sign-in/\?next=/account/here/$"))

    def comes_back_as(person: User) -> None:
        session = browser(person).cookies["sessionid"].value
        tab.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        tab.goto(live_server.url + "/account/here/")
        expect(tab.get_by_text("Go back to the tab")).to_be_visible()

    comes_back_as(alice)
    expect(dialog.get_by_role("alert")).to_contain_text("alice signed in using another tab.")
    assert Publication.objects.count() == 1
    comes_back_as(bob)
    is_published_with_what_was_typed(page)


@in_chromium
@committed
def test_a_removed_passkey_and_a_closed_account_sign_nobody_in(opened: Open, bob: User) -> None:
    page, _ = opened(bob)
    add_passkey(page)
    page.get_by_role("link", name="Continue").click()
    User.objects.filter(pk=bob.pk).update(is_active=False)
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey wasn’t accepted.")).to_be_visible()
    User.objects.filter(pk=bob.pk).update(is_active=True)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    page.goto(page.url.rstrip("/") + PAGE)
    page.get_by_role("button", name="Remove My laptop").click()
    page.get_by_role("button", name="Remove passkey").click()
    expect(page.get_by_text("Passkey removed.")).to_be_visible()
    assert not Authenticator.objects.exists()
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey wasn’t accepted.")).to_be_visible()


@in_chromium
@committed
def test_a_person_has_so_many_passkeys_and_no_more(opened: Open, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passkeys, "MOST_PASSKEYS", 0)
    page, _ = opened(bob)
    add_passkey(page)
    expect(page.get_by_text("The maximum is 0 passkeys.")).to_be_visible()
    assert not Authenticator.objects.exists()


@pytest.fixture
def with_passkeys(settings: Any) -> None:
    settings.PANEL_URL = "https://panel.test"


GARBAGE: dict[str, Any] = {
    "nothing": None,
    "a list": [],
    "a number": 7,
    "empty": {},
    "no response": {"id": "AAAA", "rawId": "AAAA", "type": "public-key"},
    "response is text": {"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": "x"},
    "bad CBOR": {
        "id": "AAAA",
        "rawId": "AAAA",
        "type": "public-key",
        "response": {"clientDataJSON": "e30", "attestationObject": "o2", "userHandle": "MQ"},
    },
    "empty data": {
        "id": "AAAA",
        "rawId": "AAAA",
        "type": "public-key",
        "response": {"clientDataJSON": "", "authenticatorData": "", "signature": "", "userHandle": "MQ"},
    },
    "bad Base64": {"id": "é", "rawId": 5, "type": "public-key", "response": {"userHandle": {}}},
}


@pytest.mark.parametrize("sent", [*GARBAGE.values(), "[" * 19_000, "x" * 30_000], ids=[*GARBAGE, "deep", "long"])
def test_what_is_no_answer_of_a_passkey_is_refused_everywhere(
    browser: Browser, bob: User, with_passkeys: None, sent: Any
) -> None:
    text = sent if isinstance(sent, str) else json.dumps(sent)
    strangers = browser()
    strangers.get("/sign-in/passkey/")
    assert strangers.post("/sign-in/passkey/", {"credential": text})["Location"] == "/sign-in/"
    client = browser(bob)
    client.get(f"{PAGE}passkey/")
    refused = client.post(f"{PAGE}passkey/", {"credential": text, "name": "x", "alone": "on"})
    assert refused.status_code == 422
    assert not second_factors_of(bob)
    set_up(bob, timezone.now())
    half = browser()
    half.post("/sign-in/", {"login": "bob", "password": PASSWORD})
    half.get("/sign-in/second-factor/")
    assert half.post("/sign-in/second-factor/", {"credential": text}).status_code == 422
    assert half.get("/zones/").status_code == 302


def test_a_challenge_is_made_before_it_is_answered(browser: Browser, db: None, with_passkeys: None) -> None:
    answer = {"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": {"userHandle": "MQ"}}
    assert browser().post("/sign-in/passkey/", {"credential": json.dumps(answer)})["Location"] == "/sign-in/"


def test_nobody_removes_the_passkey_of_somebody_else(browser: Browser, alice: User, bob: User) -> None:
    row = Authenticator.objects.create(user=alice, type=Authenticator.Type.WEBAUTHN, data={"name": "hers"})
    for pk in (row.pk, 0):
        assert browser(bob).post(f"{PAGE}passkey/{pk}/remove/", {"confirmed": "yes"}).status_code == 404
    assert Authenticator.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "possible"),
    [
        ("https://dns.example.net:8443", True),
        ("http://localhost:8000", True),
        ("http://dns.example.net", False),
        ("https://192.0.2.1", False),
        ("https://[2001:db8::1]", False),
        ("http://127.0.0.1:8000", False),
    ],
)
def test_browsers_allow_passkeys_at_names_over_tls(settings: Any, url: str, possible: bool) -> None:
    settings.PANEL_URL = url
    assert are_possible() is possible
    assert (b"Sign in with a passkey" in Client().get("/sign-in/").content) is possible
    assert Client().get("/sign-in/passkey/").status_code == (200 if possible else 404)
