"""Tests of the search over all zones: results, pages, and a narrow token's view."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.complaints import complaints_upkeep
from dnspanel.zones.models import Zone
from dnspanel.zones.search import zones_by_name
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.9", "a 300 A 192.0.2.9", name="other.test.")


def found(call: Caller, query: str) -> list[str]:
    return [item["rrset"]["name"] if item["rrset"] else item["zone"] for item in call.all(f"/search?{query}")]


def test_zones_come_first_then_rrsets(call: Caller, zone: Zone, other: Zone) -> None:
    assert found(call, "q=other.test") == ["other.test.", "other.test.", "other.test."]  # the zone, the SOA and the NS
    assert found(call, "q=other.test&kind=zone") == ["other.test."]
    assert found(call, "q=www.other.test") == ["www.other.test."]


def test_an_rdata_is_found_in_every_zone_page_by_page(call: Caller, zone: Zone, other: Zone) -> None:
    everything = ["mail.example.test.", "a.other.test.", "www.other.test."]
    assert found(call, "q=192.0.2.9&kind=rrset") == everything
    assert found(call, "q=has:192.0.2.9&limit=1") == ["example.test.", "other.test.", *everything]


def test_an_answer_that_looked_through_enough_zones_has_a_next_one(
    call: Caller, zone: Zone, other: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zones_by_name, "_FIRST", 1)
    monkeypatch.setattr(zones_by_name, "MOST_COMPARED", 1)
    for path, names in {
        "/zones?q=name:a.o": ["other.test."],
        "/search?q=name:a.o%20zone:test": ["other.test."],
    }.items():
        first = call.get(path)
        assert first["items"] == []
        assert first["next"]
        assert [item.get("name") or item["zone"] for item in call.all(path)][: len(names)] == names


def test_what_the_checks_complain_about_is_found_everywhere(
    call: Caller, make_caller: MakeCaller, zone: Zone, make_zone: MakeZone
) -> None:
    bad = make_zone("a 300 MX 10 gone", "b 300 A 192.0.2.1", name="bad.test.")
    assert "0 of 2" in call.problem(422, "GET", "/search?q=has:warning")["detail"]
    while complaints_upkeep.catch_up(now=NOW):
        pass
    assert found(call, "q=has:warning") == ["bad.test.", "a.bad.test."]
    assert "gone.bad.test." in call.all("/search?q=has:warning&kind=rrset")[0]["complaint"]
    assert [item["name"] for item in call.all("/zones?q=has:warning")] == ["bad.test."]
    assert [item["name"] for item in call.all("/zones/bad.test./rrsets?q=has:warning")] == ["a.bad.test."]
    body = {"q": "has:warning", "act": {"op": "set-ttl", "ttl": 600}}
    assert call.good("POST", "/bulk/rrsets?dry_run=true", body)["changed"] == 1
    one_name = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({bad.pk}), names=("b",)))
    assert found(one_name, "q=has:warning") == []


def test_what_a_token_does_not_see_is_not_found(make_caller: MakeCaller, zone: Zone, other: Zone) -> None:
    read = frozenset({Right.READ})
    one_zone = make_caller(Grant(read, zones=frozenset({zone.pk})))
    assert found(one_zone, "q=192.0.2.9") == ["example.test.", "mail.example.test."]
    one_name = make_caller(Grant(read, zones=frozenset({zone.pk}), names=("www",)))
    assert found(one_name, "q=has:192.0.2.9") == []
    assert found(one_name, "q=192.0.2.1") == ["www.example.test."]


def test_a_search_needs_words(call: Caller) -> None:
    for query in ("", "q=", "q=%20", "q=x&kind=y", "q=" + "x" * 301):
        call.problem(422, "GET", f"/search?{query}")
    for cursor in ("WyJyIiwieCIsMV0", "WyJyIiwiMS14eCIsMV0", "WyJyIiwiOTk5OTk5OTk5OTktIiwxXQ"):
        call.problem(400, "GET", f"/search?q=x&cursor={cursor}")
