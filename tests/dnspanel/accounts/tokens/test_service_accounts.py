"""Tests of service accounts."""

from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.errors import AccountRefused, GrantRefused, NotYours
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.service_accounts import create_service_account
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.people import NOW, PASSWORD

TERMS = TokenTerms("CI", (Grant(EVERY_RIGHT, everywhere=True),))


def make(by: Any, name: str = "terraform", role: str = Role.EDITOR) -> User:
    return create_service_account(name=name, role=role, by=by, now=NOW)


def test_nobody_signs_in_with_one(alice: User) -> None:
    account = make(alice)
    other = make(alice, "octodns")
    assert (account.email, other.email) == (None, None)
    for password in ("", PASSWORD, "!", account.password):
        assert not Client().login(username="terraform", password=password)
    page = Client().post("/sign-in/", {"login": "terraform", "password": account.password})
    assert b"are not correct" in page.content
    assert AuditEntry.objects.filter(action="person.service", target="terraform", user=alice).count() == 1


@pytest.mark.parametrize("name", ["", "ALICE", "a b", "x" * 151, "a/b"])
def test_a_name_that_cannot_be_is_told_at_its_field(alice: User, name: str) -> None:
    with pytest.raises(AccountRefused) as caught:
        make(alice, name)
    assert set(caught.value.fields) == {"username"}


def test_a_token_makes_none_that_may_more_than_itself(alice: User) -> None:
    made = tokens.create_token(owner=alice, terms=TERMS, by=alice, now=NOW)
    with pytest.raises(GrantRefused):
        make(tokens.actor_by_secret(secret=made.secret, address=None, now=NOW), role=Role.ADMINISTRATOR)


def test_who_manages_people_makes_and_rotates_its_tokens_and_nobody_elses(alice: User, bob: User) -> None:
    account = make(alice)
    made = tokens.create_token(owner=account, terms=TERMS, by=alice, now=NOW)
    actor = tokens.actor_by_secret(secret=made.secret, address=None, now=NOW)
    assert actor.user == account
    assert tokens.rotate_token(token=made.token, by=alice, now=NOW).token.owner == account
    for owner, by in ((account, bob), (bob, alice), (alice, bob)):
        with pytest.raises(NotYours):
            tokens.create_token(owner=owner, terms=TERMS, by=by, now=NOW)
    with pytest.raises(NotYours):
        tokens.rotate_token(token=made.token, by=bob, now=NOW)
