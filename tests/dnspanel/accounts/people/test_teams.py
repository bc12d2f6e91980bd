"""Tests of teams: members, and audit log entries."""

import pytest

from dnspanel.accounts.actors.actors import Actor, Grant, Permission, Right, actor_of, actor_of_token
from dnspanel.accounts.errors import GrantRefused, TeamNameTaken, TeamRefused, TeamUnknown
from dnspanel.accounts.models import AuditEntry, Membership, Role, Team, User
from dnspanel.accounts.people import teams
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(alice: User) -> Team:
    return teams.create_team(name="Web", by=alice, now=NOW)


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_name_has_as_many_characters_as_may_be_said_of_it(alice: User, team: Team) -> None:
    teams.rename_team(team=team, name="x" * teams.LONGEST_NAME, by=alice, now=NOW)
    assert Team.objects.get().name == "x" * teams.LONGEST_NAME
    with pytest.raises(TeamRefused):
        teams.rename_team(team=team, name="x" * (teams.LONGEST_NAME + 1), by=alice, now=NOW)


def test_a_team_is_created_renamed_and_deleted_and_the_audit_log_says_so(alice: User, team: Team) -> None:
    teams.rename_team(team=team, name="  Web   shop ", by=alice, now=NOW)
    assert Team.objects.get().name == "Web shop"
    teams.delete_team(team=team, by=alice, now=NOW)
    assert not Team.objects.exists()
    assert actions() == ["team.create", "team.rename", "team.delete"]


def test_two_teams_cannot_have_one_name_in_whatever_letters(alice: User, team: Team) -> None:
    with pytest.raises(TeamNameTaken, match="A team named WEB already exists"):
        teams.create_team(name="WEB", by=alice, now=NOW)
    other = teams.create_team(name="Mail", by=alice, now=NOW)
    with pytest.raises(TeamNameTaken):
        teams.rename_team(team=other, name="web", by=alice, now=NOW)
    assert Team.objects.get(pk=other.pk).name == "Mail"


@pytest.mark.parametrize("name", ["", "   ", "x" * 65, "a\x00b", "a\u202eb", "\ud800"])
def test_a_name_that_cannot_be_shown_is_refused(name: str, alice: User) -> None:
    with pytest.raises(TeamRefused) as caught:
        teams.create_team(name=name, by=alice, now=NOW)
    assert list(caught.value.fields) == ["name"]
    assert actions() == []


def test_a_member_can_edit_what_the_team_has_and_leaves_again(alice: User, team: Team) -> None:
    mallory = make_person("mallory", Role.MEMBER)
    teams.set_member(team=team, user=mallory, role="reader", by=alice, now=NOW)
    teams.set_member(team=team, user=mallory, role="editor", by=alice, now=NOW)
    actor = actor_of(User.objects.get(pk=mallory.pk))
    assert actor is not None
    assert actor.may(Right.CHANGE, zone_id=1, tags=(), team_id=team.pk)
    assert not actor.may(Right.READ, zone_id=1, tags=(), team_id=None)
    teams.remove_member(team=team, user=mallory, by=alice, now=NOW)
    assert not Membership.objects.exists()
    assert actions() == ["team.create", "team.add", "team.change", "team.remove"]


def test_saying_the_same_twice_changes_nothing_and_is_not_told_twice(alice: User, bob: User, team: Team) -> None:
    for _ in range(2):
        teams.set_member(team=team, user=bob, role="editor", by=alice, now=NOW)
    for _ in range(2):
        teams.remove_member(team=team, user=bob, by=alice, now=NOW)
    for _ in range(2):
        teams.delete_team(team=team, by=alice, now=NOW)
    assert actions() == ["team.create", "team.add", "team.remove", "team.delete"]


def test_there_are_readers_and_editors_in_a_team_and_nobody_else(alice: User, bob: User, team: Team) -> None:
    with pytest.raises(TeamRefused):
        teams.set_member(team=team, user=bob, role="administrator", by=alice, now=NOW)


def test_a_team_that_is_gone_is_unknown(alice: User, bob: User, team: Team) -> None:
    teams.delete_team(team=team, by=alice, now=NOW)
    with pytest.raises(TeamUnknown):
        teams.set_member(team=team, user=bob, role="reader", by=alice, now=NOW)
    with pytest.raises(TeamUnknown):
        teams.rename_team(team=team, name="Other", by=alice, now=NOW)
    with pytest.raises(TeamUnknown):
        teams.team_by_id(team.pk)


def test_a_token_cannot_put_its_owner_into_a_team_whose_zones_it_may_not_touch(alice: User, team: Team) -> None:
    # Otherwise a token with only the permission `people` could get every right.
    terms = TokenTerms("people", permissions=frozenset({Permission.PEOPLE}))
    narrow = _actor(alice, terms)
    with pytest.raises(GrantRefused):
        teams.set_member(team=team, user=alice, role="editor", by=narrow, now=NOW)
    wide = _actor(alice, TokenTerms("all", (Grant(frozenset(Right), everywhere=True),), frozenset(Permission)))
    teams.set_member(team=team, user=alice, role="editor", by=wide, now=NOW)
    assert AuditEntry.objects.latest("pk").token == wide.token


def _actor(owner: User, terms: TokenTerms) -> Actor:
    actor = actor_of_token(create_token(owner=owner, terms=terms, by=owner, now=NOW).token)
    assert actor is not None
    return actor
