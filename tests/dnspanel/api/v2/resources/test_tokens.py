"""Tests of tokens in the API: shown once, never with more rights than the creator, rotated with an overlap.

Tests `etag.once` too.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.models import Token, User
from dnspanel.api.models import RememberedAnswer
from tests.dnspanel.api.callers import Api, Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

TOKENS = "/api/v2/tokens"
READING = {"rights": ["read"], "everywhere": True}


def test_a_token_is_made_works_and_is_revoked(api: MakeApi) -> None:
    admin = api()
    made = admin.post(TOKENS, {"purpose": "watch", "scope": [READING], "permissions": ["fleet"]})
    assert made.status_code == 201
    new = Api(made.json()["secret"])
    assert new.get("/api/v2/me").json()["permissions"] == ["fleet", "read"]
    listed = admin.get(TOKENS).json()["items"][0]
    assert listed["state"] == "alive"
    assert "secret" not in listed
    assert listed["last_address"] == "192.0.2.10"
    assert admin.delete(made.headers["Location"]).status_code == 204
    assert new.get("/api/v2/me").status_code == 401
    assert admin.get(made.headers["Location"]).json()["state"] == "revoked"


def test_a_token_ends_in_90_days_unless_somebody_says_otherwise(api: MakeApi) -> None:
    def end(**more: object) -> object:
        return api().post(TOKENS, {"purpose": "x", "scope": [READING], **more}).json()["expires_at"]

    assert str(end())[:10] == f"{timezone.now() + timedelta(days=90):%Y-%m-%d}"
    assert end(expires_at=None) is None
    assert str(end(expires_at="2030-01-01T00:00:00Z"))[:10] == "2030-01-01"


def test_the_secret_is_nowhere_in_the_database_also_not_for_a_retry(api: MakeApi) -> None:
    key, body = {"Idempotency-Key": "k"}, {"purpose": "x", "scope": [READING]}
    first = api().post(TOKENS, body, headers=key)
    again = api().post(TOKENS, body, headers=key)
    assert again.json() == first.json() | {"secret": None}
    assert Token.objects.filter(purpose="x").count() == 1
    secret = first.json()["secret"].encode()
    assert all(secret not in bytes(row.body) for row in RememberedAnswer.objects.all())


@pytest.mark.parametrize(
    "wider",
    [
        {"scope": [{"rights": ["read"], "everywhere": True}]},
        {"scope": [{"rights": ["delete-zone"], "zones": ["example.test."]}]},
        {"scope": [{"rights": ["read"], "zones": ["example.test."]}], "permissions": ["fleet"]},
        {"scope": [{"rights": ["read"], "zones": ["example.test."]}], "expires_at": None},
        {"scope": [{"rights": ["read"], "zones": ["other.test."]}]},
    ],
    ids=str,
)
def test_a_token_only_makes_narrower_ones(wider: dict[str, object], api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    make_zone("www 300 A 192.0.2.1", name="other.test.")
    ci = api(Caller.CI)
    assert ci.post(TOKENS, {"purpose": "wider", **wider}).status_code == 422
    narrower = {"rights": ["read", "change"], "zones": ["example.test."], "names": ["www"]}
    assert ci.post(TOKENS, {"purpose": "narrower", "scope": [narrower]}).status_code == 201


def test_a_token_of_a_network_makes_tokens_of_that_network(api: MakeApi) -> None:
    body = {"purpose": "home", "scope": [READING], "networks": ["192.0.2.0/24"]}
    home = Api(api().post(TOKENS, body).json()["secret"])
    assert home.post(TOKENS, {"purpose": "x", "scope": [READING]}).json()["networks"] == ["192.0.2.0/24"]
    for networks in (["203.0.113.0/24"], ["192.0.2.0/24", "2001:db8::/32"]):
        refused = home.post(TOKENS, {"purpose": "x", "scope": [READING], "networks": networks})
        assert refused.json()["errors"][0]["pointer"] == "/networks"


def test_rotation_hands_over_with_overlap(api: MakeApi) -> None:
    old = api().post(TOKENS, {"purpose": "ci", "scope": [READING]})
    before = Api(old.json()["secret"])
    new = before.post(f"{old.headers['Location']}/rotate", {"overlap_seconds": 3600})
    assert new.status_code == 201
    assert new.json()["scope"] == old.json()["scope"]
    assert Api(new.json()["secret"]).get("/api/v2/me").status_code == 200
    assert before.get("/api/v2/me").status_code == 200
    assert before.get(old.headers["Location"]).json()["rotated_to"] == new.json()["id"]
    assert before.post(f"{old.headers['Location']}/rotate").status_code == 409


def test_nobody_rotates_anothers_token_into_their_own_hands(api: MakeApi, bob: User) -> None:
    api(Caller.EDITOR)
    theirs = Token.objects.get(owner=bob)
    assert api().post(f"{TOKENS}/{theirs.pk}/rotate").status_code == 403
    assert api().delete(f"{TOKENS}/{theirs.pk}").status_code == 204, "but an administrator may revoke it"


def test_a_narrow_token_knows_of_no_other(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    api(), api(Caller.MONITORING)
    acme = api(Caller.ACME)
    assert [token["purpose"] for token in acme.get(TOKENS).json()["items"]] == ["ACME for www.example.test"]
