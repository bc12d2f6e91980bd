"""The policies that a person is allowed to see: those of visible zones and of the person's teams."""

from collections.abc import Callable

import pytest

from dnspanel.accounts.actors.actors import Grant, Right, actor_of, actor_of_token
from dnspanel.accounts.models import Role, Team, User
from dnspanel.accounts.people import teams
from dnspanel.accounts.rights.grant_edit import give_grant
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.policy_queries import policies_visible_to, policy_for
from dnspanel.zones.errors import PolicyUnknown
from dnspanel.zones.models import DnssecPolicy, Zone
from dnspanel.zones.signing import policies
from dnspanel.zones.signing.policies import Target
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
READ = frozenset({Right.READ})
MakePolicy = Callable[..., DnssecPolicy]


@pytest.fixture
def make_policy(alice: User) -> MakePolicy:
    def make(name: str, *, to: Target | None = None, is_default: bool = False) -> DnssecPolicy:
        policy = policies.create_policy(name=name, terms=Terms(), is_default=is_default, by=alice, now=NOW)
        if to is not None:
            policies.attach(policy=policy, to=to, by=alice, now=NOW)
        return policy

    return make


def known_to(person: object) -> list[str]:
    return [policy.name for policy in policies_visible_to(person)]  # type: ignore[arg-type]  # an actor or a user


def test_a_member_knows_the_policies_of_zones_that_they_see(
    make_zone: MakeZone, make_policy: MakePolicy, alice: User
) -> None:
    zone = make_zone("www 60 A 192.0.2.1")
    web, other = (Team.objects.create(name=name, created_at=NOW) for name in ("web", "other"))
    make_policy("Of a customer")
    make_policy("Of a tag", to=Target(tag="secret"))
    make_policy("Of the other team", to=Target(team=other))
    make_policy("Standard", is_default=True)
    of_team = make_policy("Of the team", to=Target(team=web))
    mia = make_person("mia", Role.MEMBER)
    assert known_to(mia) == []
    teams.set_member(team=web, user=mia, role="editor", by=alice, now=NOW)
    assert known_to(User.objects.get(pk=mia.pk)) == ["Of the team"]
    Zone.objects.filter(pk=zone.pk).update(team=web, tags=["secret"])
    assert known_to(User.objects.get(pk=mia.pk)) == ["Of a tag", "Of the team"]
    zone.refresh_from_db()
    own = make_policy("Of the zone", to=Target(zone=zone))
    mia = User.objects.get(pk=mia.pk)
    assert known_to(mia) == ["Of the team", "Of the zone"]
    assert policy_for(mia, own.pk) == own
    for policy in DnssecPolicy.objects.exclude(pk__in=(own.pk, of_team.pk)):
        with pytest.raises(PolicyUnknown):
            policy_for(mia, policy.pk)


def test_the_default_is_known_where_it_is_for_a_zone(make_zone: MakeZone, make_policy: MakePolicy, alice: User) -> None:
    zone = make_zone("www 60 A 192.0.2.1")
    make_policy("Standard", is_default=True)
    mia = make_person("mia", Role.MEMBER)
    assert known_to(mia) == []
    give_grant(grant=Grant(READ, zones=frozenset({zone.pk})), to=mia, by=alice, now=NOW)
    assert known_to(User.objects.get(pk=mia.pk)) == ["Standard"]


def test_who_sees_every_zone_knows_every_policy_and_a_token_those_of_its_zones(
    make_zone: MakeZone, make_policy: MakePolicy, alice: User
) -> None:
    zone = make_zone("www 60 A 192.0.2.1")
    make_policy("Hidden")
    make_policy("Of the zone", to=Target(zone=zone))
    assert known_to(make_person("rita", Role.READER)) == ["Hidden", "Of the zone"]
    terms = TokenTerms("one zone", (Grant(READ, zones=frozenset({zone.pk})),))
    assert known_to(actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)) == ["Of the zone"]
    assert known_to(actor_of(alice)) == ["Hidden", "Of the zone"]
