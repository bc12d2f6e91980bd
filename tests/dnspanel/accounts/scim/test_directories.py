"""Tests of SCIM directories: creators, secrets, and the end of all their grants. Also `providers.rule_grants`."""

import pytest

from dnspanel.accounts.actors.actors import Actor, Grant, Permission, Right
from dnspanel.accounts.errors import AllRightsNeeded, BadToken, DirectoryRefused, DirectoryUnknown, TokenRefused
from dnspanel.accounts.models import AuditEntry, Membership, Role, ScimDirectory, Token, TokenKind, User
from dnspanel.accounts.people import people
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.scim import directories as verbs
from dnspanel.accounts.scim.directories import DirectoryTerms
from dnspanel.accounts.scim.scim_groups import GroupTerms, create_group
from dnspanel.accounts.scim.scim_people import PersonTerms, create_person
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.people import NOW


def actor(secret: str) -> Actor:
    return tokens.actor_by_secret(secret=secret, address=None, now=NOW, kind=TokenKind.SCIM)


def test_a_directory_comes_by_its_secret_and_by_the_newest_alone(alice: User) -> None:
    directory, first = verbs.create_directory(terms=DirectoryTerms(" Okta  EU "), by=alice, now=NOW)
    assert (directory.name, directory.account.username) == ("Okta EU", "scim-okta-eu")
    caller = actor(first.secret)
    assert (verbs.directory_of(caller), caller.permissions, caller.grants) == (directory, frozenset(), ())
    second = verbs.renew_secret(directory=directory, by=alice, now=NOW)
    with pytest.raises(BadToken):
        actor(first.secret)
    assert verbs.directory_of(actor(second.secret)) == directory
    assert verbs.token_of_directory(directory) == second.token
    people.deactivate(user=directory.account, by=alice, now=NOW)
    assert verbs.token_of_directory(directory) is None
    third = verbs.renew_secret(directory=directory, by=alice, now=NOW)
    assert verbs.directory_of(actor(third.secret)) == directory
    assert first.secret not in str(list(AuditEntry.objects.values()))


def test_its_token_is_not_rotated_or_handed_over_as_others(alice: User, bob: User) -> None:
    directory, new = verbs.create_directory(terms=DirectoryTerms("Okta"), by=alice, now=NOW)
    with pytest.raises(TokenRefused, match="directory’s page"):
        tokens.rotate_token(token=new.token, by=alice, now=NOW)
    assert tokens.give_tokens(person=directory.account, to=bob, ids=[new.token.pk], by=alice, now=NOW) == []
    tokens.revoke_token(token=new.token, by=alice, now=NOW)
    assert verbs.token_of_directory(directory) is None


def test_who_may_not_everything_makes_none(alice: User) -> None:
    """Otherwise a token that manages people could create administrators through a directory's rule."""
    terms = TokenTerms("people", (Grant(frozenset({Right.READ}), everywhere=True),), frozenset({Permission.PEOPLE}))
    made = tokens.create_token(owner=alice, terms=terms, by=alice, now=NOW)
    narrow = tokens.actor_by_secret(secret=made.secret, address=None, now=NOW)
    with pytest.raises(AllRightsNeeded):
        verbs.create_directory(terms=DirectoryTerms("Okta"), by=narrow, now=NOW)
    directory, _ = verbs.create_directory(terms=DirectoryTerms("Okta"), by=alice, now=NOW)
    for act in (verbs.renew_secret, verbs.delete_directory):
        with pytest.raises(AllRightsNeeded):
            act(directory=directory, by=narrow, now=NOW)
    with pytest.raises(AllRightsNeeded):
        verbs.change_directory(directory=directory, terms=DirectoryTerms("Other"), by=narrow, now=NOW)


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        (DirectoryTerms(" "), "name"),
        (DirectoryTerms("x" * 41), "name"),
        (DirectoryTerms("Okta"), "name"),
        (DirectoryTerms("x", team_role="administrator"), "team_role"),
        (DirectoryTerms("x", (Rule("a", "emperor"),)), "rules"),
        (DirectoryTerms("x", (Rule("a", Role.READER, team=99),)), "rules"),
    ],
    ids=["none", "long", "taken", "team-role", "role", "team"],
)
def test_what_cannot_be_is_refused(alice: User, terms: DirectoryTerms, field: str) -> None:
    verbs.create_directory(terms=DirectoryTerms("okta"), by=alice, now=NOW)
    with pytest.raises(DirectoryRefused) as refusal:
        verbs.create_directory(terms=terms, by=alice, now=NOW)
    assert set(refusal.value.fields) == {field}


def test_there_is_a_most_of_directories(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "MOST_DIRECTORIES", 1)
    verbs.create_directory(terms=DirectoryTerms("one"), by=alice, now=NOW)
    with pytest.raises(DirectoryRefused):
        verbs.create_directory(terms=DirectoryTerms("two"), by=alice, now=NOW)


def test_nothing_that_a_directory_gave_outlives_it(alice: User) -> None:
    terms = DirectoryTerms("Okta", (Rule("editors", Role.EDITOR),), team_role="editor")
    directory, new = verbs.create_directory(terms=terms, by=alice, now=NOW)
    ada = create_person(directory=directory, terms=PersonTerms("ada", "ada@people.test"), by=None, now=NOW)
    for name in ("editors", "web"):
        group = GroupTerms(name, members=frozenset({ada.pk}))
        create_group(directory=directory, terms=group, by=None, now=NOW)
    assert User.objects.get(pk=ada.pk).role == Role.EDITOR
    people.reactivate(user=ada, by=alice, now=NOW)
    for _ in range(2):
        verbs.delete_directory(directory=directory, by=alice, now=NOW)
    ada.refresh_from_db()
    assert (ada.role, ada.is_active, Membership.objects.filter(user=ada).count()) == (Role.MEMBER, True, 0)
    assert not ScimDirectory.objects.exists()
    assert Token.objects.get(pk=new.token.pk).revoked_at == NOW
    with pytest.raises(BadToken):
        actor(new.secret)
    with pytest.raises(DirectoryUnknown):
        verbs.directory_by_id(directory.pk)
    assert AuditEntry.objects.filter(action="scim.delete").count() == 1
