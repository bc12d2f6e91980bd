"""Tests of custom roles."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Grant, Permission, Right, actor_of
from dnspanel.accounts.actors.explain_rights import reasons_of
from dnspanel.accounts.errors import GrantRefused, LastAdministrator, RoleRefused, RoleUnknown
from dnspanel.accounts.models import AuditEntry, OwnRole, Role, User
from dnspanel.accounts.people import people
from dnspanel.accounts.rights import own_roles
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.people import NOW

AUDITOR = {"name": "Auditor", "rights": [Right.READ], "permissions": [Permission.AUDIT, Permission.FLEET]}


def make(by: Any, **but: Any) -> OwnRole:
    return own_roles.create_role(**AUDITOR | but, by=by, now=NOW)


def faults(by: Any, **but: Any) -> set[str]:
    with pytest.raises(RoleRefused) as caught:
        make(by, **but)
    return set(caught.value.fields)


def again(person: User) -> User:
    return User.objects.get(pk=person.pk)


def test_a_role_gives_what_it_says_and_a_change_holds_for_everybody_who_has_it(alice: User, charlie: User) -> None:
    role = make(alice)
    people.change_role(user=charlie, role=Role.MEMBER, own_role=role, by=alice, now=NOW)
    actor = actor_of(charlie)
    assert actor is not None
    assert actor.permissions == {Permission.READ, Permission.AUDIT, Permission.FLEET, Permission.APPROVE}
    assert (actor.may_everywhere(Right.READ), actor.may_somewhere(Right.CHANGE)) == (True, False)
    assert [reason.description for reason in reasons_of(charlie)] == ["Role Auditor"]
    own_roles.change_role(role=role, **AUDITOR | {"rights": [Right.READ, Right.CHANGE]}, by=alice, now=NOW)
    actor = actor_of(again(charlie))
    assert actor is not None
    assert actor.may_everywhere(Right.CHANGE)
    assert Permission.EDIT in actor.permissions
    people.change_role(user=charlie, role=Role.READER, by=alice, now=NOW)
    assert (again(charlie).role, again(charlie).own_role) == (Role.READER, None)
    told = AuditEntry.objects.filter(action="person.role").order_by("pk").values_list("details", flat=True)
    assert [(each["before"], each["role"]) for each in told] == [("reader", "Auditor"), ("Auditor", "reader")]


def test_each_field_at_fault_is_named(alice: User) -> None:
    make(alice)
    assert faults(alice, name="auditor") == {"name"}
    assert faults(alice, name=" ") == {"name"}
    assert faults(alice, name="Administrator") == {"name"}
    assert faults(alice, permissions=[Permission.PEOPLE]) == {"permissions"}
    assert faults(alice, rights=["fly"], permissions=["swim"]) == {"rights", "permissions"}
    assert faults(alice, rights=[], permissions=[]) == {"rights"}


def test_there_are_not_endlessly_many(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_roles, "MOST_ROLES", 1)
    make(alice)
    assert faults(alice, name="Second") == {"name"}


def test_one_that_somebody_has_is_not_deleted(alice: User, charlie: User) -> None:
    role = make(alice)
    people.change_role(user=charlie, role=Role.MEMBER, own_role=role, by=alice, now=NOW)
    with pytest.raises(RoleRefused, match="1 account has this role"):
        own_roles.delete_role(role=role, by=alice, now=NOW)
    people.change_role(user=charlie, role=Role.READER, by=alice, now=NOW)
    own_roles.delete_role(role=role, by=alice, now=NOW)
    with pytest.raises(RoleUnknown):
        own_roles.delete_role(role=role, by=alice, now=NOW)


def test_a_token_makes_and_gives_no_role_that_may_more_than_itself(alice: User, charlie: User) -> None:
    terms = TokenTerms("people", (Grant(frozenset({Right.READ}), everywhere=True),), frozenset({Permission.PEOPLE}))
    made = tokens.create_token(owner=alice, terms=terms, by=alice, now=NOW)
    actor = tokens.actor_by_secret(secret=made.secret, address=None, now=NOW)
    with pytest.raises(GrantRefused):
        make(actor)
    with pytest.raises(GrantRefused):
        make(actor, permissions=[], rights=[Right.CHANGE])
    role = make(alice)
    with pytest.raises(GrantRefused):
        people.change_role(user=charlie, role=Role.MEMBER, own_role=role, by=actor, now=NOW)
    assert make(actor, name="Looks", permissions=[]).rights == ["read"]


def test_the_last_administrator_stays_one_and_only_members_have_an_own_role(alice: User, bob: User) -> None:
    role = make(alice)
    with pytest.raises(LastAdministrator):
        people.change_role(user=alice, role=Role.MEMBER, own_role=role, by=alice, now=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.filter(pk=bob.pk).update(own_role=role)
