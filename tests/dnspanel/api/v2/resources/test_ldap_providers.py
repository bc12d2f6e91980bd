"""Tests of LDAP servers in API v2: checked before they are added, and protected from tokens with fewer rights."""

from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import AuditEntry, SignInProvider, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.ldap.conftest import at_ldap as at_ldap
from tests.dnspanel.accounts.providers.ldap.conftest import running_slapd as running_slapd
from tests.dnspanel.accounts.providers.ldap.server import PEOPLE, READER, SECRET, AtLdap, is_signed_in, signs_in
from tests.dnspanel.api.callers import Api, MakeApi

PROVIDERS = "/api/v2/sign-in-providers"


def new(server: AtLdap, **changed: Any) -> dict[str, Any]:
    return {
        "kind": "ldap",
        "name": "Work",
        "slug": "work",
        "uri": server.uri,
        "certificates": server.certificate,
        "bind_dn": READER,
        "secret": SECRET,
        "attributes": {"base": PEOPLE},
        **changed,
    }


def test_a_server_is_added_changed_switched_off_and_deleted(api: MakeApi, at_ldap: AtLdap) -> None:
    admin = api()
    at_ldap.person("eve")
    rules = [{"group": "all", "role": "reader"}]
    made = admin.post(PROVIDERS, new(at_ldap, rules=rules, trusts_mail=True))
    assert made.status_code == 201, made.json()
    assert SECRET not in made.content.decode()
    url = made.headers["Location"]
    assert (made.json()["uri"], made.json()["attributes"]["subject"]) == (at_ldap.uri, "entryUUID")
    first = {"makes_people": True, "rules": [], "mail_domains": ["work.test"], "attributes": {"login": "uid"}}
    changed = admin.patch(url, first, headers={"If-Match": made.headers["ETag"]})
    assert changed.status_code == 200, changed.json()
    assert (changed.json()["attributes"]["login"], changed.json()["attributes"]["base"]) == ("uid", PEOPLE)
    assert is_signed_in(signs_in("eve")[0])
    moved = admin.patch(url, {"uri": f"ldap://127.0.0.1:{at_ldap.port}"})
    assert [error["pointer"] for error in moved.json()["errors"]] == ["/secret"]
    assert admin.patch(url, {"active": False}).json()["active"] is False
    assert [each["id"] for each in admin.get(PROVIDERS).json()["items"]] == [made.json()["id"]]
    assert [each["id"] for each in admin.get(f"{PROVIDERS}?kind=ldap").json()["items"]] == [made.json()["id"]]
    assert admin.get(f"{PROVIDERS}?kind=saml").json()["items"] == []
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"uri": "ldaps://127.0.0.1:1"}, "/uri"),
        ({"uri": "http://127.0.0.1:1"}, "/uri"),
        ({"secret": "wrong"}, "/uri"),
        ({"attributes": {"base": "work.test"}}, "/attributes/base"),
        ({"makes_people": True}, "/makes_people"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_server_is_refused_where_it_stands(
    api: MakeApi, at_ldap: AtLdap, changed: dict[str, Any], pointer: str
) -> None:
    answer = api().post(PROVIDERS, new(at_ldap, **changed))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_token_that_manages_people_alone_gets_nobody_in(api: MakeApi, at_ldap: AtLdap, alice: User) -> None:
    api().post(PROVIDERS, new(at_ldap))
    provider = SignInProvider.objects.get()
    terms = TokenTerms("people", (), permissions=frozenset({Permission.PEOPLE}))
    lesser = Api(create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret)
    assert lesser.get(f"{PROVIDERS}/{provider.pk}").status_code == 200
    tries = [
        lesser.post(PROVIDERS, new(at_ldap, slug="mine")),
        lesser.patch(f"{PROVIDERS}/{provider.pk}", {"links_by_mail": True}),
        lesser.patch(f"{PROVIDERS}/{provider.pk}", {"active": False}),
        lesser.delete(f"{PROVIDERS}/{provider.pk}"),
    ]
    assert [each.status_code for each in tries] == [403] * 4
    assert SignInProvider.objects.get() == provider
    assert not AuditEntry.objects.filter(action__in=("ldap.change", "ldap.delete")).exists()
