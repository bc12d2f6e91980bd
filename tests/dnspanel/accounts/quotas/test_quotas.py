"""Tests of quotas of people and teams: the one that applies, tokens, and changes (`quotas.quota_edit`)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.errors import TokenQuotaExceeded
from dnspanel.accounts.models import AuditEntry, Membership, Team, Token, User
from dnspanel.accounts.people import teams
from dnspanel.accounts.quotas import quotas
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.people import NOW, make_person
from tests.people import alice as alice
from tests.people import bob as bob

pytestmark = pytest.mark.django_db(transaction=True)

TERMS = TokenTerms("backup", scope=(Grant(frozenset({Right.READ}), everywhere=True),))


@pytest.fixture
def team(alice: User) -> Team:
    return teams.create_team(name="Alpha", by=alice, now=NOW)


def member(name: str, team: Team) -> User:
    user = make_person(name, "member")
    Membership.objects.create(team=team, user=user, role="editor")
    return user


def terms_in(team: Team) -> TokenTerms:
    return TokenTerms("backup", scope=(Grant(EVERY_RIGHT, teams=frozenset({team.pk})),))


def test_who_looks_after_all_zones_has_as_many_as_it_takes(alice: User, team: Team, settings: Any) -> None:
    settings.PERSON_QUOTAS = dict.fromkeys(Kind, 7)
    limits = quotas.holder_of(alice).limits
    assert {kind for kind, limit in limits.items() if limit is not None} == {Kind.OPERATIONS, Kind.DRAFTS, Kind.TOKENS}
    set_quotas(of=alice, quotas={Kind.ZONES: 3, Kind.TOKENS: None}, by=None, now=NOW)
    limits = quotas.holder_of(User.objects.get(pk=alice.pk)).limits
    assert (limits[Kind.ZONES], limits[Kind.TOKENS], limits[Kind.RRSETS]) == (3, None, None)


def test_a_member_is_bound_by_the_quotas_of_the_teams(team: Team) -> None:
    carol = member("carol", team)
    assert [holder.team for holder in quotas.holders_for(carol)] == ["", "Alpha"]
    assert quotas.holders_for(None) == ()


def test_setting_quotas_is_audited_once(alice: User, team: Team) -> None:
    for _ in range(2):
        set_quotas(of=team, quotas={Kind.BYTES: 2 << 30}, by=alice, now=NOW)
    entry = AuditEntry.objects.get(action="team.quotas")
    assert (entry.target, entry.details) == ("Alpha", {"quotas": "bytes 2G", "before": "as in the settings"})
    assert quotas.holder_of(Team.objects.get(pk=team.pk)).limits[Kind.BYTES] == 2 << 30


def test_one_token_too_many_is_refused_until_one_is_revoked(bob: User) -> None:
    set_quotas(of=bob, quotas={Kind.TOKENS: 2}, by=None, now=NOW)
    made = [tokens.create_token(owner=bob, terms=TERMS, by=bob, now=NOW).token for _ in range(2)]
    with pytest.raises(TokenQuotaExceeded) as refused:
        tokens.create_token(owner=bob, terms=TERMS, by=bob, now=NOW)
    assert str(refused.value) == (
        "Quota exceeded: limit 2 tokens, used 2, requested 1. An administrator can raise your limit. "
        "You can revoke tokens that are no longer used."
    )
    with pytest.raises(TokenQuotaExceeded):
        tokens.create_tsig_key(owner=bob, name="key.test", terms=TERMS, by=bob, now=NOW)
    tokens.revoke_token(token=made[0], by=bob, now=NOW)
    tokens.create_tsig_key(owner=bob, name="key.test", terms=TERMS, by=bob, now=NOW)


def test_rotating_again_and_again_makes_no_more_tokens_than_the_quota_and_one(bob: User) -> None:
    set_quotas(of=bob, quotas={Kind.TOKENS: 1}, by=None, now=NOW)
    first = tokens.create_token(owner=bob, terms=TERMS, by=bob, now=NOW).token
    second = tokens.rotate_token(token=first, by=bob, now=NOW, overlap=timedelta(days=30)).token
    with pytest.raises(TokenQuotaExceeded):
        tokens.rotate_token(token=second, by=bob, now=NOW)
    tokens.rotate_token(token=second, by=bob, now=NOW + timedelta(days=31))


def test_the_tokens_of_a_team_are_those_of_its_members(team: Team, alice: User) -> None:
    carol, dan = member("carol", team), member("dan", team)
    Membership.objects.create(team=team, user=alice, role="reader")  # hers count only for herself
    tokens.create_token(owner=alice, terms=TERMS, by=alice, now=NOW)
    set_quotas(of=team, quotas={Kind.TOKENS: 1}, by=None, now=NOW)
    tokens.create_token(owner=carol, terms=terms_in(team), by=carol, now=NOW)
    with pytest.raises(TokenQuotaExceeded, match="Quota for team Alpha exceeded: limit 1 token, used 1"):
        tokens.create_token(owner=dan, terms=terms_in(team), by=dan, now=NOW)
    assert Token.objects.count() == 2


def test_a_token_found_by_its_secret_knows_the_quotas_of_its_owner(bob: User) -> None:
    set_quotas(of=bob, quotas={Kind.ZONES: 5}, by=None, now=NOW)
    secret = tokens.create_token(owner=bob, terms=TERMS, by=bob, now=NOW).secret
    actor = tokens.actor_by_secret(secret=secret, address="192.0.2.1", now=NOW)
    assert quotas.holders_for(actor)[0].limits[Kind.ZONES] == 5


def test_usage_says_when_it_is_near() -> None:
    usage = quotas.Usage(Kind.ZONES, limit=10, used=7)
    assert (usage.is_near, usage.percent) == (False, 70)
    near = replace(usage, used=8)
    assert near.is_near
    assert near.message == "8 of 10 zones used, 2 left."
    assert replace(usage, limit=0, used=0).percent == 100
    assert quotas.Usage(Kind.BYTES, limit=1 << 30, used=1 << 30).message.endswith("The limit has been reached.")
    assert not quotas.Usage(Kind.RRSETS, limit=5, used=None).is_near
