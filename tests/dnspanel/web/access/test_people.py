"""The page of people."""

import re

from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import Invitation, Role, Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.web.conftest import YES, Browser, forget_password
from tests.people import PASSWORD, make_person


def test_administrators_see_everybody(browser: Browser, alice: User, bob: User, charlie: User) -> None:
    page = browser(alice).get("/people/").content
    for person in (alice, bob, charlie):
        assert person.email.encode() in page


def test_who_is_alone_reads_why_to_invite_others(browser: Browser, alice: User) -> None:
    client = browser(alice)
    page = client.get("/people/").content
    assert b"You are the only person here" in page
    assert b'<form class="menu-list menu-ask form" id="invite"' in page
    assert b'type="submit" form="invite"' in page
    make_person("bob", Role.EDITOR)
    assert b"You are the only person here" not in client.get("/people/").content


def test_only_administrators_find_the_page_in_the_navigation(browser: Browser, alice: User, bob: User) -> None:
    assert b'href="/people/"' in browser(alice).get("/zones/").content
    assert b'href="/people/"' not in browser(bob).get("/zones/").content
    assert browser(bob).get("/people/").status_code == 403


def test_a_role_changes_after_a_yes_to_what_it_means(browser: Browser, alice: User, bob: User) -> None:
    """Previously selecting a role changed it at once, even by an arrow key."""
    client, address = browser(alice), reverse("person-role", args=[bob.pk])
    _, _, row = client.get("/people/").content.decode().partition(f'id="person-{bob.pk}"')
    assert "hx-trigger" not in row.partition("</tr>")[0]
    question = client.post(address, {"role": "reader"}).content.decode()
    assert "Removed rights: edit, publish, create and delete zones" in question
    assert '<input type="hidden" name="role" value="reader">' in question
    bob.refresh_from_db()
    assert bob.role == Role.EDITOR
    assert client.post(address, {"role": "reader", **YES})["Location"] == "/people/"
    bob.refresh_from_db()
    assert bob.role == Role.READER
    assert "bob’s role changed to reader." in client.get("/people/").content.decode()
    assert b"already has the role reader" in client.post(address, {"role": "reader"}, follow=True).content


def test_the_last_administrator_cannot_step_down(browser: Browser, alice: User) -> None:
    for address, data in (("person-role", {"role": "reader"}), ("person-active", {"active": "no"})):
        page = browser(alice).post(reverse(address, args=[alice.pk]), data | YES, follow=True).content
        assert b"last administrator" in page
    alice.refresh_from_db()
    assert alice.role == Role.ADMINISTRATOR
    assert alice.is_active


def test_an_unknown_role_changes_nothing(browser: Browser, alice: User, bob: User) -> None:
    page = browser(alice).post(reverse("person-role", args=[bob.pk]), {"role": "owner", **YES}, follow=True)
    assert b"Choose a role." in page.content
    bob.refresh_from_db()
    assert bob.role == Role.EDITOR


def test_a_closed_account_is_out_at_once_and_for_good(browser: Browser, alice: User, bob: User) -> None:
    """Previously reopening a closed account revived all its earlier sessions and tokens."""
    his, hers, address = browser(bob), browser(alice), reverse("person-active", args=[bob.pk])
    token = make_token(bob)
    assert his.get("/zones/").status_code == 200
    question = hers.post(address, {"active": "no"}).content.decode()
    assert "tokens and keys (1)" in question
    assert his.get("/zones/").status_code == 200
    hers.post(address, {"active": "no", **YES})
    assert his.get("/zones/").status_code == 302
    hers.post(address, {"active": "yes"})
    assert User.objects.get(pk=bob.pk).is_active
    assert his.get("/zones/").status_code == 302
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert browser(User.objects.get(pk=bob.pk)).get("/zones/").status_code == 200


def test_an_invitation_is_one_time_page_and_works(browser: Browser, alice: User) -> None:
    client = browser(alice)
    response = client.post("/people/invite/", {"role": "editor"}, follow=True)
    assert response["Cache-Control"] == "no-store"
    link = re.search(r"/welcome/[\w-]{43}/", response.content.decode())
    assert link is not None
    assert b"Welcome" in browser().get(link.group()).content
    again = client.get(response.redirect_chain[-1][0], follow=True)
    assert link.group().encode() not in again.content
    assert Invitation.objects.count() == 1


def test_an_administrator_is_invited_with_the_password(browser: Browser, alice: User) -> None:
    client = browser(alice)
    forget_password(client)
    sent = {"role": "administrator"}
    for more, message in (
        ({}, b"Your password"),
        (YES, b"Enter your password."),
        (YES | {"password": "nonsense"}, b"Incorrect password."),
    ):
        assert message in client.post("/people/invite/", sent | more).content
    assert not Invitation.objects.exists()
    assert b"administrator" in client.post("/people/invite/", sent | YES | {"password": PASSWORD}, follow=True).content
    client.post("/people/invite/", sent)  # the password was entered a moment ago
    client.post("/people/invite/", {"role": "reader"})
    assert Invitation.objects.count() == 3


def make_token(owner: User) -> Token:
    terms = TokenTerms("CI", (Grant(frozenset({Right.READ}), everywhere=True),))
    return create_token(owner=owner, terms=terms, by=owner, now=timezone.now()).token


def test_accounts_of_one_person_are_put_together_and_taken_apart(
    browser: Browser, alice: User, bob: User, charlie: User
) -> None:
    address = reverse("person-same", args=[bob.pk])
    page = browser(alice).post(address, {"other": "CHARLIE"}, follow=True).content.decode()
    assert "bob and charlie are now linked as the same person’s accounts." in page
    card = page.partition('id="same-title"')[2].partition("</section>")[0]
    assert f'<a href="/people/{charlie.pk}/">charlie</a>' in card
    bob.refresh_from_db()
    assert bob.same_person_as == charlie
    for name, told in (("nobody", "Account not found."), ("\0", "Account not found"), ("bob", "another")):
        assert told in browser(alice).post(address, {"other": name}, follow=True).content.decode()
    assert (
        "bob unlinked from the same person’s other accounts"
        in browser(alice).post(address, follow=True).content.decode()
    )
    bob.refresh_from_db()
    assert bob.same_person_as is None
    assert browser(bob).post(address, {"other": "alice"}).status_code == 403
