"""Tests of audit log queries for one token and for one person."""

from datetime import timedelta

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.audit import audit
from dnspanel.accounts.audit.audit_log import entries_about_person, entries_about_token
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token, rotate_token
from tests.people import NOW


def test_a_token_s_story_is_what_was_done_with_it_and_by_it(bob: User) -> None:
    terms = TokenTerms("ci", (Grant(frozenset({Right.READ}), everywhere=True),))
    old = create_token(owner=bob, terms=terms, by=bob, now=NOW).token
    create_token(owner=bob, terms=terms, by=bob, now=NOW)
    new = rotate_token(token=old, by=bob, now=NOW, overlap=timedelta(days=1)).token
    revoke_token(token=new, by=bob, now=NOW)
    assert [entry.action for entry in entries_about_token(old)] == ["token.rotate", "token.create"]
    assert [entry.action for entry in entries_about_token(new)] == ["token.revoke", "token.rotate"]


def test_a_person_s_story_is_what_they_did_and_what_was_done_to_them(alice: User, bob: User) -> None:
    audit.record(action="sign-in", by=bob, now=NOW, target="bob")
    audit.record(action="sign-in", by=alice, now=NOW, target="alice")
    audit.record(action="person.role", by=alice, now=NOW, target="bob")
    assert [entry.action for entry in entries_about_person("bob", bob.pk)] == ["person.role", "sign-in"]
