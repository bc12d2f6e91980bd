"""Tests of sign-in with passwords of LDAP servers, and of the servers' rules (`ldap.backend`)."""

import socket
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import authenticate
from django.core.cache import cache
from django.test import Client

from dnspanel.accounts.models import AuditEntry, Membership, ProviderLink, Role, SignInProvider, Team, User
from dnspanel.accounts.providers.ldap.backend import identity_by_password
from dnspanel.accounts.providers.links import link_own_account, unlink
from dnspanel.accounts.providers.rows import delete_provider, switch_provider
from tests.dnspanel.accounts.providers.ldap.server import (
    GROUPS,
    PASSWORD,
    PEOPLE,
    AtLdap,
    is_signed_in,
    ldap_added,
    signs_in,
)
from tests.people import NOW
from tests.people import PASSWORD as HERE

NEWCOMERS: dict[str, Any] = {"makes_people": True, "mail_domains": ("work.test",)}
WRONG = "The username and/or password you specified are not correct."
WRONG_ADDRESS = "The email address and/or password you specified are not correct."


def words(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(answer.context["form"].non_field_errors())


def refusals() -> list[str]:
    return list(
        AuditEntry.objects.filter(action="ldap.refused").order_by("pk").values_list("details__reason", flat=True)
    )


def bound(server: AtLdap, user: User, **terms: Any) -> SignInProvider:
    """Link this person's account to the entry of the same name on the server. Return the provider."""
    provider = ldap_added(server, **terms)
    identity = identity_by_password(provider, user.username, PASSWORD, NOW)
    assert identity is not None
    link_own_account(provider=provider, identity=identity, user=user, now=NOW)
    return provider


def test_a_first_sign_in_makes_an_account_with_what_groups_give(at_ldap: AtLdap, alice: User) -> None:
    eve = at_ldap.person("eve", givenName="Eve")
    at_ldap.group("dns-admins", eve)
    team = Team.objects.create(name="Web", created_at=NOW)
    rules = [
        {"group": "dns-admins", "role": Role.EDITOR, "team": None, "own_role": None},
        {"group": f"cn=dns-admins,{GROUPS}", "role": Role.READER, "team": team.pk, "own_role": None},
    ]
    provider = ldap_added(at_ldap, **NEWCOMERS)
    SignInProvider.objects.update(rules=rules)
    client, answer = signs_in("eve")
    assert answer.status_code == 302
    assert is_signed_in(client)
    person = User.objects.get(username="eve")
    assert (person.email, person.first_name, person.role) == ("eve@work.test", "Eve", Role.EDITOR)
    assert Membership.objects.get().user == person
    assert person.signs_in_by_ldap
    assert not person.has_usable_password()
    link = ProviderLink.objects.get()
    assert (link.provider, link.user) == (provider, person)
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[:3] == ["ldap.create", "person.join", "ldap.link"]
    assert actions[-2:] == ["ldap.sign-in", "sign-in"]
    assert PASSWORD not in str(list(AuditEntry.objects.values_list("details", "target")))
    # The email address, or a new name on the server, leads to the same account.
    assert is_signed_in(signs_in("eve@work.test")[0])


def test_a_wrong_or_empty_password_signs_nobody_in_and_is_written_down(at_ldap: AtLdap) -> None:
    at_ldap.person("eve")
    ldap_added(at_ldap, **NEWCOMERS)
    for login, password in (("eve", "wrong"), ("nobody", PASSWORD), ("*", PASSWORD), ("eve)(uid=*", PASSWORD)):
        client, answer = signs_in(login, password)
        assert words(answer) == WRONG
        assert not is_signed_in(client)
    assert AuditEntry.objects.filter(action="sign-in.failed").count() == 4
    before = at_ldap.log.count("BIND dn=")
    assert signs_in("eve", "")[1].context["form"].errors
    assert authenticate(None, username="eve", password="") is None
    # RFC 4513, section 5.1.2: the server would accept an empty password, so the panel never sends one.
    assert at_ldap.log.count("BIND dn=") == before
    assert not User.objects.exists()


def test_names_are_escaped_and_no_part_of_the_filter(at_ldap: AtLdap) -> None:
    at_ldap.person("eve")
    at_ldap.person("odd(1)*\\%s", mail="odd@work.test")
    ldap_added(at_ldap, **NEWCOMERS)
    for injected in ("e*", "eve)(|(uid=*", "*)(objectClass=*", "eve\0", "eve\\2a"):
        _, answer = signs_in(injected)
        assert answer.status_code == 200, injected
        cache.clear()
    _, answer = signs_in("odd(1)*\\%s")
    assert answer.status_code == 302
    assert [user.email for user in User.objects.all()] == ["odd@work.test"]


def test_wrong_passwords_are_counted_as_those_that_are_kept_here(at_ldap: AtLdap, bob: User) -> None:
    at_ldap.person("bob")
    bound(at_ldap, bob)
    for _ in range(5):
        signs_in("bob", "wrong")
    assert "Too many incorrect passwords" in words(signs_in("bob")[1])
    assert AuditEntry.objects.filter(action="sign-in.locked", target="bob").exists()


def test_an_account_has_one_password_alone(at_ldap: AtLdap, alice: User, bob: User) -> None:
    at_ldap.person("bob")
    before = Client()
    signs_in("bob", HERE, before)
    provider = bound(at_ldap, bob)
    bob.refresh_from_db()
    assert not is_signed_in(before)
    assert words(signs_in("bob", HERE)[1]) == WRONG
    assert is_signed_in(signs_in("bob")[0])
    assert is_signed_in(signs_in("BOB@people.test")[0])
    # An account with a password here is not searched on the server, whose password would otherwise open it.
    at_ldap.person("alice")
    assert words(signs_in("alice")[1]) == WRONG
    assert is_signed_in(signs_in("alice", HERE)[0])
    # Without the link, the account has no password, neither here nor on the server.
    unlink(link=ProviderLink.objects.get(), by=alice, now=NOW)
    bob.refresh_from_db()
    assert not bob.has_password
    assert words(signs_in("bob")[1]) == WRONG
    delete_provider(provider=provider, by=alice, now=NOW)


def test_the_last_administrator_with_a_password_keeps_it(at_ldap: AtLdap, alice: User) -> None:
    at_ldap.person("alice")
    provider = ldap_added(at_ldap)
    client = Client()
    signs_in("alice", HERE, client)
    answer = client.post(f"/account/providers/{provider.pk}/password/", {"typed": "alice", "password": PASSWORD})
    assert answer.status_code == 422
    assert "last administrator with a panel password" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.has_usable_password()
    assert not ProviderLink.objects.exists()


def test_an_account_is_taken_over_by_nobody_who_has_its_mail_address_there(at_ldap: AtLdap, bob: User) -> None:
    at_ldap.person("mallory", mail="bob@people.test")
    provider = ldap_added(at_ldap, makes_people=True, mail_domains=("people.test",))
    assert "An account with your email address already exists" in words(signs_in("mallory")[1])
    # The address isn't verified, so the provider can't open accounts by it.
    SignInProvider.objects.update(links_by_mail=True, trusts_mail=False)
    assert "verified your email address" in words(signs_in("mallory")[1])
    assert refusals() == ["mail-taken", "unverified-mail"]
    assert not ProviderLink.objects.filter(provider=provider).exists()
    assert is_signed_in(signs_in("bob", HERE)[0])


def test_a_provider_that_may_opens_the_account_with_the_verified_address(
    at_ldap: AtLdap, alice: User, bob: User
) -> None:
    at_ldap.person("bob", mail="bob@people.test")
    at_ldap.person("alice", mail="another@people.test")
    ldap_added(at_ldap, links_by_mail=True)
    assert is_signed_in(signs_in("bob", HERE)[0])  # until then, the password here counts
    assert is_signed_in(signs_in("bob")[0])
    bob.refresh_from_db()
    assert bob.signs_in_by_ldap
    # An entry with the same name but another address is a different person.
    assert words(signs_in("alice")[1]) == WRONG
    assert words(signs_in("bob", HERE)[1]) == WRONG


def test_a_server_that_is_away_is_told_as_such_and_keeps_nobody_else_out(
    at_ldap: AtLdap, alice: User, bob: User
) -> None:
    at_ldap.person("bob")
    bound(at_ldap, bob)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    SignInProvider.objects.update(issuer=f"ldaps://127.0.0.1:{port}")
    told = {words(signs_in(login, "wrong")[1]) for login in ("alice", "bob", "nobody")}
    assert len(told) == 1
    assert "If your password is from Work, try again later" in told.pop()
    assert is_signed_in(signs_in("alice", HERE)[0])


def test_each_name_costs_the_server_the_same(at_ldap: AtLdap, alice: User, bob: User) -> None:
    """Otherwise the time that a refusal takes would reveal which names exist, in the panel or on the server."""
    at_ldap.person("bob")
    at_ldap.person("eve")
    bound(at_ldap, bob)
    costs = []
    for login in ("alice", "bob", "eve", "nobody"):
        before = at_ldap.log
        signs_in(login, "wrong")
        after = at_ldap.log[len(before) :]
        costs.append((after.count(" method=128"), after.count(" SRCH base=")))
        assert HERE not in after
    # One bind of the panel, one search, and one password check.
    assert costs == [(2, 1)] * 4


def test_who_is_disabled_in_active_directory_is_refused(at_ldap: AtLdap, bob: User) -> None:
    dn = at_ldap.person("bob", userAccountControl="512")
    bound(at_ldap, bob)
    assert is_signed_in(signs_in("bob")[0])
    at_ldap.change(dn, userAccountControl="514")
    _, answer = signs_in("bob")
    assert words(answer) == "Your account is disabled on the LDAP server."
    assert words(signs_in("bob", "wrong")[1]) == WRONG  # without the password, the answer reveals nothing
    ticks = (int(time.time()) - 60 + 11_644_473_600) * 10_000_000
    at_ldap.change(dn, userAccountControl="512", accountExpires=str(ticks))
    assert words(signs_in("bob")[1]) == "Your account is disabled on the LDAP server."
    assert refusals() == ["disabled", "disabled"]


def test_a_name_that_two_have_there_is_nobodys(at_ldap: AtLdap) -> None:
    at_ldap.person("eve", mail="shared@work.test")
    at_ldap.person("mallory", mail="shared@work.test")
    ldap_added(at_ldap, **NEWCOMERS)
    assert words(signs_in("shared@work.test")[1]) == WRONG_ADDRESS
    assert refusals() == ["ambiguous"]


def test_a_second_factor_is_needed_and_the_session_has_an_end(at_ldap: AtLdap, bob: User) -> None:
    at_ldap.person("bob")
    bound(at_ldap, bob, session_hours=3)
    client, _ = signs_in("bob")
    assert 0 < client.session["session-ends"] - time.time() <= 3 * 3600
    Authenticator.objects.create(user=bob, type=Authenticator.Type.TOTP, data={"secret": "x"})
    client, answer = signs_in("bob")
    assert answer["Location"].startswith("/sign-in/second-factor/")
    assert not is_signed_in(client)


def test_a_provider_that_is_switched_off_signs_nobody_in(at_ldap: AtLdap, alice: User, bob: User) -> None:
    at_ldap.person("bob")
    provider = bound(at_ldap, bob)
    client, _ = signs_in("bob")
    switch_provider(provider=provider, active=False, by=alice, now=NOW)
    assert not is_signed_in(client)
    assert words(signs_in("bob")[1]) == WRONG


def test_two_servers_are_asked_in_turn_and_an_account_by_its_own_alone(at_ldap: AtLdap, bob: User) -> None:
    """The second provider uses another branch of the same server."""
    other = at_ldap.add(f"ou=guests,{PEOPLE}", objectClass="organizationalUnit", ou="guests")
    inner = {"attributes": {"base": other, "login": "uid"}}
    at_ldap.person("eve", under=other)
    at_ldap.person("bob")
    ldap_added(at_ldap, slug="guests", name="A guests", **NEWCOMERS, **inner)
    bound(at_ldap, bob)
    at_ldap.person("bob", mail="other@work.test", under=other, userPassword="of the guest")
    assert is_signed_in(signs_in("eve")[0])
    assert ProviderLink.objects.get(user__username="eve").provider.slug == "guests"
    assert words(signs_in("bob", "of the guest")[1]) == WRONG
    assert User.objects.count() == 2


def test_dangerous_acts_want_the_password_of_the_server(at_ldap: AtLdap, bob: User) -> None:
    at_ldap.person("bob")
    provider = bound(at_ldap, bob)
    client, _ = signs_in("bob")
    session = client.session
    session["password-at"] = 0
    session.save()
    page = client.post(f"/account/providers/{provider.pk}/link/")
    assert b"Your password" in page.content
    wrong = client.post(f"/account/providers/{provider.pk}/link/", {"confirmed": "yes", "password": "wrong"})
    assert b"Incorrect password." in wrong.content
    right = client.post(f"/account/providers/{provider.pk}/link/", {"confirmed": "yes", "password": PASSWORD})
    assert right.status_code == 302


@pytest.mark.parametrize("page", ["/account/password/", "/account/signing-in/", "/account/providers/"])
def test_pages_of_ones_own_know_that_there_is_no_password_here(at_ldap: AtLdap, bob: User, page: str) -> None:
    at_ldap.person("bob")
    bound(at_ldap, bob)
    client, _ = signs_in("bob")
    assert client.get(page, follow=True).status_code == 200
