"""Pages where administrators add LDAP servers and test user names, and where users link their accounts.

Tests `access.provider_forms` and `ldap.trial` too.
"""

from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.models import AuditEntry, Role, SignInProvider, Team, User
from dnspanel.accounts.providers.ldap.trial import MOST_LISTED
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.ldap.conftest import at_ldap as at_ldap
from tests.dnspanel.accounts.providers.ldap.conftest import running_slapd as running_slapd
from tests.dnspanel.accounts.providers.ldap.server import (
    GROUPS,
    PASSWORD,
    PEOPLE,
    READER,
    SECRET,
    AtLdap,
    is_signed_in,
    ldap_added,
    signs_in,
)
from tests.dnspanel.web.conftest import YES, Browser, forget_password
from tests.people import NOW
from tests.people import PASSWORD as HERE

NEW = "/people/providers/new/?kind=ldap"


def form_of(server: AtLdap, **changed: Any) -> dict[str, Any]:
    return {
        "name": "Work",
        "slug": "work",
        "uri": server.uri,
        "certificates": server.certificate,
        "bind_dn": READER,
        "secret": SECRET,
        "base": PEOPLE,
        "person_filter": "(objectClass=person)",
        "login": "uid, mail",
        "subject": "entryUUID",
        "username": "uid",
        "mail": "mail",
        "groups": "search",
        "group_claim": "member",
        "group_base": GROUPS,
        "group_filter": "(objectClass=groupOfNames)",
        "rules": "dns-admins = administrator",
        "session_hours": "8",
        **changed,
    }


def test_a_server_is_added_and_changed_and_its_secret_is_not_to_be_seen(
    at_ldap: AtLdap, browser: Browser, alice: User
) -> None:
    client = browser(alice)
    page = client.post(NEW, form_of(at_ldap), follow=True)
    provider = SignInProvider.objects.get()
    assert page.request["PATH_INFO"] == f"/people/providers/{provider.pk}/"
    content = page.content.decode()
    assert SECRET not in content
    assert "BEGIN CERTIFICATE" in content
    assert "Test provider" in content
    # LDAP uses the normal sign-in form, without a separate button.
    assert "Sign in with Work" not in Client().get("/sign-in/").content.decode()
    client.post(page.request["PATH_INFO"], form_of(at_ldap, name="Office", secret="", slug="x", subject="uid"))
    before, provider = bytes(provider.client_secret), SignInProvider.objects.get()
    assert (provider.name, provider.slug, provider.attributes["subject"]) == ("Office", "work", "entryUUID")
    assert bytes(provider.client_secret) == before


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"uri": "ldaps://127.0.0.1:1"}, "didn’t respond"),
        ({"uri": "ldapi:///"}, "ldaps://host"),
        ({"certificates": ""}, "127.0.0.1’s certificate isn’t valid"),
        ({"secret": "wrong"}, "rejected the panel"),
        ({"base": "ou=nowhere,dc=work,dc=test"}, "The search base doesn’t exist"),
        ({"person_filter": "(((uid=*)"}, "Enter a filter in parentheses"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_told_at_its_field(
    at_ldap: AtLdap, browser: Browser, alice: User, changed: dict[str, str], told: str
) -> None:
    page = browser(alice).post(NEW, form_of(at_ldap, **changed))
    assert page.status_code == 422
    assert told in page.content.decode()
    assert SECRET not in page.content.decode()
    assert not SignInProvider.objects.exists()


def test_trying_a_name_shows_what_the_rules_would_give_and_changes_nothing(
    at_ldap: AtLdap, browser: Browser, alice: User
) -> None:
    eve = at_ldap.person("eve", userAccountControl="514")
    at_ldap.group("dns-admins", eve)
    for number in range(MOST_LISTED // 2 + 1):
        at_ldap.group(f"g{number}", eve)
    team = Team.objects.create(name="Web ops", created_at=NOW)
    provider = ldap_added(at_ldap, makes_people=True, mail_domains=("work.test",))
    rules = [
        {"group": "dns-admins", "role": Role.ADMINISTRATOR, "team": None, "own_role": None},
        {"group": f"cn=dns-admins,{GROUPS}", "role": Role.EDITOR, "team": team.pk, "own_role": None},
    ]
    SignInProvider.objects.update(rules=rules)
    client, url = browser(alice), f"/people/providers/{provider.pk}/try/"
    before = AuditEntry.objects.count()
    content = client.post(url, {"login": "eve"}).content.decode()
    for part in (
        "Administrator",
        "editor in Web ops",
        "eve@work.test",
        "disabled at the provider",
        eve,
        "none yet",
        "more groups.",
    ):
        assert part in content, part
    assert "No person found" in client.post(url, {"login": "e*"}).content.decode()
    at_ldap.person("other", mail="eve@work.test")
    assert "Several people on" in client.post(url, {"login": "eve@work.test"}).content.decode()
    SignInProvider.objects.update(issuer="ldaps://127.0.0.1:1")
    assert "didn’t respond" in client.post(url, {"login": "eve"}).content.decode()
    assert (User.objects.count(), AuditEntry.objects.count()) == (1, before)


def test_a_person_takes_the_password_of_the_server(at_ldap: AtLdap, browser: Browser, alice: User, bob: User) -> None:
    at_ldap.person("robert")
    provider = ldap_added(at_ldap)
    client = browser(bob)
    assert "From then on, you’ll always sign in with it." in client.get("/account/providers/").content.decode()
    page = client.post(f"/account/providers/{provider.pk}/link/")
    assert page["Location"] == f"/account/providers/{provider.pk}/password/"
    forget_password(client)
    assert client.post(page["Location"], {"typed": "robert", "password": PASSWORD})["Location"] == page["Location"]
    assert b"Link your account" in client.get(page["Location"]).content
    binds = at_ldap.log.count(" method=128")
    form = client.post(page["Location"], {"typed": "robert", "password": HERE} | YES)
    assert b"LDAP password" in form.content
    assert at_ldap.log.count(" method=128") == binds  # a local password is not sent to the LDAP server
    wrong = client.post(page["Location"], {"typed": "robert", "password": "wrong"})
    assert b"Incorrect name or password." in wrong.content
    assert client.post(page["Location"], {"typed": "robert", "password": PASSWORD})["Location"] == "/sign-in/"
    assert not is_signed_in(client)
    assert is_signed_in(signs_in("bob")[0])
    assert AuditEntry.objects.filter(action="ldap.link", user=bob, target="bob").exists()
    # An administrator cannot create a link that would set a second password.
    answer = browser(alice).post(f"/people/{bob.pk}/password/", follow=True)
    assert "uses a password from an LDAP server" in answer.content.decode()
