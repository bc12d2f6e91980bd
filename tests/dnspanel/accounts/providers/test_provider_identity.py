"""Tests of the identity in a provider's answer, and of the roles that rules give to groups."""

from typing import Any

import pytest

from dnspanel.accounts.actors.actors import is_below
from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import Role
from dnspanel.accounts.providers.provider_identity import Identity, Rule, highest, identity_of, outcome_of


def identity(group_claim: str = "groups", trusts_mail: bool = False, **claims: Any) -> Identity:
    return identity_of({"sub": "s1", **claims}, group_claim=group_claim, trusts_mail=trusts_mail)


@pytest.mark.parametrize(
    ("claimed", "trusts_mail", "is_verified"),
    [
        (True, False, True),
        ("true", False, True),
        (False, True, False),  # the claim about one person overrides the provider's setting
        ("false", True, False),
        (1, False, False),
        ("yes", False, False),
        (None, True, False),
    ],
)
def test_an_address_is_verified_when_the_provider_says_so(claimed: Any, trusts_mail: bool, is_verified: bool) -> None:
    found = identity(email="Eve@People.test", email_verified=claimed, trusts_mail=trusts_mail)
    assert (found.mail, found.domain, found.mail_is_verified) == ("eve@people.test", "people.test", is_verified)


def test_a_provider_that_says_nothing_is_believed_where_the_administrator_said_so() -> None:
    assert identity(email="eve@people.test", trusts_mail=True).mail_is_verified
    assert not identity(email="eve@people.test").mail_is_verified


@pytest.mark.parametrize("mail", ["", "eve", "a@b@c.test", "e ve@people.test", "x" * 250 + "@p.test", 7, None, "é\0@x"])
def test_what_is_no_address_is_never_verified(mail: Any) -> None:
    found = identity(email=mail, email_verified=True)
    assert (found.mail, found.mail_is_verified) in {("", False), ("é@x", True)}


def test_groups_are_read_from_the_claim_and_from_within_one() -> None:
    assert identity(groups=["a", "b", 7, None]).groups == {"a", "b"}
    assert identity(groups="a").groups == {"a"}
    assert identity(groups={"a": 1}).groups == frozenset()
    assert identity().groups == frozenset()
    assert identity("realm_access.roles", realm_access={"roles": ["a"]}).groups == {"a"}
    assert identity("https://x.test/groups", **{"https://x.test/groups": ["a"]}).groups == {"a"}


def test_groups_that_are_left_out_of_the_token_are_not_none() -> None:
    with pytest.raises(SignInRefused, match="too many"):
        identity(_claim_names={"groups": "src1"})
    with pytest.raises(SignInRefused, match="more than"):
        identity(groups=[str(number) for number in range(5_001)])


def test_the_highest_role_wins_and_whom_no_rule_matches_is_a_member() -> None:
    rules = [
        Rule("r", Role.READER),
        Rule("a", Role.ADMINISTRATOR),
        Rule("t", Role.READER, 1),
        Rule("u", Role.EDITOR, 1),
    ]
    assert outcome_of(rules, {"a", "r"}).role == Role.ADMINISTRATOR
    assert outcome_of(rules, {"r"}).role == Role.READER
    assert outcome_of(rules, {"t", "u"}).teams == {1: Role.EDITOR}
    nothing = outcome_of(rules, {"A", "other"})
    assert (nothing.role, nothing.teams, nothing.has_matched) == (Role.MEMBER, {}, False)


def test_rules_about_teams_alone_leave_the_role_alone() -> None:
    assert outcome_of([Rule("t", Role.READER, 1)], {"t"}).role is None
    assert outcome_of([], {"t"}).role is None


def test_a_rule_comes_back_as_it_was_kept() -> None:
    for rule in (Rule("CN=dns,OU=groups", Role.EDITOR, 7), Rule("audit", Role.MEMBER, own_role=3)):
        assert Rule.from_json(rule.to_json()) == rule


def test_an_own_role_is_for_whom_no_other_is_given() -> None:
    rules = [Rule("x", Role.MEMBER, own_role=3), Rule("y", Role.MEMBER, own_role=4), Rule("r", Role.READER)]
    assert (outcome_of(rules, {"y", "x"}).role, outcome_of(rules, {"y", "x"}).own_role) == (Role.MEMBER, 3)
    assert (outcome_of(rules, {"y", "r"}).role, outcome_of(rules, {"y", "r"}).own_role) == (Role.READER, None)
    assert outcome_of(rules, {"r"}).has_matched


def test_roles_are_compared() -> None:
    assert highest([]) == Role.MEMBER
    assert is_below(Role.MEMBER, Role.READER)
    assert not is_below(Role.EDITOR, Role.EDITOR)
