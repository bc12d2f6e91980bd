"""Tests of SCIM directories in API v2: a secret that is shown once, and protection from tokens with fewer rights."""

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import AuditEntry, ScimDirectory, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.api.callers import Api, MakeApi
from tests.people import NOW

DIRECTORIES = "/api/v2/scim-directories"


def test_a_directory_is_added_changed_given_a_new_secret_and_ended(api: MakeApi) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    admin = api()
    rules = [{"group": "web", "role": "editor", "team": team.pk}, {"group": "all", "role": "reader"}]
    made = admin.post(DIRECTORIES, {"name": "Okta", "rules": rules})
    assert made.status_code == 201, made.json()
    url, first = made.headers["Location"], made.json()["secret"]
    assert (made.json()["account"], made.json()["url"][-8:]) == ("scim-okta", "/scim/v2")
    assert Api(first).get("/scim/v2/Users").status_code == 200
    assert Api(first).get(DIRECTORIES).status_code == 401, "it opens SCIM alone"
    read = admin.get(url)
    assert "secret" not in read.json()
    assert read.json()["rules"][1] == {"group": "all", "role": "reader", "team": None, "own_role": None}
    changed = admin.patch(url, {"team_role": "editor"}, headers={"If-Match": read.headers["ETag"]})
    assert (changed.json()["team_role"], len(changed.json()["rules"]), changed.json()["name"]) == ("editor", 2, "Okta")
    assert admin.patch(url, {"name": "Late"}, headers={"If-Match": read.headers["ETag"]}).status_code == 412
    second = admin.post(f"{url}/rotate").json()["secret"]
    assert [Api(each).get("/scim/v2/Users").status_code for each in (first, second)] == [401, 200]
    assert [each["name"] for each in admin.get(DIRECTORIES).json()["items"]] == ["Okta"]
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404
    assert Api(second).get("/scim/v2/Users").status_code == 401


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "x", "team_role": "administrator"}, "/team_role"),
        ({"name": "x", "rules": [{"group": "web", "role": "editor", "team": 999_999}]}, "/rules"),
    ],
    ids=["name", "role in teams", "team"],
)
def test_what_is_no_directory_is_refused_where_it_stands(api: MakeApi, body: dict[str, object], pointer: str) -> None:
    answer = api().post(DIRECTORIES, body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_token_that_manages_people_alone_lets_nobody_in(api: MakeApi, alice: User) -> None:
    api().post(DIRECTORIES, {"name": "Okta"})
    directory = ScimDirectory.objects.get()
    terms = TokenTerms("people", (), permissions=frozenset({Permission.PEOPLE}))
    lesser = Api(create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret)
    path = f"{DIRECTORIES}/{directory.pk}"
    assert lesser.get(path).status_code == 200
    tries = [
        lesser.post(DIRECTORIES, {"name": "Mine"}),
        lesser.patch(path, {"takes_over": True}),
        lesser.post(f"{path}/rotate"),
        lesser.delete(path),
    ]
    assert [(each.status_code, each.json()["code"]) for each in tries] == [(403, "forbidden")] * 4
    assert ScimDirectory.objects.get() == directory
    assert not AuditEntry.objects.filter(action__in=("scim.change", "scim.delete")).exists()
