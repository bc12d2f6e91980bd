"""Pages where administrators add sign-in providers. Stored secrets are never displayed."""

from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.models import OwnRole, ProviderLink, Role, SignInProvider, Team, User
from tests.dnspanel.accounts.providers.conftest import idp as idp
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.conftest import running_provider as running_provider
from tests.dnspanel.accounts.providers.oidc.provider import AtProvider, added
from tests.dnspanel.accounts.providers.saml.conftest import running_saml as running_saml
from tests.dnspanel.accounts.providers.saml.conftest import saml_idp as saml_idp
from tests.dnspanel.accounts.providers.saml.provider import AtSaml
from tests.dnspanel.web.conftest import YES, Browser, forget_password
from tests.people import NOW, PASSWORD

NEW = "/people/providers/new/"
SECRET = "never-to-be-seen-again"


def form_of(idp: AtProvider, **changed: Any) -> dict[str, Any]:
    return {
        "name": "Work",
        "slug": "one",
        "issuer": idp.issuer,
        "client_id": "client",
        "secret": SECRET,
        "scopes": "openid email",
        "group_claim": "groups",
        "rules": "admins = administrator\n\nCN=web,OU=all = editor in web OPS\naudit = auditor",
        "mail_domains": "People.test, others.test",
        "session_hours": "8",
        **changed,
    }


def test_a_provider_is_added_and_gets_its_button(idp: AtProvider, browser: Browser, alice: User) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    auditor = OwnRole.objects.create(name="Auditor", created_at=NOW)
    page = browser(alice).post(NEW, form_of(idp), follow=True)
    provider = SignInProvider.objects.get()
    assert provider.rules == [
        {"group": "admins", "role": Role.ADMINISTRATOR, "team": None, "own_role": None},
        {"group": "CN=web,OU=all", "role": Role.EDITOR, "team": team.pk, "own_role": None},
        {"group": "audit", "role": Role.MEMBER, "team": None, "own_role": auditor.pk},
    ]
    assert (provider.mail_domains, provider.session_hours) == (["people.test", "others.test"], 8)
    content = page.content.decode()
    assert "CN=web,OU=all = editor in Web ops" in content
    assert "audit = Auditor" in content
    assert SECRET not in content
    assert "Sign in with Work" in Client().get("/sign-in/").content.decode()
    # An empty secret keeps the stored one.
    browser(alice).post(page.request["PATH_INFO"], form_of(idp, name="Office", secret="", slug="x", issuer="x"))
    before, provider = bytes(provider.client_secret), SignInProvider.objects.get()
    assert (provider.name, provider.slug, bytes(provider.client_secret)) == ("Office", "one", before)


def test_trust_in_a_provider_wants_the_password(idp: AtProvider, browser: Browser, alice: User) -> None:
    client = browser(alice)
    forget_password(client)
    assert b"Trust provider" in client.post(NEW, form_of(idp, rules="")).content
    assert client.post(NEW, form_of(idp, rules="") | YES | {"password": "wrong"}).status_code == 422
    assert not SignInProvider.objects.exists()
    assert client.post(NEW, form_of(idp, rules="") | YES | {"password": PASSWORD}).status_code == 302
    assert SignInProvider.objects.exists()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"rules": "admins"}, "enter group = role"),
        ({"rules": "= reader"}, "enter group = role"),
        ({"rules": "admins = emperor"}, "enter group = role"),
        ({"rules": "web = editor in Nowhere"}, "team not found"),
        ({"issuer": "https://127.0.0.1:1", "rules": ""}, "didn’t respond"),
        ({"secret": "", "rules": ""}, "This field is required"),
        ({"makes_people": "on", "rules": "", "mail_domains": ""}, "Enter email domains or group rules."),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_told_at_its_field(
    idp: AtProvider, browser: Browser, alice: User, changed: dict[str, str], told: str
) -> None:
    page = forget_password(browser(alice)).post(NEW, form_of(idp, **changed))
    assert page.status_code == 422
    assert told in page.content.decode()
    assert SECRET not in page.content.decode()
    assert not SignInProvider.objects.exists()


def test_a_provider_is_switched_off_on_and_deleted(idp: AtProvider, browser: Browser, alice: User, bob: User) -> None:
    provider = added(idp)
    ProviderLink.objects.create(provider=provider, user=bob, subject="b1", linked_at=NOW)
    client, page = browser(alice), f"/people/providers/{provider.pk}/"
    assert b"Disable One" in client.post(f"{page}switch/", {"active": "no"}).content
    client.post(f"{page}switch/", {"active": "no"} | YES)
    assert not SignInProvider.objects.get().active
    client.post(f"{page}switch/", {"active": "yes"} | YES)
    assert SignInProvider.objects.get().active
    assert b"Nobody" not in client.get(page).content.split(b"People</h2>")[1].split(b"</section>")[0]
    assert b"Unlink bob" in client.post(f"/people/links/{ProviderLink.objects.get().pk}/unlink/").content
    client.post(f"/people/links/{ProviderLink.objects.get().pk}/unlink/", YES)
    assert not ProviderLink.objects.exists()
    client.post(f"{page}delete/", YES)
    assert not SignInProvider.objects.exists()


