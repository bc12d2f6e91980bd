"""Tests of the form in which the APIs name an actor."""

from dnspanel.accounts.actors.actors import Grant, Right, actor_form, actor_form_of, actor_of_token, person_form
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW


def test_a_person_a_token_the_panel_and_a_visitor_have_one_form(alice: User) -> None:
    terms = TokenTerms("platform", (Grant(frozenset({Right.READ}), everywhere=True),))
    token = create_token(owner=alice, terms=terms, by=alice, now=NOW).token
    named = {"id": token.pk, "prefix": token.prefix, "purpose": "platform"}
    assert actor_form("alice", token) == {"kind": "token", "user": "alice", "token": named}
    assert actor_form_of(actor_of_token(token)) == actor_form("alice", token)
    assert actor_form_of(alice) == person_form(alice) == {"kind": "user", "user": "alice", "token": None}
    assert actor_form_of(None) == actor_form("") == {"kind": "system", "user": None, "token": None}
    assert actor_form(None, is_anonymous=True) == {"kind": "anonymous", "user": None, "token": None}
    assert person_form(None) is None
