"""Tests of explanations of rights, which must agree with the decisions."""

import itertools

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors import explain_rights
from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right, actor_of
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from replication.dns import rdtypes
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db
PLAIN = explain_rights.Subject(7, "example.test.", ("prod",), None)


def sources(user: User, right: Right, subject: explain_rights.Subject = PLAIN) -> list[str]:
    return [
        reason.description for reason in explain_rights.reasons_for(explain_rights.reasons_of(user), right, subject)
    ]


def test_a_role_a_team_and_a_grant_are_told_apart() -> None:
    mallory = make_person("mallory", Role.READER)
    team = Team.objects.create(name="Web", created_at=NOW)
    Membership.objects.create(user=mallory, team=team, role="editor")
    grant = Grant(frozenset({Right.CHANGE}), tags=frozenset({"prod"}))
    row = GrantRow.objects.create(team=team, grant=grant.to_json(), created_at=NOW)
    mine = GrantRow.objects.create(user=mallory, grant=grant.to_json(), created_at=NOW)
    assert sources(mallory, Right.READ) == ["Reader role"]
    both = [f"Grant {row.pk} to team Web", f"Grant {mine.pk}"]
    assert sources(mallory, Right.CHANGE) == both
    of_team = explain_rights.Subject(8, "other.test.", (), team.pk)
    assert sources(mallory, Right.DELETE_ZONE, of_team) == ["Editor in team Web"]
    assert sources(mallory, Right.DELETE_ZONE) == []


def test_a_limit_by_name_counts_for_records_and_not_for_the_zone() -> None:
    mallory = make_person("mallory", Role.MEMBER)
    rights = frozenset({Right.READ, Right.CHANGE})
    limited = Grant(rights, zones=frozenset({7}), names=("www",), types=frozenset({rdtypes.A}))
    GrantRow.objects.create(user=mallory, grant=limited.to_json(), created_at=NOW)
    www = explain_rights.Subject(7, "example.test.", (), None, "www.example.test.", rdtypes.A)
    mail = explain_rights.Subject(7, "example.test.", (), None, "mail.example.test.", rdtypes.A)
    assert sources(mallory, Right.CHANGE, www)
    assert not sources(mallory, Right.CHANGE, mail)
    assert sources(mallory, Right.READ, mail)


def test_a_closed_account_has_no_reasons(alice: User) -> None:
    alice.is_active = False
    assert explain_rights.reasons_of(alice) == ()


@pytest.mark.parametrize("role", Role)
def test_the_explanation_agrees_with_the_decision(role: Role) -> None:
    person = make_person("mallory", role)
    teams = [Team.objects.create(name=name, created_at=NOW) for name in ("one", "two")]
    Membership.objects.create(user=person, team=teams[0], role="reader")
    for number, rights in enumerate(([Right.ADD], [Right.READ, Right.REMOVE], [Right.SETTINGS])):
        grant = Grant(frozenset(rights), zones=frozenset({number}), tags=frozenset({f"t{number}"}))
        GrantRow.objects.create(user=person, grant=grant.to_json(), created_at=NOW)
    actor = actor_of(person)
    assert actor is not None
    reasons = explain_rights.reasons_of(person)
    for zone, tags, team in itertools.product(range(4), ((), ("t1",)), (None, *(team.pk for team in teams))):
        subject = explain_rights.Subject(zone, "example.test.", tags, team)
        for right in Right:
            may = actor.may(right, zone_id=zone, tags=tags, team_id=team)
            assert bool(explain_rights.reasons_for(reasons, right, subject)) == may
    assert set(Right) >= RECORD_RIGHTS


def test_many_people_are_explained_at_once(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    team = Team.objects.create(name="Web", created_at=NOW)
    people = [make_person(f"member{number}", Role.MEMBER) for number in range(4)]
    for person in people[:2]:
        Membership.objects.create(user=person, team=team, role="reader")
    grant = Grant(frozenset({Right.CHANGE}), tags=frozenset({"prod"})).to_json()
    GrantRow.objects.create(team=team, grant=grant, created_at=NOW)
    GrantRow.objects.create(user=people[2], grant=grant, created_at=NOW)
    with django_assert_num_queries(2):
        found = explain_rights.reasons_of_people(people)
    assert found == {person.pk: explain_rights.reasons_of(person) for person in people}
    assert [len(found[person.pk]) for person in people] == [2, 2, 1, 0]
