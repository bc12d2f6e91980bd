"""Tests of `/me`: every caller can read its own rights, and strangers nothing.

Tests `schema.permissions` too.
"""

import pytest

from tests.dnspanel.api.callers import STRANGERS, Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

ME = "/api/v2/me"


def test_a_narrow_token_learns_its_scope_its_end_and_its_limits(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    me = api(Caller.ACME).get(ME).json()
    assert me["user"] == "alice"
    assert me["permissions"] == ["edit", "read"]
    assert me["scope"] == [
        {
            "rights": ["add", "change", "read", "remove"],
            "everywhere": False,
            "zones": ["example.test."],
            "zones_hidden": 0,
            "tags": [],
            "teams": [],
            "names": ["_acme-challenge.www.example.test."],
            "types": ["TXT"],
        }
    ]
    assert me["token"]["unused_days"] == 90
    assert me["token"]["expires_at"].endswith("Z")
    assert me["token"]["requests_per_minute"] > 0
    assert me["token"]["prefix"].startswith("dnsp_")


def test_an_administrators_token_may_everything_that_it_was_given(api: MakeApi) -> None:
    me = api(Caller.ADMINISTRATOR).get(ME).json()
    assert me["role"] == "administrator"
    assert len(me["permissions"]) == 9
    assert api(Caller.MONITORING).get(ME).json()["permissions"] == ["fleet", "read"]


@pytest.mark.parametrize("caller", STRANGERS)
def test_strangers_learn_nothing(caller: Caller, api: MakeApi) -> None:
    response = api(caller).get(ME)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["code"] == "unauthenticated"


def test_the_answer_counts_what_the_token_has_left(api: MakeApi) -> None:
    response = api().get(ME)
    assert int(response.headers["RateLimit-Remaining"]) < int(response.headers["RateLimit-Limit"])
