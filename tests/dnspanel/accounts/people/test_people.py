"""Tests of roles and of accounts that can no longer sign in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, transaction

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.errors import AboveYou, InvitationExpired, LastAdministrator
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.accounts.people import invite, people, teams
from dnspanel.accounts.people.people import RoleChange
from dnspanel.accounts.quotas import quota_edit
from dnspanel.accounts.rights import grant_edit
from dnspanel.accounts.tokens import tokens, tsig_keys
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.people import NOW, make_person

EVERYTHING = TokenTerms("all", (Grant(frozenset(Right), everywhere=True),), frozenset(Permission))


def test_a_role_changes(alice: User, bob: User) -> None:
    people.change_role(user=bob, role=Role.READER, by=None, now=NOW)
    bob.refresh_from_db()
    assert bob.role == Role.READER
    with pytest.raises(ValueError, match="emperor"):
        people.change_role(user=bob, role="emperor", by=None, now=NOW)


def test_each_change_of_a_person_is_in_the_audit_log_once(alice: User, bob: User) -> None:
    for _ in range(2):
        people.change_role(user=bob, role=Role.READER, by=alice, now=NOW)
    for _ in range(2):
        people.deactivate(user=bob, by=alice, now=NOW)
    for _ in range(2):
        people.reactivate(user=bob, by=alice, now=NOW)
    entries = AuditEntry.objects.order_by("pk").values_list("action", "target", "user__username")
    assert list(entries) == [(f"person.{act}", "bob", "alice") for act in ("role", "close", "open")]
    assert AuditEntry.objects.earliest("pk").details == {"role": "reader", "before": "editor"}


def test_somebody_deactivated_comes_back(alice: User, bob: User) -> None:
    people.deactivate(user=bob, by=None, now=NOW)
    assert not User.objects.get(pk=bob.pk).is_active
    people.reactivate(user=bob, by=None, now=NOW)
    assert User.objects.get(pk=bob.pk).is_active


def test_a_closed_account_leaves_no_way_in_behind(alice: User, bob: User) -> None:
    people.change_role(user=bob, role=Role.ADMINISTRATOR, by=None, now=NOW)
    secret = invite.make_invitation(role=Role.ADMINISTRATOR, by=bob, now=NOW)
    token = tokens.create_token(owner=bob, terms=EVERYTHING, by=bob, now=NOW)
    by_token = tokens.actor_by_secret(secret=token.secret, address=None, now=NOW)
    key = tsig_keys.create_own_tsig_key(by=by_token, name="k.", algorithm="hmac-sha256", secret="", now=NOW)
    bob.refresh_from_db()
    session = bob.get_session_auth_hash()
    people.deactivate(user=bob, by=alice, now=NOW)
    people.reactivate(user=bob, by=alice, now=NOW)
    bob.refresh_from_db()
    assert bob.get_session_auth_hash() != session
    for made in (token.token, key.token):
        made.refresh_from_db()
        assert made.revoked_at == NOW
    with pytest.raises(InvitationExpired):
        invite.open_invitation(secret, NOW)


def test_who_invites_no_more_leaves_no_invitation_behind(alice: User, bob: User) -> None:
    people.change_role(user=bob, role=Role.ADMINISTRATOR, by=None, now=NOW)
    secret = invite.make_invitation(role=Role.ADMINISTRATOR, by=bob, now=NOW)
    people.change_role(user=bob, role=Role.EDITOR, by=alice, now=NOW)
    with pytest.raises(InvitationExpired):
        invite.open_invitation(secret, NOW)


def test_a_token_for_people_alone_changes_nobody_at_or_above_its_owner(alice: User, bob: User, charlie: User) -> None:
    """Regression test: a thief of the token could demote all administrators except one, and close their accounts."""
    other = make_person("anna", Role.ADMINISTRATOR)
    of_people = tokens.create_token(
        owner=alice, terms=TokenTerms("people", permissions=frozenset({Permission.PEOPLE})), by=alice, now=NOW
    )
    narrow = tokens.actor_by_secret(secret=of_people.secret, address=None, now=NOW)
    full = tokens.create_token(owner=alice, terms=EVERYTHING, by=alice, now=NOW)
    hers = tokens.create_token(owner=other, terms=EVERYTHING, by=other, now=NOW).token
    team = teams.create_team(name="Web", by=alice, now=NOW)
    row = grant_edit.give_grant(grant=EVERYTHING.scope[0], to=other, by=alice, now=NOW)
    how = {"by": narrow, "now": NOW}
    for person in (alice, other):
        for act in (
            lambda person=person: people.change_role(user=person, role=Role.MEMBER, **how),
            lambda person=person: people.deactivate(user=person, **how),
            lambda person=person: people.reactivate(user=person, **how),
            lambda person=person: teams.remove_member(team=team, user=person, **how),
            lambda person=person: quota_edit.set_quotas(of=person, quotas={}, **how),
        ):
            with pytest.raises(AboveYou):
                act()
    for token in (full.token, hers):
        with pytest.raises(AboveYou):
            tokens.revoke_token(token=token, **how)
    with pytest.raises(AboveYou):
        grant_edit.take_grant(row=row, **how)
    people.change_role(user=charlie, role=Role.MEMBER, **how)
    people.deactivate(user=bob, **how)
    tokens.revoke_token(token=of_people.token, **how)
    everything = tokens.actor_by_secret(secret=full.secret, address=None, now=NOW)
    people.change_role(user=other, role=Role.READER, by=everything, now=NOW)


def test_the_last_administrator_cannot_be_lost(alice: User, bob: User) -> None:
    how = {"user": alice, "by": None, "now": NOW}
    for act in (lambda: people.change_role(role=Role.EDITOR, **how), lambda: people.deactivate(**how)):
        with pytest.raises(LastAdministrator, match="alice"):
            act()
    people.change_role(user=alice, role=Role.ADMINISTRATOR, by=None, now=NOW)
    people.change_role(user=bob, role=Role.ADMINISTRATOR, by=None, now=NOW)
    people.deactivate(user=alice, by=None, now=NOW)
    with pytest.raises(LastAdministrator, match="bob"):
        people.change_role(user=bob, role=Role.READER, by=None, now=NOW)


def _demote(user: User) -> None:
    """Demote the user without the check that an administrator remains, as a directory's rules do."""
    with transaction.atomic():
        if people.set_roles(changes=[RoleChange(user, Role.READER)], by=None, now=NOW):
            raise LastAdministrator(user.username)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "remove", [lambda user: people.deactivate(user=user, by=None, now=NOW), _demote], ids=["closed", "by rules"]
)
def test_two_administrators_cannot_remove_each_other_at_once(remove: Callable[[User], None]) -> None:
    for turn in range(5):
        two = [make_person(f"admin{turn}{letter}", Role.ADMINISTRATOR) for letter in "ab"]
        barrier = Barrier(2, timeout=10)

        def run(user: User, barrier: Barrier = barrier) -> bool:
            try:
                barrier.wait()
                remove(user)
            except LastAdministrator:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            removed = list(pool.map(run, two))
        assert sorted(removed) == [False, True]
        User.objects.all().delete()
