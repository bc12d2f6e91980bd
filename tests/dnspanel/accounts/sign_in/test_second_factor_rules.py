"""Tests of second-factor rules: the people that need a second factor, and their deadline."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.models import AuditEntry, Membership, OwnRole, Role, SecondFactorRule, Team, User
from dnspanel.accounts.sign_in.second_factor import remove_app
from dnspanel.accounts.sign_in.second_factor_rules import people_without, rules, second_factor_due, set_rules
from tests.people import NOW, make_person
from tests.second_factors import set_up

Rule = Callable[..., None]


def days(number: int) -> datetime:
    return NOW + timedelta(days=number)


@pytest.fixture
def rule(alice: User) -> Rule:
    def rule(*targets: str | Team, grace: int = 14, now: datetime = NOW) -> None:
        roles = [each for each in targets if isinstance(each, str)]
        teams = [each for each in targets if isinstance(each, Team)]
        set_rules(roles=roles, teams=teams, grace=grace, by=alice, now=now)

    return rule


@pytest.fixture
def team(bob: User) -> Team:
    team = Team.objects.create(name="Web", created_at=NOW)
    Membership.objects.create(team=team, user=bob, role="editor")
    return team


def test_without_a_rule_nobody_needs_one_which_one_query_tells(
    bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert second_factor_due(bob) is None


def test_a_role_needs_one_after_the_days_of_grace(rule: Rule, bob: User, charlie: User) -> None:
    rule(Role.EDITOR)
    assert second_factor_due(bob) == days(14)
    assert second_factor_due(charlie) is None


def test_a_team_needs_one_and_the_first_of_two_rules_counts(rule: Rule, bob: User, alice: User, team: Team) -> None:
    rule(team, grace=3)
    assert second_factor_due(bob) == days(3)
    assert second_factor_due(alice) is None
    rule(team, Role.EDITOR, grace=3, now=days(1))
    assert second_factor_due(bob) == days(3)


def test_a_role_of_ones_own_needs_one_and_is_not_the_role_that_it_builds_on(rule: Rule, team: Team) -> None:
    own = OwnRole.objects.create(name="Auditor", permissions=[], rights=[], created_at=NOW)
    mia = make_person("mia", Role.MEMBER)
    User.objects.filter(pk=mia.pk).update(own_role=own)
    mia.refresh_from_db()
    rule(Role.MEMBER)
    assert second_factor_due(mia) is None
    assert people_without(rules()) == []
    rule(mia.role_key)
    assert second_factor_due(mia) == days(14)
    assert [each.person for each in people_without(rules())] == [mia]
    assert AuditEntry.objects.filter(action="second-factor.rule", target="role Auditor").exists()


def test_a_new_account_has_its_own_days(rule: Rule, bob: User) -> None:
    rule(Role.EDITOR, grace=7)
    User.objects.filter(pk=bob.pk).update(date_joined=days(30))
    bob.refresh_from_db()
    assert second_factor_due(bob) == days(37)


def test_whoever_has_one_is_not_late_until_it_is_turned_off(rule: Rule, bob: User) -> None:
    rule(Role.EDITOR, grace=0)
    set_up(bob, NOW)
    assert second_factor_due(bob) is None
    remove_app(user=bob, now=days(1))
    assert second_factor_due(bob) == NOW


def test_a_service_account_needs_none(rule: Rule) -> None:
    account = User.objects.create(username="deploy", email=None, is_service=True, role=Role.EDITOR, date_joined=NOW)
    rule(Role.EDITOR)
    assert second_factor_due(account) is None
    assert people_without(rules()) == []


def test_rules_keep_the_day_from_which_they_hold_and_changes_are_written_down(rule: Rule, team: Team) -> None:
    rule(Role.EDITOR, team)
    rule(Role.EDITOR, grace=7, now=days(5))
    assert [(each.role, each.since, each.grace_days) for each in rules()] == [(Role.EDITOR, NOW, 7)]
    rule(Role.EDITOR, grace=7, now=days(6))
    found = AuditEntry.objects.filter(action__startswith="second-factor.rule").order_by("pk")
    assert [(each.action, each.target, each.details) for each in found] == [
        ("second-factor.rule", "role editor", {"grace_days": 14}),
        ("second-factor.rule", "team Web", {"grace_days": 14}),
        ("second-factor.rule-end", "team Web", {}),
        ("second-factor.rule", "role editor", {"grace_days": 7, "grace_days_before": 14}),
    ]


def test_who_has_none_is_listed_by_the_end_of_the_days(
    rule: Rule, bob: User, team: Team, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rule(Role.EDITOR, team)
    late = make_person("erin", Role.EDITOR)
    User.objects.filter(pk=late.pk).update(date_joined=days(3))
    set_up(make_person("eve", Role.EDITOR), NOW)
    closed = make_person("eric", Role.EDITOR)
    User.objects.filter(pk=closed.pk).update(is_active=False)
    found = rules()
    with django_assert_num_queries(2):
        assert [(each.person.username, each.due) for each in people_without(found)] == [
            ("bob", days(14)),
            ("erin", days(17)),
        ]


def test_a_rule_ends_with_its_team(rule: Rule, bob: User, team: Team) -> None:
    rule(team, grace=0)
    team.delete()
    assert second_factor_due(bob) is None


def test_a_rule_is_about_one_role_or_one_team(team: Team) -> None:
    for targets in ({}, {"role": Role.EDITOR, "team": team}):
        with pytest.raises(IntegrityError), transaction.atomic():
            SecondFactorRule.objects.create(since=NOW, grace_days=1, **targets)
