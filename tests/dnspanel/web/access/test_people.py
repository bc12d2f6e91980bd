"""The page of people."""

import re

from django.urls import reverse

from dnspanel.accounts.models import Invitation, Role, User
from tests.dnspanel.web.conftest import HTMX, Browser


def test_administrators_see_everybody(browser: Browser, alice: User, bob: User, charlie: User) -> None:
    page = browser(alice).get("/people/").content
    for person in (alice, bob, charlie):
        assert person.email.encode() in page


def test_only_administrators_find_the_page_in_the_navigation(browser: Browser, alice: User, bob: User) -> None:
    assert b'href="/people/"' in browser(alice).get("/zones/").content
    assert b'href="/people/"' not in browser(bob).get("/zones/").content
    assert browser(bob).get("/people/").status_code == 403


def test_a_role_changes_in_its_row(browser: Browser, alice: User, bob: User) -> None:
    response = browser(alice).post(reverse("person-role", args=[bob.pk]), {"role": "reader"}, headers=HTMX)
    bob.refresh_from_db()
    assert bob.role == Role.READER
    assert response.content.lstrip().startswith(f'<tr id="person-{bob.pk}"'.encode())
    assert "bob is now reader." in response["HX-Trigger"]


def test_without_javascript_the_form_works_too(browser: Browser, alice: User, bob: User) -> None:
    client = browser(alice)
    assert client.post(reverse("person-role", args=[bob.pk]), {"role": "administrator"})["Location"] == "/people/"
    assert b"bob is now administrator." in client.get("/people/").content


def test_the_last_administrator_cannot_step_down(browser: Browser, alice: User) -> None:
    for address, data in (("person-role", {"role": "reader"}), ("person-active", {"active": "no"})):
        response = browser(alice).post(reverse(address, args=[alice.pk]), data, headers=HTMX)
        assert response.status_code == 409
        assert "last administrator" in response["HX-Trigger"]
    alice.refresh_from_db()
    assert alice.role == Role.ADMINISTRATOR
    assert alice.is_active


def test_an_unknown_role_changes_nothing(browser: Browser, alice: User, bob: User) -> None:
    response = browser(alice).post(reverse("person-role", args=[bob.pk]), {"role": "owner"}, headers=HTMX)
    assert response.status_code == 409
    bob.refresh_from_db()
    assert bob.role == Role.EDITOR


def test_a_closed_account_is_out_at_once_and_can_be_opened_again(browser: Browser, alice: User, bob: User) -> None:
    his = browser(bob)
    assert his.get("/zones/").status_code == 200
    browser(alice).post(reverse("person-active", args=[bob.pk]), {"active": "no"})
    assert his.get("/zones/").status_code == 302
    browser(alice).post(reverse("person-active", args=[bob.pk]), {"active": "yes"})
    assert User.objects.get(pk=bob.pk).is_active


def test_an_invitation_is_shown_once_and_works(browser: Browser, alice: User) -> None:
    for headers, stored in ((HTMX, 1), ({}, 2)):
        response = browser(alice).post("/people/invite/", {"role": "editor"}, headers=headers)
        assert response["Cache-Control"] == "no-store"
        link = re.search(r"/welcome/[\w-]{43}/", response.content.decode())
        assert link is not None
        assert Invitation.objects.count() == stored
        assert b"Welcome" in browser().get(link.group()).content
        assert link.group().encode() not in browser(alice).get("/people/").content
