"""Tests of grants in the API: a new or revoked grant takes effect at once.

Tests `schema.scopes` too.
"""

from dnspanel.accounts.models import User
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

GRANTS = "/api/v2/grants"


def test_a_grant_opens_a_zone_and_taking_it_back_closes_it(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    admin, member = api(), api(Caller.OTHER_TEAM)
    assert member.get("/api/v2/zones/example.test").status_code == 404
    mallory = User.objects.get(username="mallory")
    body = {"rights": ["read"], "zones": ["Example.TEST"], "user": mallory.pk}
    given = admin.post(GRANTS, body)
    assert given.status_code == 201
    assert given.json()["zones"] == ["example.test."]
    assert given.json()["created_by"]["user"] == "alice"
    assert member.get("/api/v2/zones/example.test").status_code == 200
    assert [grant["id"] for grant in admin.get(GRANTS, user=mallory.pk).json()["items"]] == [given.json()["id"]]
    assert admin.delete(given.headers["Location"]).status_code == 204
    assert member.get("/api/v2/zones/example.test").status_code == 404


def test_a_grant_that_cannot_be_meant_is_refused_where_it_stands(api: MakeApi, bob: User) -> None:
    admin = api()

    def pointers(**body: object) -> list[str]:
        refused = admin.post(GRANTS, {"rights": ["read"], "everywhere": True, "user": bob.pk} | body)
        assert refused.status_code == 422
        return [error["pointer"] for error in refused.json()["errors"]]

    assert pointers(rights=[]) == ["/rights"]
    assert pointers(rights=["rule"]) == ["/rights/0"]
    assert pointers(zones=["nothing.test."]) == ["/zones/0"]
    assert pointers(zones=["a..b"]) == ["/zones/0"]
    assert pointers(types=["RRSIG"]) == ["/types/0"]
    assert pointers(names=["a b"]) == ["/names"]
    assert pointers(team=1) == ["/user"]
    assert pointers(everywhere="yes") == ["/everywhere"]
    assert pointers(everywhere=False) == ["/zones"]


def test_a_grant_to_nobody_that_there_is_answers_404(api: MakeApi) -> None:
    body = {"rights": ["read"], "everywhere": True}
    assert api().post(GRANTS, body | {"user": 2**31 - 1}).status_code == 404
    assert api().post(GRANTS, body | {"team": 2**31 - 1}).status_code == 404
