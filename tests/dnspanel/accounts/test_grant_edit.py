"""Grants are given and taken, and refused where they say nothing or too much."""

import pytest

from dnspanel.accounts import grant_edit
from dnspanel.accounts.actors import actor_of, actor_of_token
from dnspanel.accounts.errors import GrantRefused, GrantUnknown
from dnspanel.accounts.grants import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, Team, User
from dnspanel.accounts.roles import Permission
from dnspanel.accounts.tokens import TokenTerms, create_token
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db
READING = frozenset({Right.READ})


def test_a_person_has_what_was_given_until_it_is_taken(alice: User) -> None:
    mallory = make_person("mallory", Role.MEMBER)
    row = grant_edit.give_grant(grant=Grant(READING, zones=frozenset({7})), to=mallory, by=alice, now=NOW)
    actor = actor_of(User.objects.get(pk=mallory.pk))
    assert actor is not None
    assert actor.may(Right.READ, zone_id=7, tags=(), team_id=None)
    assert Permission.READ in actor.permissions
    for _ in range(2):
        grant_edit.take_grant(row=row, by=alice, now=NOW)
    actor = actor_of(User.objects.get(pk=mallory.pk))
    assert actor is not None
    assert not actor.may(Right.READ, zone_id=7, tags=(), team_id=None)
    told = AuditEntry.objects.order_by("pk").values_list("action", "target")
    assert list(told) == [("grant.give", "mallory"), ("grant.take", "mallory")]
    with pytest.raises(GrantUnknown):
        grant_edit.grant_by_id(row.pk)


def test_a_grant_to_a_team_is_every_members(alice: User) -> None:
    mallory = make_person("mallory", Role.MEMBER)
    team = Team.objects.create(name="Web", created_at=NOW)
    team.memberships.create(user=mallory, role="reader")
    row = grant_edit.give_grant(grant=Grant(READING, tags=frozenset({"prod"})), to=team, by=alice, now=NOW)
    actor = actor_of(User.objects.get(pk=mallory.pk))
    assert actor is not None
    assert actor.may(Right.READ, zone_id=1, tags=["prod"], team_id=None)
    assert grant_edit.receiver(grant_edit.grant_by_id(row.pk)) == "team Web"


@pytest.mark.parametrize(
    ("grant", "field"),
    [
        (Grant(frozenset(), everywhere=True), "rights"),
        (Grant(READING), "zones"),
        (Grant(READING, zones=frozenset({0})), "zones"),
        (Grant(READING, zones=frozenset({2**63})), "zones"),
        (Grant(READING, zones=frozenset(range(1, 1002))), "zones"),
        (Grant(READING, teams=frozenset({12345})), "teams"),
        (Grant(READING, teams=frozenset({2**70})), "teams"),
        (Grant(READING, tags=frozenset({"Prod"})), "tags"),
        (Grant(READING, tags=frozenset({""})), "tags"),
        (Grant(READING, tags=frozenset({"x" * 65})), "tags"),
        (Grant(READING, everywhere=True, names=("",)), "names"),
        (Grant(READING, everywhere=True, names=("a b",)), "names"),
        (Grant(READING, everywhere=True, names=("\ud800",)), "names"),
        (Grant(READING, everywhere=True, names=("x" * 256,)), "names"),
        (Grant(READING, everywhere=True, names=("*a" * 20,)), "names"),
        (Grant(READING, everywhere=True, names=tuple(f"*{n}" for n in range(101))), "names"),
        (Grant(READING, everywhere=True, types=frozenset({0})), "types"),
        (Grant(READING, everywhere=True, types=frozenset({46})), "types"),
        (Grant(READING, everywhere=True, types=frozenset({70000})), "types"),
    ],
    ids=str,
)
def test_a_grant_that_says_nothing_or_nonsense_is_refused(grant: Grant, field: str, alice: User, bob: User) -> None:
    with pytest.raises(GrantRefused) as caught:
        grant_edit.give_grant(grant=grant, to=bob, by=alice, now=NOW)
    assert list(caught.value.fields) == [field]
    assert not GrantRow.objects.exists()


def test_a_token_gives_no_more_than_it_has(alice: User, bob: User) -> None:
    scope = (Grant(EVERY_RIGHT, zones=frozenset({7})),)
    terms = TokenTerms("people of one zone", scope, frozenset({Permission.PEOPLE}))
    narrow = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    grant_edit.give_grant(grant=Grant(READING, zones=frozenset({7})), to=bob, by=narrow, now=NOW)
    with pytest.raises(GrantRefused, match="You cannot give what you do not have"):
        grant_edit.give_grant(grant=Grant(READING, zones=frozenset({8})), to=bob, by=narrow, now=NOW)
    with pytest.raises(GrantRefused):
        grant_edit.refuse_higher_role(narrow, Role.ADMINISTRATOR)
    with pytest.raises(GrantRefused):
        grant_edit.refuse_higher_role(narrow, Role.READER)
    grant_edit.refuse_higher_role(narrow, Role.MEMBER)
    grant_edit.refuse_higher_role(alice, Role.ADMINISTRATOR)
    grant_edit.refuse_higher_role(actor_of(alice), Role.ADMINISTRATOR)
