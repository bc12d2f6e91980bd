"""Tests of the rights of people and tokens, which come from roles, teams, grants and scopes."""

import pytest

from dnspanel.accounts.actors.actors import (
    EVERY_RIGHT,
    Grant,
    Permission,
    Right,
    actor_of,
    actor_of_token,
    can,
    token_of,
    user_of,
)
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, Token, User
from tests.people import NOW, make_person

READ = frozenset({Right.READ})
ANY = {"zone_id": 1, "tags": [], "team_id": None}


@pytest.fixture
def member(db: None) -> User:
    return make_person("mia", Role.MEMBER)


def token_with(owner: User, *scope: Grant, permissions: tuple[Permission, ...] = ()) -> Token:
    return Token(owner=owner, scope=[grant.to_json() for grant in scope], permissions=list(permissions))


def may(user: User, right: Right, **facts: object) -> bool:
    actor = actor_of(user)
    assert actor is not None
    return actor.may(right, **{**ANY, **facts})  # type: ignore[arg-type]


def test_a_member_has_nothing_without_team_or_grant(member: User) -> None:
    assert not any(may(member, right) for right in Right)
    assert not any(can(member, permission) for permission in Permission)


def test_a_team_gives_its_zones_by_the_role_in_it(member: User) -> None:
    shop, blog = (Team.objects.create(name=name, created_at=NOW) for name in ("shop", "blog"))
    Membership.objects.create(team=shop, user=member, role=Role.EDITOR)
    Membership.objects.create(team=blog, user=member, role=Role.READER)
    assert may(member, Right.CHANGE, team_id=shop.pk)
    assert may(member, Right.READ, team_id=blog.pk)
    assert not may(member, Right.CHANGE, team_id=blog.pk)
    assert not may(member, Right.READ)
    assert can(member, Permission.READ)
    assert can(member, Permission.EDIT)
    assert not can(member, Permission.FLEET)


def test_grants_to_a_person_and_to_a_team_add_up(member: User) -> None:
    team = Team.objects.create(name="shop", created_at=NOW)
    Membership.objects.create(team=team, user=member, role=Role.READER)
    GrantRow.objects.create(team=team, grant=Grant(READ, tags=frozenset({"blue"})).to_json(), created_at=NOW)
    GrantRow.objects.create(user=member, grant=Grant(EVERY_RIGHT, zones=frozenset({5})).to_json(), created_at=NOW)
    assert may(member, Right.READ, tags=["blue"])
    assert not may(member, Right.CHANGE, tags=["blue"])
    assert may(member, Right.CHANGE, zone_id=5)


def test_a_token_lets_through_only_what_its_owner_has_at_that_moment(db: None) -> None:
    reader = make_person("rita", Role.READER)
    actor = actor_of_token(token_with(reader, Grant(EVERY_RIGHT, everywhere=True), permissions=(Permission.NODES,)))
    assert actor is not None
    assert actor.may(Right.READ, **ANY)  # type: ignore[arg-type]
    assert not actor.may(Right.CHANGE, **ANY)  # type: ignore[arg-type]
    assert actor.permissions == {Permission.READ}


def test_a_token_lets_through_only_what_its_scope_says(db: None) -> None:
    owner = make_person("emma", Role.ADMINISTRATOR)
    actor = actor_of_token(token_with(owner, Grant(READ, zones=frozenset({5})), permissions=(Permission.FLEET,)))
    assert actor is not None
    assert actor.may(Right.READ, zone_id=5, tags=[], team_id=None)
    assert not actor.may(Right.READ, zone_id=6, tags=[], team_id=None)
    assert actor.permissions == {Permission.READ, Permission.FLEET}
    assert not actor.may_everywhere(Right.READ)
    assert actor.may_somewhere(Right.READ)
    assert (user_of(actor), token_of(actor)) == (owner, actor.token)


def test_a_limited_right_is_not_had_everywhere(db: None) -> None:
    owner = make_person("emma", Role.EDITOR)
    actor = actor_of_token(token_with(owner, Grant(EVERY_RIGHT, everywhere=True, types=frozenset({16}))))
    assert actor is not None
    assert actor.may(Right.ADD, **ANY)  # type: ignore[arg-type]
    assert not actor.may_everywhere(Right.ADD)


def test_nobody_acts_for_a_closed_account(db: None) -> None:
    owner = make_person("emma", Role.EDITOR)
    owner.is_active = False
    assert actor_of(owner) is None
    assert actor_of_token(token_with(owner, Grant(READ, everywhere=True))) is None


def test_a_change_of_role_counts_at_once(bob: User) -> None:
    assert can(bob, Permission.EDIT)
    bob.role = Role.READER
    assert not can(bob, Permission.EDIT)
