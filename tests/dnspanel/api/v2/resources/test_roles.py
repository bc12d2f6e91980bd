"""Tests of custom roles and service accounts in the API, and of tokens that are handed over to service accounts."""

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import OwnRole, Token, User
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from tests.dnspanel.api.callers import MakeApi
from tests.people import NOW

ROLES = "/api/v2/roles"
AUDITOR = {"name": "Auditor", "rights": ["read"], "permissions": ["audit"]}


def test_a_role_is_made_given_changed_and_deleted(api: MakeApi, bob: User) -> None:
    admin, user = api(), f"/api/v2/users/{bob.pk}"
    made = admin.post(ROLES, AUDITOR)
    assert made.status_code == 201
    url, role = made.headers["Location"], made.json()["id"]
    given = admin.patch(user, {"own_role": role}).json()
    assert (given["role"], given["own_role"]) == ("member", role)
    assert admin.patch(user, {"active": True}).json()["own_role"] == role
    assert admin.patch(user, {"role": "editor", "own_role": role}).status_code == 422
    assert admin.patch(url, {"rights": ["read", "add"]}).json()["rights"] == ["add", "read"]
    assert admin.get(url).json()["rights"] == ["add", "read"]
    assert admin.delete(url).status_code == 422
    built_in = admin.patch(user, {"role": "reader"}).json()
    assert (built_in["role"], built_in["own_role"]) == ("reader", None)
    assert admin.delete(url).status_code == 204
    assert (admin.get(url).status_code, OwnRole.objects.count()) == (404, 0)
    assert admin.patch(user, {"own_role": role}).status_code == 404


def test_a_role_that_manages_people_is_refused_where_it_says_so(api: MakeApi) -> None:
    refused = api().post(ROLES, {**AUDITOR, "permissions": ["people"]})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/permissions/0"


def test_a_service_account_gets_tokens_and_what_somebody_leaves(api: MakeApi, bob: User) -> None:
    admin = api()
    account = admin.post("/api/v2/service-accounts", {"username": "terraform", "role": "editor"})
    assert (account.status_code, account.json()["service"], account.json()["email"]) == (201, True, None)
    pk = account.json()["id"]
    assert admin.get(account.headers["Location"]).json()["username"] == "terraform"
    body = {"purpose": "apply", "owner": pk, "scope": [{"rights": ["read"], "everywhere": True}]}
    made = admin.post("/api/v2/tokens", body)
    assert (made.status_code, made.json()["owner"]) == (201, pk)
    assert admin.post("/api/v2/tokens", {**body, "owner": bob.pk}).status_code == 403
    terms = TokenTerms("deploy", (Grant(EVERY_RIGHT, everywhere=True),))
    his = tokens.create_token(owner=bob, terms=terms, by=bob, now=NOW).token
    given = admin.post(f"/api/v2/users/{bob.pk}/hand-over", {"to": pk, "tokens": [his.pk]})
    assert given.json() == {"handed_over": 1}
    assert Token.objects.get(pk=his.pk).owner_id == pk
    assert admin.post(f"/api/v2/users/{bob.pk}/hand-over", {"to": bob.pk}).status_code == 422
