"""Tests of the list of people and tokens with rights over a zone, which must match the access decisions."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right, actor_of, actor_of_token
from dnspanel.accounts.actors.explain_rights import Subject
from dnspanel.accounts.models import GrantRow, Membership, OwnRole, Role, Team, Token, User
from dnspanel.accounts.people.who_may import people_visible_to, people_with_rights, tokens_with_rights
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db
READ = frozenset({Right.READ})


@pytest.fixture
def subjects(alice: User) -> list[Subject]:
    """Create a person and a token for each way to get rights. Return zones to ask about: by id, tags and team."""
    team, other = (Team.objects.create(name=name, created_at=NOW) for name in ("one", "two"))
    for number, role in enumerate(Role):
        make_person(f"by-role-{number}", role)
    Membership.objects.create(user=make_person("in-team", Role.MEMBER), team=team, role="reader")
    in_other = make_person("in-other", Role.MEMBER)
    Membership.objects.create(user=in_other, team=other, role="editor")
    GrantRow.objects.create(team=other, grant=Grant(READ, tags=frozenset({"shop"})).to_json(), created_at=NOW)
    for number, grant in enumerate((
        Grant(READ, zones=frozenset({7, 71})), Grant(READ, everywhere=True), Grant(READ, teams=frozenset({team.pk})),
        Grant(READ, tags=frozenset({"shop", "eu"})), Grant(READ, zones=frozenset({9})),
    )):  # fmt: skip
        person = make_person(f"by-grant-{number}", Role.MEMBER)
        GrantRow.objects.create(user=person, grant=grant.to_json(), created_at=NOW)
        create_token(owner=alice, terms=TokenTerms(f"task {number}", (grant,)), by=alice, now=timezone.now())
    for number, rights in enumerate((["read"], [])):
        role = OwnRole.objects.create(name=f"own {number}", rights=rights, permissions=["see nodes"], created_at=NOW)
        person = make_person(f"by-own-{number}", Role.MEMBER)
        User.objects.filter(pk=person.pk).update(own_role=role)
    closed = make_person("closed", Role.ADMINISTRATOR)
    User.objects.filter(pk=closed.pk).update(is_active=False)
    return [
        Subject(zone, "example.test.", tags, team_id)
        for zone in (7, 8)
        for tags in ((), ("eu", "prod"))
        for team_id in (None, team.pk, other.pk)
    ]


def test_they_are_exactly_those_whom_the_decision_lets_in(subjects: list[Subject], alice: User) -> None:
    administrator = actor_of(alice)
    assert administrator is not None
    for subject in subjects:
        place = {"zone_id": subject.zone_id, "tags": subject.tags, "team_id": subject.team_id}
        actors = {person: actor_of(person) for person in User.objects.all()}
        may = {person for person, actor in actors.items() if actor and any(actor.may(r, **place) for r in Right)}
        assert set(people_with_rights(administrator, subject)) == may
        tokens = {token: actor_of_token(token) for token in Token.objects.all()}
        reach = {token for token, actor in tokens.items() if actor and any(actor.may(r, **place) for r in Right)}
        assert set(tokens_with_rights(administrator, subject, timezone.now())) == reach


def test_who_does_not_manage_people_knows_those_of_their_teams(subjects: list[Subject], alice: User) -> None:
    mate, stranger = User.objects.get(username="by-role-0"), User.objects.get(username="in-team")
    member = User.objects.get(username="in-other")
    Membership.objects.create(user=mate, team=Team.objects.get(name="two"), role="reader")
    actor, lonely = actor_of(member), actor_of(stranger)
    assert actor is not None
    assert lonely is not None
    assert set(people_visible_to(actor)) == {member, mate}
    assert set(people_visible_to(lonely)) == {stranger}
    assert not tokens_with_rights(actor, subjects[0], timezone.now()).exists(), "those of another person"
    create_token(owner=alice, terms=TokenTerms("x", (Grant(EVERY_RIGHT, everywhere=True),)), by=alice, now=NOW)
    assert set(people_with_rights(actor, subjects[0])) == {mate}, "the mate is an administrator"
