"""Tests of TSIG keys in the API: shown once, with unique names that are free again after revocation."""

from dnspanel.api.models import RememberedAnswer
from tests.dnspanel.api.callers import MakeApi

KEYS = "/api/v2/tsig-keys"
BODY = {"name": "Update.KEY", "purpose": "router", "scope": [{"rights": ["read", "change"], "everywhere": True}]}


def test_a_key_is_made_with_a_secret_of_its_own_and_revoked(api: MakeApi) -> None:
    made = api().post(KEYS, BODY)
    assert made.status_code == 201
    assert made.json()["name"] == "update.key."
    assert len(made.json()["key"]) == 44
    url = made.headers["Location"]
    assert "key" not in api().get(url).json()
    assert api().post(KEYS, BODY).json()["code"] == "name-taken"
    assert api().delete(url).status_code == 204
    assert api().post(KEYS, BODY).status_code == 201


def test_a_key_can_be_brought_along(api: MakeApi) -> None:
    made = api().post(KEYS, BODY | {"key": "c2l4dGVlbiBieXRlcyBub3c=", "algorithm": "hmac-sha512"}).json()
    assert (made["key"], made["algorithm"]) == ("c2l4dGVlbiBieXRlcyBub3c=", "hmac-sha512")


def test_what_is_no_key_is_refused_where_it_stands(api: MakeApi) -> None:
    for wrong, pointer in (({"name": "a..b"}, "/name"), ({"algorithm": "md4"}, "/algorithm"), ({"key": "%"}, "/key")):
        assert api().post(KEYS, BODY | wrong).json()["errors"][0]["pointer"] == pointer


def test_a_retry_does_not_bring_the_key_back(api: MakeApi) -> None:
    key = {"Idempotency-Key": "k"}
    first, again = (api().post(KEYS, BODY, headers=key).json() for _ in range(2))
    assert again == first | {"key": None}
    assert all(first["key"].encode() not in bytes(row.body) for row in RememberedAnswer.objects.all())
