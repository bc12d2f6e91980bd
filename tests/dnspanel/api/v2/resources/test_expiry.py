"""Tests of the expiry of an RRset in the API: read, set and cancel."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.models import Publication, RRset, Zone
from dnspanel.zones.publishing.expiry import remove_due
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "/zones/example.test./rrsets/www/A/expiry"
NONE = {"remove_at": None, "set_at": None, "set_by": None, "refusal": None}


def test_a_time_is_set_read_and_cancelled(call: Caller, zone: Zone) -> None:
    assert call.get(WWW) == NONE
    at = timezone.now().replace(microsecond=0) + timedelta(days=1)
    answer = call("PUT", WWW, {"remove_at": at.isoformat()})
    assert answer.status_code == 200
    found = call.get(WWW)
    assert found == json.loads(answer.content)
    assert found["remove_at"] == f"{at:%Y-%m-%dT%H:%M:%S.000000Z}"
    assert found["refusal"] is None
    call.problem(412, "DELETE", WWW, if_match='"other"')
    assert call("GET", WWW, if_none_match=answer["ETag"]).status_code == 304
    assert remove_due(now=at - timedelta(seconds=1)) == 0
    for _ in range(2):
        assert call("DELETE", WWW).status_code == 204
    assert call.get(WWW) == NONE
    assert remove_due(now=at) == 0


def test_what_a_token_set_is_removed_by_it(call: Caller, zone: Zone) -> None:
    at = timezone.now() + timedelta(days=1)
    call("PUT", WWW, {"remove_at": at.isoformat()})
    assert remove_due(now=at) == 1
    assert not RRset.objects.filter(zone=zone, name="www.example.test.", type=1).exists()
    assert Publication.objects.latest("pk").token is not None
    call.problem(404, "GET", WWW)


@pytest.mark.parametrize("typed", ["2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "tomorrow", "2027-01-01T00:00:00"])
def test_what_is_no_time_from_now_on_is_refused_at_its_place(typed: str, call: Caller, zone: Zone) -> None:
    problem = call.problem(422, "PUT", WWW, {"remove_at": typed})
    assert problem["errors"][0]["pointer"] == "/remove_at"
    call.problem(404, "PUT", "/zones/example.test./rrsets/none/A/expiry", {"remove_at": typed})


def test_it_needs_the_right_to_remove_that_rrset(make_caller: MakeCaller, zone: Zone) -> None:
    may_change = make_caller(Grant(frozenset({Right.READ, Right.CHANGE}), everywhere=True))
    at = (timezone.now() + timedelta(days=1)).isoformat()
    may_change.problem(403, "PUT", WWW, {"remove_at": at})
    may_change.problem(403, "DELETE", WWW)
    assert may_change.get(WWW) == NONE
