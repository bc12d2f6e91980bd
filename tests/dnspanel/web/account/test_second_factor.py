"""Sign-in with a second factor, and the pages that set one up."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from allauth.account.app_settings import LOGIN_TIMEOUT
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.people import people
from dnspanel.accounts.sign_in.second_factor import reset_second_factor, second_factors_of
from tests.dnspanel.web.conftest import HTMX, YES, Browser, forget_password
from tests.people import PASSWORD, make_person
from tests.second_factors import App, set_up

SIGN_IN, SECOND = "/sign-in/", "/sign-in/second-factor/"
PAGE = "/account/signing-in/"
AJAX = {"X-Requested-With": "XMLHttpRequest", "Accept": "application/json"}


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def app_and_codes(bob: User, now: datetime) -> tuple[App, list[str]]:
    return set_up(bob, now)


@pytest.fixture
def app(app_and_codes: tuple[App, list[str]]) -> App:
    return app_and_codes[0]


@pytest.fixture
def codes(app_and_codes: tuple[App, list[str]]) -> list[str]:
    return app_and_codes[1]


def half_signed_in(browser: Browser, **extra: Any) -> Client:
    client = browser()
    response = client.post(SIGN_IN, {"login": "bob", "password": PASSWORD, "next": "/zones/"}, **extra)
    assert response["Location"] == SECOND
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/zones/").status_code == 200


def acts() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_the_password_leads_to_the_second_factor_and_the_code_to_the_page(browser: Browser, app: App, now: Any) -> None:
    client = half_signed_in(browser)
    assert not is_signed_in(client)
    page = client.get(SECOND)
    assert page["Cache-Control"] == "no-store"
    assert 'signing in as <span class="strong">bob</span>' in page.content.decode()
    assert "You have 15 minutes after entering your password." in page.content.decode()
    assert LOGIN_TIMEOUT == 15 * 60
    wrong = client.post(SECOND, {"code": app.wrong_code(now)})
    assert wrong.status_code == 422
    assert "Incorrect code" in wrong.content.decode()
    assert not is_signed_in(client)
    assert client.post(SECOND, {"code": app.code(now)})["Location"] == "/zones/"
    assert is_signed_in(client)
    assert acts() == ["second-factor.set-up", "second-factor.wanted", "second-factor.failed", "sign-in"]
    assert client.get(SECOND)["Location"] == "/"


def test_a_code_that_was_seen_signs_nobody_else_in(browser: Browser, app: App, now: Any) -> None:
    first, second = half_signed_in(browser), half_signed_in(browser)
    first.post(SECOND, {"code": app.code(now)})
    cache.clear()
    replayed = second.post(SECOND, {"code": app.code(now)})
    assert replayed.status_code == 422
    assert "was already used" in replayed.content.decode()
    assert not is_signed_in(second)
    assert acts()[-1] == "second-factor.replayed"


def test_two_sign_ins_around_a_lock_out_are_both_kept_out(browser: Browser, app: App, now: Any, codes: Any) -> None:
    """One sign-in began before the wrong codes, the other after them."""
    before = half_signed_in(browser)
    guessing = half_signed_in(browser)
    for _ in range(5):
        guessing.post(SECOND, {"code": app.wrong_code(now)})
    cache.clear()
    after = half_signed_in(browser)
    for client in (guessing, before, after):
        for code in (app.code(now), codes[0]):
            refused = client.post(SECOND, {"code": code})
            assert refused.status_code == 422
            assert "Too many incorrect codes" in refused.content.decode()
        assert not is_signed_in(client)
    assert acts()[-1] == "second-factor.locked"


def test_a_recovery_code_signs_in_once(browser: Browser, codes: list[str]) -> None:
    first, second = half_signed_in(browser), half_signed_in(browser)
    first.post(SECOND, {"code": codes[0]})
    assert is_signed_in(first)
    assert second.post(SECOND, {"code": codes[0]}).status_code == 422
    assert not is_signed_in(second)
    assert acts()[-3:] == ["second-factor.recovery", "sign-in", "second-factor.failed"]
    assert "codes left: 9" in first.get(PAGE).content.decode()


@pytest.mark.parametrize("change", ["closed", "password", "sessions", "reset"])
def test_a_sign_in_half_way_ends_when_the_account_changes(
    browser: Browser, app: App, bob: User, now: Any, change: str
) -> None:
    client = half_signed_in(browser)
    if change == "closed":
        people.deactivate(user=bob, by=None, now=now)
    elif change == "password":
        bob.set_password("another long pass phrase")
        bob.save()
    elif change == "sessions":
        User.objects.filter(pk=bob.pk).update(sessions_ended=1)
    else:
        reset_second_factor(user=bob, by=None, now=now)
    assert client.post(SECOND, {"code": app.code(now)})["Location"] == SIGN_IN
    assert client.get(SIGN_IN).status_code == 200
    assert not is_signed_in(client)


def test_one_may_leave_it_and_sign_in_as_somebody_else(browser: Browser, app: App, alice: User) -> None:
    client = half_signed_in(browser)
    assert client.get(SIGN_IN)["Location"] == SECOND
    assert client.post(SECOND, {"leave": "yes"})["Location"] == SIGN_IN
    assert client.get(SIGN_IN).status_code == 200
    client.post(SIGN_IN, {"login": "alice", "password": PASSWORD})
    assert is_signed_in(client)


def test_the_dialog_on_top_of_a_page_is_told_each_step(browser: Browser, app: App, now: Any) -> None:
    client = browser()
    first = client.post(SIGN_IN, {"login": "bob", "password": PASSWORD}, headers=AJAX)
    assert (first.status_code, first.json()["location"]) == (200, SECOND)
    assert client.get("/zones/", headers=HTMX).status_code == 401
    half = {"location": SECOND, "request_options": None}
    assert client.get(SECOND, headers=AJAX).json() == half  # the next page after the first step
    wrong = client.post(SECOND, {"code": app.wrong_code(now)}, headers=AJAX)
    assert wrong.status_code == 400
    assert "Incorrect code" in wrong.json()["form"]["errors"][0]
    assert client.post(SECOND, {"code": app.code(now)}, headers=AJAX).json() == {"location": "/"}
    assert client.get("/zones/", headers=HTMX).status_code == 200
    assert browser().post(SECOND, {"code": "123456"}, headers=AJAX).json() == {"location": SIGN_IN}


def test_who_has_none_signs_in_as_before(browser: Browser, bob: User) -> None:
    client = browser()
    assert client.post(SIGN_IN, {"login": "bob", "password": PASSWORD})["Location"] == "/"
    assert "Set up" in client.get(PAGE).content.decode()


def test_a_person_sets_the_app_up_and_sees_the_recovery_codes_once(browser: Browser, bob: User, now: Any) -> None:
    client = browser(bob)
    page = client.get(f"{PAGE}app/")
    text = page.content.decode()
    assert 'src="data:image/svg+xml;base64,' in text
    found = re.search(r'id="secret"[^>]*>([A-Z2-7 ]+)<', text)
    assert found
    app = App(found[1].replace(" ", ""))
    wrong = client.post(f"{PAGE}app/", {"code": app.wrong_code(now)})
    assert wrong.status_code == 422
    assert found[1] in wrong.content.decode()  # the app keeps the secret that it already has
    assert not second_factors_of(bob)
    once = client.post(f"{PAGE}app/", {"code": app.code(now)})["Location"]
    listed = re.search(r'id="codes"[^>]*>([\d\s]+)<', client.get(once).content.decode())
    assert listed
    codes = unescape(listed[1]).split()
    assert len(codes) == 10
    assert client.get(once)["Location"] == PAGE
    assert "codes left: 10" in client.get(PAGE).content.decode()
    other = half_signed_in(browser)
    other.post(SECOND, {"code": codes[9]})
    assert is_signed_in(other)


@pytest.mark.parametrize("act", ["app/", "app/remove/", "codes/"])
def test_the_password_is_asked_for_first(browser: Browser, bob: User, app: App, act: str) -> None:
    if act == "app/":
        reset_second_factor(user=bob, by=None, now=timezone.now())
        bob.refresh_from_db()
    client = browser(bob)
    forget_password(client)
    before = list(Authenticator.objects.order_by("pk").values_list("pk", "data"))
    assert "Your password" in client.post(PAGE + act).content.decode()
    refused = client.post(PAGE + act, {**YES, "password": "wrong"})
    assert refused.status_code == 422
    assert list(Authenticator.objects.order_by("pk").values_list("pk", "data")) == before
    assert client.post(PAGE + act, {**YES, "password": PASSWORD}).status_code == 302
    if act != "app/":
        assert list(Authenticator.objects.order_by("pk").values_list("pk", "data")) != before
    else:
        assert client.get(PAGE + act).status_code == 200


def test_a_code_stands_in_for_the_password_once(browser: Browser, bob: User, app: App, now: Any) -> None:
    client = browser(bob)
    forget_password(client)
    assert "or a two-factor code" in client.post(f"{PAGE}codes/").content.decode()
    wrong = client.post(f"{PAGE}codes/", {**YES, "password": "", "second_factor": app.wrong_code(now)})
    assert wrong.status_code == 422
    assert client.post(f"{PAGE}codes/", {**YES, "second_factor": app.code(now)}).status_code == 302
    forget_password(client)
    assert client.post(f"{PAGE}codes/", {**YES, "second_factor": app.code(now)}).status_code == 422


def test_turning_it_off_is_confirmed_and_written_down(browser: Browser, bob: User, app: App) -> None:
    client = browser(bob)
    assert "Disable authenticator app" in client.post(f"{PAGE}app/remove/").content.decode()
    assert second_factors_of(bob)
    assert client.post(f"{PAGE}app/remove/", YES)["Location"] == PAGE
    assert not second_factors_of(bob)
    assert acts()[-1] == "second-factor.remove"


def test_an_administrator_resets_it_with_the_password(browser: Browser, alice: User, bob: User, app: App) -> None:
    bobs = browser(bob)
    assert is_signed_in(bobs)
    client = browser(alice)
    path = f"/people/{bob.pk}/"
    assert "10 recovery codes left" in client.get(path).content.decode()
    forget_password(client)
    assert "Your password" in client.post(f"{path}second-factor/").content.decode()
    assert client.post(f"{path}second-factor/", {**YES, "password": PASSWORD})["Location"] == path
    assert not is_signed_in(bobs)
    assert "alice reset the second factors of bob." in client.get(path).content.decode()
    assert browser().post(SIGN_IN, {"login": "bob", "password": PASSWORD})["Location"] == "/"


def test_a_sign_in_that_waits_too_long_begins_anew(browser: Browser, app: App, now: Any) -> None:
    client = half_signed_in(browser)
    session = client.session
    session["account_login"] |= {"initiated_at": (now - timedelta(hours=1)).timestamp()}
    session.save()
    assert client.post(SECOND, {"code": app.code(now)})["Location"] == SIGN_IN
    assert not is_signed_in(client)


def test_a_strangers_half_sign_in_gives_nobody_the_owners_session(browser: Browser, app: App, now: Any) -> None:
    """One person's code does not complete another person's sign-in."""
    mallory = make_person("mallory", Role.READER)
    set_up(mallory, now)
    client = browser()
    client.post(SIGN_IN, {"login": "mallory", "password": PASSWORD})
    assert client.post(SECOND, {"code": app.code(now)}).status_code == 422
    assert not is_signed_in(client)


def test_who_has_no_password_here_shows_by_a_code_or_a_new_sign_in_that_it_is_them(
    browser: Browser, bob: User, now: datetime
) -> None:
    """These people sign in through another system."""
    bob.set_unusable_password()
    bob.save()
    client = browser(bob)
    assert "Change password" not in client.get(PAGE).content.decode()
    assert client.get(f"{PAGE}app/").status_code == 200  # the person has just signed in
    forget_password(client)
    page = client.get(f"{PAGE}app/").content.decode()
    assert "sign out, sign in again" in page
    assert 'id="id_password"' not in page
    app, _ = set_up(bob, now)
    page = client.post(f"{PAGE}codes/").content.decode()
    assert 'id="id_password"' not in page
    wrong = client.post(f"{PAGE}codes/", {**YES, "second_factor": app.wrong_code(now)})
    assert "Incorrect code" in wrong.content.decode()
    assert client.post(f"{PAGE}codes/", {**YES, "second_factor": app.code(now)}).status_code == 302
