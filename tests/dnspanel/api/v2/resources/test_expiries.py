"""Tests of the list of RRsets with an expiry, over all zones."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.models import Expiry, Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller
from tests.dnspanel.zones.conftest import MakeZone

pytestmark = pytest.mark.django_db(transaction=True)


def expire(call: Caller, path: str, days: int) -> None:
    at = timezone.now() + timedelta(days=days)
    assert call("PUT", f"/zones/{path}/expiry", {"remove_at": at.isoformat()}).status_code == 200


def names(call: Caller, query: str = "") -> list[str]:
    return [f"{item['name']} {item['type']}" for item in call.get(f"/expiries{query}")["items"]]


def test_they_come_by_time_of_all_zones_page_by_page(
    call: Caller, zone: Zone, make_zone: MakeZone, make_caller: MakeCaller
) -> None:
    make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.1", name="other.test.")
    assert names(call) == []
    expire(call, "other.test./rrsets/b/A", 9)
    expire(call, "example.test./rrsets/www/A", 2)
    expire(call, "other.test./rrsets/a/A", 1)
    everything = ["a.other.test. A", "www.example.test. A", "b.other.test. A"]
    assert names(call) == everything
    assert [f"{item['name']} {item['type']}" for item in call.all("/expiries?limit=1")] == everything
    soon = (timezone.now() + timedelta(days=3)).isoformat().replace("+", "%2B")
    assert names(call, f"?before={soon}") == everything[:2]
    assert call.problem(422, "GET", "/expiries?before=soon")["errors"][0]["parameter"] == "before"
    call.problem(422, "GET", "/expiries?until=x")
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}), names=("mail",)))
    assert names(narrow) == []
    reader = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})))
    assert names(reader) == ["www.example.test. A"]


def test_those_of_one_moment_are_neither_repeated_nor_left_out(call: Caller, make_zone: MakeZone) -> None:
    make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(5)), name="other.test.")
    for number in range(5):
        expire(call, f"other.test./rrsets/h{number}/A", 1)
    Expiry.objects.update(remove_at=timezone.now() + timedelta(days=1))
    found = [item["name"] for item in call.all("/expiries?limit=2")]
    assert sorted(found) == [f"h{number}.other.test." for number in range(5)]
