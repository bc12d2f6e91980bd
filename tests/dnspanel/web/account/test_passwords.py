"""Pages of links that set a password, and the mails with these links. `accounts.tasks` `sign_in.password_mail`"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts import tasks
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.sign_in.password_links import make_password_link
from dnspanel.accounts.sign_in.password_mail import mail_password_link
from dnspanel.web.account import passwords
from tests.dnspanel.web.conftest import YES, Browser, forget_password
from tests.mailserver import MailServer
from tests.people import PASSWORD
from tests.second_factors import set_up

NEW = "a new long pass phrase"


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    with MailServer() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.PANEL_URL = "https://dns.panel.test"
        yield server


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the ids of users to mail, in place of waking a worker."""
    found: list[int] = []
    monkeypatch.setattr(passwords, "wake", lambda task, user_id, lifetime: found.append(user_id))
    return found


@pytest.mark.django_db(transaction=True)  # a task closes connections that are not the test's
def test_a_mail_brings_a_link_that_sets_the_password(
    browser: Browser, bob: User, mail_server: MailServer, woken: list[int]
) -> None:
    client = browser()
    assert "Forgot your password?" in client.get("/sign-in/").content.decode()
    page = client.post("/password/", {"email": "BOB@people.test"})
    assert "Check your email" in page.content.decode()
    assert woken == [bob.pk]
    tasks.send_password_link(bob.pk)
    [mail] = mail_server.mails
    assert mail.to == ["bob@people.test"]
    found = re.search(r"https://dns\.panel\.test(/password/\S+/)", mail.text)
    assert found
    form = client.get(found[1])
    assert form["Cache-Control"] == "no-store"
    assert client.post(found[1], {"password": "short"}).status_code == 422
    assert client.post(found[1], {"password": NEW})["Location"] == "/sign-in/"
    assert client.get(found[1]).status_code == 410
    assert client.post("/sign-in/", {"login": "bob", "password": NEW})["Location"] == "/"


def test_nobody_learns_who_has_an_account(browser: Browser, bob: User, mail_server: Any, woken: list[int]) -> None:
    pages = [browser().post("/password/", {"email": email}) for email in ("bob@people.test", "eve@people.test")]
    texts = [page.content.decode().replace("eve@", "bob@") for page in pages]
    tokens = [re.sub(r"[\w-]{60,}", "", text) for text in texts]
    assert tokens[0] == tokens[1]
    assert woken == [bob.pk]
    User.objects.update(is_active=False)
    browser().post("/password/", {"email": "bob@people.test"})
    assert woken == [bob.pk]
    mail_password_link(user_id=bob.pk, now=timezone.now())
    assert mail_server.mails == []


def test_who_signs_in_by_a_provider_alone_gets_no_way_past_it(bob: User, mail_server: Any) -> None:
    bob.set_unusable_password()
    bob.save()
    mail_password_link(user_id=bob.pk, now=timezone.now())
    assert mail_server.mails == []
    assert not AuditEntry.objects.filter(action="person.password-link").exists()


def test_nobody_is_mailed_more_than_five_times_a_minute(
    browser: Browser, bob: User, mail_server: Any, woken: list[int]
) -> None:
    answers = [browser().post("/password/", {"email": "bob@people.test"}).status_code for _ in range(7)]
    assert answers == [200] * 5 + [429] * 2
    assert len(woken) == 5


def test_without_a_mail_server_there_is_no_such_page(browser: Browser, bob: User) -> None:
    assert "Forgot your password?" not in browser().get("/sign-in/").content.decode()
    assert browser().post("/password/", {"email": "bob@people.test"}).status_code == 404
    mail_password_link(user_id=bob.pk, now=timezone.now())
    assert not AuditEntry.objects.filter(action="person.password-link").exists()


def test_a_mail_server_that_is_away_is_logged(bob: User, mail_server: MailServer, caplog: Any, settings: Any) -> None:
    settings.EMAIL_PORT = 1
    mail_password_link(user_id=bob.pk, now=timezone.now())
    assert "cannot send a password link to=bob" in caplog.text


def test_an_administrators_link_is_shown_once_after_the_password(browser: Browser, alice: User, bob: User) -> None:
    client = browser(alice)
    forget_password(client)
    path = f"/people/{bob.pk}/password/"
    assert "Your password" in client.post(path).content.decode()
    once = client.post(path, {**YES, "password": PASSWORD})["Location"]
    found = re.search(r"(/password/[^/\s<]+/)", client.get(once).content.decode())
    assert found
    assert client.get(once)["Location"] == f"/people/{bob.pk}/"
    assert browser().post(unescape(found[1]), {"password": NEW})["Location"] == "/sign-in/"
    assert User.objects.get(pk=bob.pk).check_password(NEW)


def test_a_second_factor_is_asked_for_after_a_new_password_too(browser: Browser, bob: User) -> None:
    set_up(bob, timezone.now())
    link = make_password_link(user=bob, by=None, now=timezone.now())
    client = browser()
    client.post(f"/password/{link}/", {"password": NEW})
    assert client.post("/sign-in/", {"login": "bob", "password": NEW})["Location"] == "/sign-in/second-factor/"


def test_sessions_are_listed_and_ended_on_their_page(browser: Browser, alice: User, bob: User) -> None:
    this, other, third = browser(bob), browser(bob), browser(bob)
    page = this.get("/account/signing-in/").content.decode()
    assert page.count('name="session"') == 2
    assert "this session" in page
    for client in (this, other, third):
        assert client.session.session_key not in page
    public_id = re.findall(r'name="session" value="(\w+)"', page)[0]
    assert this.post("/account/signing-in/sessions/", {"session": public_id}).status_code == 302
    assert this.post("/account/signing-in/sessions/", {"session": public_id}).status_code == 404
    assert sorted(client.get("/zones/").status_code for client in (other, third)) == [200, 302]
    this.post("/account/signing-in/sessions/")
    assert [client.get("/zones/").status_code for client in (this, other, third)] == [200, 302, 302]
    administrator = browser(alice)
    person = f"/people/{bob.pk}/"
    assert "Revoke all sessions" in administrator.get(person).content.decode()
    administrator.post(f"{person}sessions/", YES)
    assert this.get("/zones/").status_code == 302
    assert "No active sessions" in administrator.get(person).content.decode()
