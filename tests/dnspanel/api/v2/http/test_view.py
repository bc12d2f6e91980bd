"""Tests of the code that all views of API v2 share.

Tests `http.answers` too.
"""

import json

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.api.v2.conftest import Caller, content

pytestmark = pytest.mark.django_db(transaction=True)


def test_answers_are_for_one_token_and_never_kept_by_others(call: Caller, zone: Zone) -> None:
    answer = call("GET", "/zones")
    assert answer["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "X-API-Key", "Accept"} <= {name.strip() for name in answer["Vary"].split(",")}


def test_a_head_is_a_get_without_a_body(call: Caller, zone: Zone) -> None:
    answer = call("HEAD", "/zones/example.test.")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["ETag"] == call("GET", "/zones/example.test.")["ETag"]


def test_a_session_opens_nothing_here(alice: User, zone: Zone, client: object) -> None:
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")  # type: ignore[attr-defined]
    assert client.get("/api/v2/zones").status_code == 401  # type: ignore[attr-defined]


def test_a_condition_that_cannot_be_honoured_is_not_ignored(call: Caller, zone: Zone) -> None:
    body = {"zones": [{"zone": "example.test.", "changes": []}]}
    problem = call.problem(400, "POST", "/bulk", body, if_match='"1-0000000000000000"')
    assert problem["errors"][0]["header"] == "If-Match"


def test_an_answer_that_cannot_be_stored_is_still_given(
    call: Caller, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    def broken(**kwargs: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("dnspanel.api.v2.http.idempotency.remember", broken)
    answer = call("PUT", "/zones/example.test./rrsets/www/A", content("192.0.2.7"), idempotency_key="k")
    assert answer.status_code == 202
    assert json.loads(answer.content)["publication"]["sequence"] == Publication.objects.latest("sequence").sequence
