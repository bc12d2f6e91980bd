"""Tests of the regular check of LDAP accounts and their groups.

A person who was deleted or disabled loses all sessions and tokens (`ldap.look`).
"""

import socket
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.contrib.messages.storage.fallback import FallbackStorage
from django.test import Client, RequestFactory
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import AuditEntry, Membership, ProviderLink, Role, SignInProvider, Team, Token, User
from dnspanel.accounts.people.people import deactivate
from dnspanel.accounts.providers.ldap.backend import identity_by_password
from dnspanel.accounts.providers.ldap.look import LOOK_EVERY, look_at_everybody, look_at_one
from dnspanel.accounts.providers.links import link_own_account
from dnspanel.accounts.sessions.session_store import SessionStore
from dnspanel.accounts.sign_in.adapter import PanelAccountAdapter
from dnspanel.accounts.tasks import look_at_ldap_people
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.accounts.providers.ldap.server import PASSWORD, AtLdap, is_signed_in, ldap_added, signs_in
from tests.people import NOW, make_person


def linked(provider: SignInProvider, *people: User) -> None:
    for person in people:
        identity = identity_by_password(provider, person.username, PASSWORD, NOW)
        assert identity is not None
        link_own_account(provider=provider, identity=identity, user=person, now=NOW)


def later(rounds: int) -> datetime:
    return NOW + rounds * LOOK_EVERY


def test_a_group_that_was_taken_away_gives_nothing_in_a_session_of_before(at_ldap: AtLdap, alice: User) -> None:
    eve = at_ldap.person("eve")
    other = at_ldap.person("other")
    group = at_ldap.group("dns-admins", eve, other)
    team = Team.objects.create(name="Web", created_at=NOW)
    provider = ldap_added(at_ldap, makes_people=True, mail_domains=("work.test",))
    rules = [
        {"group": "dns-admins", "role": Role.ADMINISTRATOR, "team": None, "own_role": None},
        {"group": "dns-admins", "role": Role.EDITOR, "team": team.pk, "own_role": None},
    ]
    SignInProvider.objects.update(rules=rules)
    client, _ = signs_in("eve")
    assert client.get("/people/").status_code == 200
    at_ldap.change(group, member=[other])
    look_at_everybody(now=timezone.now())
    assert client.get("/people/").status_code == 403
    assert not Membership.objects.exists()
    assert User.objects.get(username="eve").role == Role.MEMBER
    assert ProviderLink.objects.get().signed_in_at is not None
    assert SignInProvider.objects.get(pk=provider.pk).look_fault == ""


@pytest.mark.parametrize("how", ["deleted", "disabled", "no longer in the filter"])
def test_who_is_gone_has_no_session_no_token_and_no_way_in(at_ldap: AtLdap, alice: User, bob: User, how: str) -> None:
    dn = at_ldap.person("bob", userAccountControl="512", employeeType="staff")
    provider = ldap_added(at_ldap, attributes={"person_filter": "(&(objectClass=person)(employeeType=staff))"})
    linked(provider, bob)
    client, _ = signs_in("bob")
    terms = TokenTerms("ci", (Grant(frozenset({Right.READ}), everywhere=True),))
    create_token(owner=bob, terms=terms, by=bob, now=NOW)
    assert is_signed_in(client)
    if how == "deleted":
        at_ldap.remove(dn)
    else:
        at_ldap.change(dn, **({"userAccountControl": "514"} if how == "disabled" else {"employeeType": "guest"}))
    look_at_everybody(now=timezone.now())
    assert not is_signed_in(client)
    assert not is_signed_in(signs_in("bob")[0])
    bob.refresh_from_db()
    assert not bob.is_active
    assert Token.objects.get().revoked_at is not None
    entry = AuditEntry.objects.get(action="person.close")
    assert entry.details == {"provider": "Work", "reason": "disabled" if how == "disabled" else "gone"}


def test_who_comes_back_is_let_in_again_unless_somebody_closed_the_account(
    at_ldap: AtLdap, alice: User, bob: User, charlie: User
) -> None:
    names = [at_ldap.person(name, userAccountControl="514") for name in ("bob", "charlie")]
    provider = ldap_added(at_ldap)
    for dn in names:
        at_ldap.change(dn, userAccountControl="512")
    linked(provider, bob, charlie)
    deactivate(user=charlie, by=alice, now=NOW)
    for dn in names:
        at_ldap.change(dn, userAccountControl="514")
    look_at_everybody(now=later(1))
    assert set(User.objects.filter(is_active=True)) == {alice}
    for dn in names:
        at_ldap.change(dn, userAccountControl="512")
    look_at_everybody(now=later(2))
    assert set(User.objects.filter(is_active=True)) == {alice, bob}


