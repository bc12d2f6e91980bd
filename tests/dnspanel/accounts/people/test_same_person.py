"""Tests of linked accounts of one person: one account manager links them, and another one separates them."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.errors import AboveYou, AccountRefused
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.people.same_person import accounts_of, humans_of, set_same_person
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.people import NOW, make_person


def fresh(user: User) -> User:
    return User.objects.get(pk=user.pk)


def test_accounts_that_belong_together_are_one_human_being(alice: User, bob: User, charlie: User) -> None:
    zoe = make_person("zoe", Role.ADMINISTRATOR)
    for _ in range(2):
        set_same_person(user=bob, other=alice, by=zoe, now=NOW)
    set_same_person(user=charlie, other=fresh(bob), by=zoe, now=NOW)
    everybody = {alice.pk: alice.pk, bob.pk: alice.pk, charlie.pk: alice.pk, zoe.pk: zoe.pk}
    assert humans_of(everybody) == everybody
    assert accounts_of(fresh(bob)) == [alice, charlie]
    # If others are linked to an account, they all move with it.
    set_same_person(user=fresh(alice), other=zoe, by=None, now=NOW)
    assert set(humans_of(everybody).values()) == {zoe.pk}
    told = AuditEntry.objects.filter(action="person.same").order_by("pk").values_list("target", "details__other")
    assert list(told) == [("bob", "alice"), ("charlie", "bob"), ("alice", "zoe")]


def test_nobody_takes_their_own_accounts_apart(alice: User, bob: User) -> None:
    zoe = make_person("zoe", Role.ADMINISTRATOR)
    set_same_person(user=bob, other=alice, by=alice, now=NOW)
    for by in (alice, fresh(bob)):
        with pytest.raises(AccountRefused, match="Another person must unlink these accounts"):
            set_same_person(user=fresh(bob), other=None, by=by, now=NOW)
        with pytest.raises(AccountRefused, match="Another person must unlink these accounts"):
            set_same_person(user=fresh(bob), other=zoe, by=by, now=NOW)
    with pytest.raises(AccountRefused, match="another account"):
        set_same_person(user=bob, other=fresh(bob), by=zoe, now=NOW)
    for _ in range(2):
        set_same_person(user=fresh(bob), other=None, by=zoe, now=NOW)
    assert accounts_of(fresh(bob)) == accounts_of(fresh(alice)) == []
    told = AuditEntry.objects.filter(action="person.same").order_by("pk").values_list("details__other", flat=True)
    assert list(told) == ["alice", ""]


def test_the_first_account_leaves_the_others_together(alice: User, bob: User, charlie: User) -> None:
    zoe = make_person("zoe", Role.ADMINISTRATOR)
    for user in (bob, charlie):
        set_same_person(user=user, other=alice, by=zoe, now=NOW)
    for by in (alice, fresh(bob)):
        with pytest.raises(AccountRefused, match="Another person must unlink these accounts"):
            set_same_person(user=fresh(alice), other=None, by=by, now=NOW)
    for _ in range(2):
        set_same_person(user=fresh(alice), other=None, by=zoe, now=NOW)
    assert accounts_of(fresh(alice)) == []
    assert accounts_of(fresh(bob)) == [charlie]
    set_same_person(user=fresh(bob), other=None, by=zoe, now=NOW)
    assert accounts_of(fresh(charlie)) == []
    unlinked = AuditEntry.objects.filter(action="person.same", details__other="").order_by("pk")
    assert list(unlinked.values_list("target", flat=True)) == ["alice", "bob"]


def test_a_token_puts_nobody_at_or_above_its_owner_together(alice: User, bob: User) -> None:
    everywhere = Grant(frozenset({Right.READ}), everywhere=True)
    terms = TokenTerms("people", (everywhere,), frozenset({Permission.PEOPLE}))
    secret = tokens.create_token(owner=alice, terms=terms, by=alice, now=NOW).secret
    by = tokens.actor_by_secret(secret=secret, address=None, now=NOW)
    for user, other in ((bob, alice), (alice, bob)):
        with pytest.raises(AboveYou):
            set_same_person(user=user, other=other, by=by, now=NOW)