def test_linked_people_come_page_by_page(idp: AtProvider, browser: Browser, alice: User) -> None:
    provider = added(idp)
    people = User.objects.bulk_create(
        User(username=f"p{number:02}", email=f"p{number}@people.test", role=Role.MEMBER) for number in range(51)
    )
    ProviderLink.objects.bulk_create(
        ProviderLink(provider=provider, user=person, subject=person.username, linked_at=NOW) for person in people
    )
    client, page = browser(alice), f"/people/providers/{provider.pk}/"
    first = client.get(page).content.decode()
    assert "p49" in first
    assert "p50" not in first
    last = ProviderLink.objects.get(subject="p49").pk
    assert f"?after={last}" in first
    assert "p50" in client.get(f"{page}?after={last}").content.decode()


def test_a_persons_page_says_that_groups_decide_the_role(
    idp: AtProvider, browser: Browser, alice: User, bob: User
) -> None:
    provider = added(idp)
    ProviderLink.objects.create(provider=provider, user=bob, subject="b1", linked_at=NOW)
    client, page = browser(alice), f"/people/{bob.pk}/"
    assert b"set the role at each sign-in" not in client.get(page).content
    assert b"One</a>" in client.get(page).content
    SignInProvider.objects.update(rules=[{"group": "web", "role": "reader", "team": None}])
    assert b"set the role at each sign-in" in client.get(page).content


def test_who_has_no_password_is_told_the_way(idp: AtProvider, browser: Browser, alice: User) -> None:
    alice.set_unusable_password()
    alice.save()
    client = browser(alice)
    assert client.get("/account/password/")["Location"] == "/account/providers/"
    assert b"Your session has expired" in client.get("/zones/").content
    assert b"again-password" not in client.get("/zones/").content
    forget_password(client)
    page = client.post(NEW, form_of(idp, rules="") | YES | {"password": ""})
    assert b"sign out, sign in again" in page.content
    assert not SignInProvider.objects.exists()


def test_the_last_way_in_is_kept(idp: AtProvider, browser: Browser, bob: User) -> None:
    provider = added(idp)
    ProviderLink.objects.create(provider=provider, user=bob, subject="b1", linked_at=NOW)
    User.objects.filter(pk=bob.pk).update(password="!")
    client = browser(User.objects.get(pk=bob.pk))
    unlink = f"/account/providers/{provider.pk}/unlink/"
    assert b"signed out everywhere" in client.post(unlink).content
    assert b"without this link" in client.post(unlink, YES, follow=True).content
    assert ProviderLink.objects.exists()
    User.objects.filter(pk=bob.pk).update(password=bob.password)
    client = browser(bob)
    assert client.post(unlink, YES)["Location"] == "/sign-in/"
    assert not ProviderLink.objects.exists()
    assert browser(User.objects.get(pk=bob.pk)).post(unlink, YES).status_code == 404


def test_a_saml_provider_is_added_and_changed(saml_idp: AtSaml, browser: Browser, alice: User) -> None:
    xml = saml_idp.metadata
    form = {
        "name": "Work",
        "slug": "work",
        "metadata": xml,
        "mail": "mail",
        "username": "uid",
        "first_name": "givenName",
        "last_name": "sn",
        "group_claim": "eduPersonAffiliation",
        "rules": "admins = administrator",
        "session_hours": "8",
    }
    refused = forget_password(browser(alice)).post(f"{NEW}?kind=saml", form | {"metadata": "<a/>"})
    assert refused.status_code == 422
    assert "EntityDescriptor for a single SAML provider" in refused.content.decode()
    page = browser(alice).post(f"{NEW}?kind=saml", form, follow=True)
    provider = SignInProvider.objects.get()
    assert (provider.kind, provider.attributes["mail"], provider.metadata) == ("saml", "mail", xml)
    content = page.content.decode()
    assert "/sign-in/by/work/acs/" in content
    assert "SAML 2.0" in content
    assert "Sign in with Work" in Client().get("/sign-in/").content.decode()
    browser(alice).post(
        page.request["PATH_INFO"], form | {"metadata": "", "name": "Office", "slug": "x", "mail": "email"}
    )
    changed = SignInProvider.objects.get()
    assert (changed.name, changed.slug, changed.attributes["mail"]) == ("Office", "work", "email")
    assert changed.metadata == provider.metadata
    gone = browser(alice).post(page.request["PATH_INFO"], form | {"mail": ""})
    assert gone.status_code == 422
