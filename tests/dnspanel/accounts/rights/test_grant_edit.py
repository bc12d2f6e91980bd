"""Tests of grants: giving, taking away, and the refusal of empty and excessive grants."""

from collections.abc import Callable
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission, Right, actor_of, actor_of_token
from dnspanel.accounts.errors import AboveYou, GrantRefused, GrantUnknown, OpensMore
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, Team, User
from dnspanel.accounts.people import people, teams
from dnspanel.accounts.people.same_person import set_same_person
from dnspanel.accounts.rights import grant_edit
from dnspanel.accounts.sessions.sessions import end_all_sessions
from dnspanel.accounts.sign_in.password_links import make_password_link
from dnspanel.accounts.sign_in.second_factor import reset_second_factor
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.webhooks.hand_over import hand_over
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
    with pytest.raises(GrantRefused, match="You can’t grant rights that you don’t have"):
        grant_edit.give_grant(grant=Grant(READING, zones=frozenset({8})), to=bob, by=narrow, now=NOW)
    with pytest.raises(GrantRefused):
        grant_edit.refuse_higher_role(narrow, Role.ADMINISTRATOR)
    with pytest.raises(GrantRefused):
        grant_edit.refuse_higher_role(narrow, Role.READER)
    grant_edit.refuse_higher_role(narrow, Role.MEMBER)
    grant_edit.refuse_higher_role(alice, Role.ADMINISTRATOR)
    grant_edit.refuse_higher_role(actor_of(alice), Role.ADMINISTRATOR)


def token_of(alice: User, *scope: Grant, permissions: frozenset[Permission] = frozenset({Permission.PEOPLE})) -> Any:
    """Return the actor of an administrator's token with this scope and these permissions."""
    terms = TokenTerms("people", scope, permissions)
    return actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)


def somebody() -> User:
    """Return a member without any rights."""
    return User.objects.filter(username="somebody").first() or make_person("somebody", Role.MEMBER)


# Every operation that opens an account or changes its owner. A token can do it only to people with fewer rights.
OPENING: dict[str, Callable[[User, Any], object]] = {
    "password link": lambda user, by: make_password_link(user=user, by=by, now=NOW),
    "second factor": lambda user, by: reset_second_factor(user=user, by=by, now=NOW),
    "sessions": lambda user, by: end_all_sessions(user=user, by=by, now=NOW),
    "reactivate": lambda user, by: people.reactivate(user=user, by=by, now=NOW),
    "hand over": lambda user, by: hand_over(person=user, to=somebody(), by=by, now=NOW),
    "hand over to": lambda user, by: hand_over(person=somebody(), to=user, by=by, now=NOW),
}


@pytest.mark.parametrize("act", OPENING)
@pytest.mark.django_db(transaction=True)
def test_a_token_opens_no_account_that_can_do_more(act: str, alice: User) -> None:
    """Regression test: with the permission `people` alone, a token could set an editor's password and sign in."""
    narrow = token_of(alice)
    reading = token_of(alice, Grant(READING, everywhere=True))
    editor, reader, member = (make_person(role, role) for role in (Role.EDITOR, Role.READER, Role.MEMBER))
    for user, by in ((editor, narrow), (reader, narrow), (editor, reading)):
        with pytest.raises(OpensMore):
            OPENING[act](user, by)
    grant_edit.give_grant(grant=Grant(READING, zones=frozenset({7})), to=member, by=alice, now=NOW)
    with pytest.raises(OpensMore):
        OPENING[act](User.objects.get(pk=member.pk), narrow)
    everything = token_of(alice, Grant(frozenset(Right), everywhere=True), permissions=frozenset(Permission))
    OPENING[act](editor, everything)


def test_a_closed_account_is_no_less(alice: User) -> None:
    editor = make_person("ed", Role.EDITOR)
    people.deactivate(user=editor, by=alice, now=NOW)
    with pytest.raises(OpensMore):
        people.reactivate(user=editor, by=token_of(alice), now=NOW)


def test_a_token_of_people_says_of_nobody_whose_account_it_is(alice: User) -> None:
    ed, mel = make_person("ed", Role.EDITOR), make_person("mel", Role.MEMBER)
    for user, other in ((ed, mel), (mel, ed), (mel, None)):
        with pytest.raises(AboveYou):
            set_same_person(user=user, other=other, by=token_of(alice), now=NOW)


def test_a_token_of_people_deletes_no_team_and_joins_none_that_has_more(alice: User) -> None:
    team = teams.create_team(name="Beta", by=alice, now=NOW)
    with pytest.raises(GrantRefused):
        teams.delete_team(team=team, by=token_of(alice), now=NOW)
    of_team = token_of(alice, Grant(EVERY_RIGHT, teams=frozenset({team.pk})))
    mel = make_person("mel", Role.MEMBER)
    teams.set_member(team=team, user=mel, role="reader", by=of_team, now=NOW)
    # Each member has the team's grants.
    grant_edit.give_grant(grant=Grant(READING, everywhere=True), to=team, by=alice, now=NOW)
    for act in (
        lambda: teams.set_member(team=team, user=mel, role="editor", by=of_team, now=NOW),
        lambda: teams.delete_team(team=team, by=of_team, now=NOW),
    ):
        with pytest.raises(GrantRefused):
            act()
    assert Team.objects.filter(pk=team.pk).exists()
