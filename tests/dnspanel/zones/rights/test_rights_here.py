"""Rights in a zone: the display of other people's rights, and the rights of tokens."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Actor, Grant, Right, actor_of, actor_of_token
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.rights_here import people_here, tokens_here
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def oda(zone: Zone) -> User:
    """Return a person who can change only records named www in the zone."""
    person = make_person("oda", Role.MEMBER)
    grant = Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({zone.pk}), names=("www",))
    GrantRow.objects.create(user=person, grant=grant.to_json(), created_at=NOW)
    return person


def names_of(actor: Actor | None, zone: Zone, **page: str) -> list[str]:
    assert actor is not None
    return [each.person.username for each in people_here(actor, zone, limit=50, **page)]


def test_who_manages_people_sees_all_and_others_themselves(zone: Zone, alice: User, oda: User) -> None:
    assert {"alice", "oda"} <= set(names_of(actor_of(alice), zone))
    assert "alice" not in names_of(actor_of(alice), zone, after="alice")
    assert names_of(actor_of(oda), zone) == ["oda"]
    actor = actor_of(oda)
    assert actor is not None
    [mine] = people_here(actor, zone, limit=50)
    assert [(each.reason.source, each.reason.grant.names) for each in mine.by] == [("grant", ("www",))]


def test_a_token_has_no_more_than_its_owner_and_sees_nobody_else(zone: Zone, alice: User, oda: User) -> None:
    scope = (Grant(EVERY_RIGHT, zones=frozenset({zone.pk})),)
    now = timezone.now()
    create_token(owner=alice, terms=TokenTerms("other", scope), by=alice, now=now)
    token = create_token(owner=alice, terms=TokenTerms("task", scope), by=alice, now=now).token
    actor = actor_of_token(token)
    assert names_of(actor, zone) == ["alice"]
    [seen] = tokens_here(actor, zone, now=now, limit=50)
    assert seen.token == token
    person = actor_of(alice)
    assert person is not None
    listed = tokens_here(person, zone, now=now, limit=50)
    assert [each.token.purpose for each in listed] == ["task", "other"]
    assert [each.rights for each in listed[0].by] == [EVERY_RIGHT]
    User.objects.filter(pk=alice.pk).update(role=Role.MEMBER)
    assert not [each for each in tokens_here(actor, zone, now=now, limit=50) if each.by]
