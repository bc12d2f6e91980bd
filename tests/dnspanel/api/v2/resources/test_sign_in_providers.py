"""Tests of sign-in providers in the API: secrets can't be read, and tokens with fewer rights change nothing.

Tests `schema.provider_serializers` and `providers.kinds` too.
"""

from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import AuditEntry, SignInProvider, Team, User
from dnspanel.accounts.providers.oidc.oidc_providers import secret_of
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.accounts.providers.conftest import idp as idp
from tests.dnspanel.accounts.providers.conftest import reachable as reachable
from tests.dnspanel.accounts.providers.conftest import running_provider as running_provider
from tests.dnspanel.accounts.providers.oidc.provider import AtProvider
from tests.dnspanel.api.callers import Api, MakeApi
from tests.people import NOW

PROVIDERS = "/api/v2/sign-in-providers"
SECRET = "never-to-be-seen-again"


def new(idp: AtProvider, **changed: Any) -> dict[str, Any]:
    return {
        "kind": "oidc",
        "name": "Work",
        "slug": "one",
        "issuer": idp.issuer,
        "client_id": "c",
        "client_secret": SECRET,
        **changed,
    }


def test_a_provider_is_made_changed_switched_off_and_deleted(api: MakeApi, idp: AtProvider) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    admin = api()
    rules = [{"group": "web", "role": "editor", "team": team.pk}, {"group": "all", "role": "reader"}]
    made = admin.post(PROVIDERS, new(idp, rules=rules, makes_people=True))
    assert made.status_code == 201, made.json()
    url = made.headers["Location"]
    assert made.json()["redirect_uri"].endswith("/sign-in/by/one/answer/")
    assert made.json()["rules"][1] == {"group": "all", "role": "reader", "team": None, "own_role": None}
    changed = admin.patch(url, {"name": "Office", "active": False}, headers={"If-Match": made.headers["ETag"]})
    assert (changed.json()["name"], changed.json()["active"], changed.json()["makes_people"]) == ("Office", False, True)
    assert admin.patch(url, {"name": "Late"}, headers={"If-Match": made.headers["ETag"]}).status_code == 412
    assert secret_of(SignInProvider.objects.get()) == SECRET
    admin.patch(url, {"client_secret": "another"})
    assert secret_of(SignInProvider.objects.get()) == "another"
    answers = [made.json(), changed.json(), admin.get(url).json(), admin.get(PROVIDERS).json()]
    assert SECRET not in str(answers)
    assert "client_secret" not in str(answers)
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"issuer": "https://127.0.0.1:1"}, "/issuer"),
        ({"slug": "Not One"}, "/slug"),
        ({"rules": [{"group": "web", "role": "editor", "team": 999_999}]}, "/rules"),
        ({"makes_people": True}, "/makes_people"),
        ({"session_hours": 0}, "/session_hours"),
        ({"client_secret": "\n"}, "/client_secret"),
        ({"uri": "ldaps://127.0.0.1"}, "/uri"),
        ({"kind": "radius"}, "/kind"),
        ({"kind": None}, "/kind"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_provider_is_refused_where_it_stands(
    api: MakeApi, idp: AtProvider, changed: dict[str, Any], pointer: str
) -> None:
    answer = api().post(PROVIDERS, new(idp, **changed))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({"kind": "saml"}, ["/kind"]),
        ({"kind": "oidc", "slug": "two"}, ["/slug"]),
        ({"slug": 1, "issuer": "https://127.0.0.1:2", "name": "Office"}, ["/slug", "/issuer"]),
    ],
    ids=str,
)
def test_the_kind_slug_and_issuer_stay(
    api: MakeApi, idp: AtProvider, change: dict[str, Any], pointers: list[str]
) -> None:
    admin, body = api(), new(idp)
    url = admin.post(PROVIDERS, body).headers["Location"]
    answer = admin.patch(url, change)
    assert answer.status_code == 422
    assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [
        (pointer, "invalid") for pointer in pointers
    ]
    assert SignInProvider.objects.get().name == "Work"
    same = admin.patch(url, {name: body[name] for name in ("kind", "slug", "issuer")} | {"name": "Office"})
    assert (same.status_code, same.json()["kind"], same.json()["name"]) == (200, "oidc", "Office")


def test_a_body_without_a_kind_gets_one_error(api: MakeApi, idp: AtProvider) -> None:
    body = new(idp)
    del body["kind"]
    answer = api().post(PROVIDERS, body)
    assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [("/kind", "required")]


def test_a_token_that_manages_people_alone_gets_nobody_in(api: MakeApi, idp: AtProvider, alice: User) -> None:
    api().post(PROVIDERS, new(idp))
    provider = SignInProvider.objects.get()
    terms = TokenTerms("people", (), permissions=frozenset({Permission.PEOPLE}))
    secret = create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    lesser = Api(secret)
    assert lesser.get(f"{PROVIDERS}/{provider.pk}").status_code == 200
    tries = [
        lesser.post(PROVIDERS, new(idp, slug="mine")),
        lesser.patch(f"{PROVIDERS}/{provider.pk}", {"links_by_mail": True}),
        lesser.patch(f"{PROVIDERS}/{provider.pk}", {"active": False}),
        lesser.delete(f"{PROVIDERS}/{provider.pk}"),
    ]
    assert [(each.status_code, each.json()["code"]) for each in tries] == [(403, "forbidden")] * 4
    assert SignInProvider.objects.get() == provider
    assert not AuditEntry.objects.filter(action__in=("oidc.change", "oidc.delete")).exists()
