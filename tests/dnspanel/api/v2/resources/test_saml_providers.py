"""Tests of SAML providers in API v2: created from metadata, and protected from tokens with fewer rights."""

from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import AuditEntry, SignInProvider, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.saml.conftest import running_saml as running_saml
from tests.dnspanel.accounts.providers.saml.conftest import saml_idp as saml_idp
from tests.dnspanel.accounts.providers.saml.provider import AtSaml
from tests.dnspanel.api.callers import Api, MakeApi

PROVIDERS = "/api/v2/sign-in-providers"


def new(idp: AtSaml, **changed: Any) -> dict[str, Any]:
    return {"kind": "saml", "name": "Work", "slug": "work", "metadata_url": f"{idp.root}/metadata", **changed}


def test_a_provider_is_made_changed_switched_off_and_deleted(api: MakeApi, saml_idp: AtSaml) -> None:
    admin = api()
    rules = [{"group": "all", "role": "reader"}]
    made = admin.post(PROVIDERS, new(saml_idp, rules=rules, makes_people=True, attributes={"mail": "mail"}))
    assert made.status_code == 201, made.json()
    url = made.headers["Location"]
    assert made.json()["acs_url"].endswith("/sign-in/by/work/acs/")
    assert made.json()["client_id"] == made.json()["own_metadata_url"]
    assert made.json()["issuer"] == f"{saml_idp.root}/metadata"
    assert (made.json()["attributes"]["mail"], made.json()["attributes"]["subject"]) == ("mail", "")
    changed = admin.patch(url, {"name": "Office", "active": False}, headers={"If-Match": made.headers["ETag"]})
    assert (changed.json()["name"], changed.json()["active"], changed.json()["makes_people"]) == ("Office", False, True)
    assert admin.patch(url, {"name": "Late"}, headers={"If-Match": made.headers["ETag"]}).status_code == 412
    pasted = admin.patch(url, {"metadata_url": "", "metadata": saml_idp.metadata})
    assert pasted.status_code == 200, pasted.json()
    assert "metadata" not in pasted.json()
    assert [each["id"] for each in admin.get(PROVIDERS).json()["items"]] == [made.json()["id"]]
    assert [each["id"] for each in admin.get(f"{PROVIDERS}?kind=saml").json()["items"]] == [made.json()["id"]]
    assert admin.get(f"{PROVIDERS}?kind=oidc").json()["items"] == []
    # Attributes that the body omits stay, as in every merge patch.
    merged = admin.patch(url, {"attributes": {"username": "uid"}}).json()["attributes"]
    assert (merged["mail"], merged["username"]) == ("mail", "uid")
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"metadata_url": "https://127.0.0.1:1/"}, "/metadata_url"),
        ({"metadata_url": "", "metadata": "<a/>"}, "/metadata"),
        ({"slug": "Not One"}, "/slug"),
        ({"client_id": "not a uri"}, "/client_id"),
        ({"attributes": {"mail": "\n"}}, "/attributes/mail"),
        ({"makes_people": True}, "/makes_people"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_provider_is_refused_where_it_stands(
    api: MakeApi, saml_idp: AtSaml, changed: dict[str, Any], pointer: str
) -> None:
    answer = api().post(PROVIDERS, new(saml_idp, **changed))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_token_that_manages_people_alone_gets_nobody_in(api: MakeApi, saml_idp: AtSaml, alice: User) -> None:
    api().post(PROVIDERS, new(saml_idp))
    provider = SignInProvider.objects.get()
    terms = TokenTerms("people", (), permissions=frozenset({Permission.PEOPLE}))
    lesser = Api(create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret)
    assert lesser.get(f"{PROVIDERS}/{provider.pk}").status_code == 200
    tries = [
        lesser.post(PROVIDERS, new(saml_idp, slug="mine")),
        lesser.patch(f"{PROVIDERS}/{provider.pk}", {"links_by_mail": True}),
        lesser.patch(f"{PROVIDERS}/{provider.pk}", {"active": False}),
        lesser.delete(f"{PROVIDERS}/{provider.pk}"),
    ]
    assert [each.status_code for each in tries] == [403] * 4
    assert SignInProvider.objects.get() == provider
    assert not AuditEntry.objects.filter(action__in=("saml.change", "saml.delete")).exists()