def test_a_server_that_does_not_answer_changes_nothing_and_is_told(at_ldap: AtLdap, alice: User, bob: User) -> None:
    at_ldap.person("bob")
    linked(ldap_added(at_ldap), bob)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    SignInProvider.objects.update(issuer=f"ldaps://127.0.0.1:{port}")
    look_at_everybody(now=later(1))
    assert "didn’t respond" in SignInProvider.objects.get().look_fault
    bob.refresh_from_db()
    assert bob.is_active
    client = Client()
    client.force_login(alice)
    assert "didn’t respond" in client.get(f"/people/providers/{SignInProvider.objects.get().pk}/").content.decode()
    SignInProvider.objects.update(issuer=at_ldap.uri)
    look_at_everybody(now=later(2))
    assert SignInProvider.objects.get().look_fault == ""


def test_many_who_are_gone_at_once_are_taken_for_a_mistake(at_ldap: AtLdap, alice: User) -> None:
    people = [make_person(f"p{number}", Role.EDITOR) for number in range(5)]
    names = [at_ldap.person(person.username) for person in people]
    provider = ldap_added(at_ldap)
    linked(provider, *people)
    SignInProvider.objects.update(attributes=provider.attributes | {"person_filter": "(objectClass=nobody)"})
    look_at_everybody(now=later(1))
    assert User.objects.filter(is_active=False).count() == 0
    assert "5 of 5 people are suddenly missing" in SignInProvider.objects.get().look_fault
    assert AuditEntry.objects.get(action="ldap.look-refused").details == {"gone": 5, "of": 5}
    SignInProvider.objects.update(attributes=provider.attributes)
    at_ldap.remove(names[0])
    look_at_everybody(now=later(2))
    assert [user.username for user in User.objects.filter(is_active=False)] == ["p0"]


def test_each_is_looked_at_every_few_minutes_and_by_one_worker(at_ldap: AtLdap, bob: User) -> None:
    at_ldap.person("bob")
    linked(ldap_added(at_ldap), bob)
    look_at_everybody(now=NOW)
    searches = at_ldap.log.count(" SRCH base=")
    look_at_everybody(now=NOW)
    look_at_everybody(now=NOW + timedelta(minutes=1))
    assert at_ldap.log.count(" SRCH base=") == searches
    look_at_everybody(now=NOW + LOOK_EVERY)
    assert at_ldap.log.count(" SRCH base=") > searches
    assert ProviderLink.objects.get().looked_at == NOW + LOOK_EVERY


def test_the_last_administrator_stays_one_and_is_signed_out(at_ldap: AtLdap, alice: User, bob: User) -> None:
    dn = at_ldap.person("bob")
    linked(ldap_added(at_ldap), bob)
    client, _ = signs_in("bob")
    User.objects.filter(pk=bob.pk).update(role=Role.ADMINISTRATOR)
    User.objects.filter(pk=alice.pk).update(role=Role.READER)
    at_ldap.remove(dn)
    for rounds in (1, 2):
        look_at_everybody(now=timezone.now() + rounds * LOOK_EVERY)
    bob.refresh_from_db()
    assert bob.is_active
    assert not is_signed_in(client)
    assert AuditEntry.objects.filter(action="ldap.kept", target="bob").count() == 1


def test_another_way_in_asks_the_server_whether_the_person_is_still_there(at_ldap: AtLdap, bob: User) -> None:
    """A sign-in with a passkey or with another provider also asks the LDAP server."""
    dn = at_ldap.person("bob")
    linked(ldap_added(at_ldap), bob)
    look_at_one(user=bob, now=NOW)
    at_ldap.change(dn, userAccountControl="514")
    request = RequestFactory().get("/")
    request.session = SessionStore()  # type: ignore[assignment]
    setattr(request, "_messages", FallbackStorage(request))  # noqa: B010  (Django's own name)
    nowhere: dict[str, Any] = {"email_verification": "none", "signal_kwargs": None, "email": None, "signup": False}
    bob.refresh_from_db()
    answer = PanelAccountAdapter(request).pre_login(request, bob, redirect_url=None, **nowhere)
    assert answer is not None
    assert answer["Location"] == "/sign-in/"
    assert [str(each) for each in get_messages(request)] == ["Your account is disabled on the LDAP server."]
    bob.refresh_from_db()
    assert not bob.is_active
    assert AuditEntry.objects.filter(action="ldap.refused", details__reason="disabled").count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_clock_of_workers_leads_here(at_ldap: AtLdap, alice: User, bob: User) -> None:
    dn = at_ldap.person("bob")
    linked(ldap_added(at_ldap), bob)
    at_ldap.remove(dn)
    look_at_ldap_people()
    assert set(User.objects.filter(is_active=True)) == {alice}
