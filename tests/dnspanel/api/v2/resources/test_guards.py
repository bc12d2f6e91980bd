"""Tests of operations that need `confirm`: changes, undos and deletions in several zones."""

from typing import Any

import pytest

from dnspanel.api.v2.http import problems
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeZone, replace

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS = [f"h{number}" for number in range(20)]


def fill(call: Caller, *names: str) -> int:
    """Add 20 hosts to each of these zones. Return the sequence of the publication."""
    orders = [replace(host, "A", "192.0.2.1") for host in HOSTS]
    body = {"zones": [{"zone": name, "changes": orders} for name in names]}
    return int(call.good("POST", "/bulk", body)["publication"]["sequence"])


@pytest.fixture
def named(make_zone: MakeZone) -> list[str]:
    return [make_zone(name=f"z{number}.test.").name for number in range(5)]


def test_an_undo_over_several_zones_names_all_of_them_with_counts(call: Caller, named: list[str]) -> None:
    """Regression test: the problem named only the first zone, so users confirmed the others blindly."""
    path = f"/publications/{fill(call, *named)}/undo"
    problem = call.problem(409, "POST", path, {})
    assert [each["zone"] for each in problem["zones"]] == named
    assert [(each["removed"], each["rrsets"]) for each in problem["zones"]] == [(20, 22)] * 5
    assert (problem["totals"], problem["left_out"]) == ({"zones": 5, "removed": 100, "rrsets": 110}, 0)
    assert problem["reasons"][0] == f"{named[0]}: This will delete 20 of 22 RRsets."
    assert "5 zones would lose 100 of their 110 RRsets." in problem["detail"]
    assert call.good("POST", f"{path}?dry_run=true", {})["reasons"] == problem["reasons"]
    assert call.good("POST", path, {"confirm": True})["publication"]


def test_more_zones_than_are_named_are_counted(call: Caller, named: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "MOST_ZONES", 2)
    problem = call.problem(409, "POST", f"/publications/{fill(call, *named)}/undo", {})
    assert (len(problem["zones"]), problem["left_out"], problem["totals"]["zones"]) == (2, 3, 5)


def test_each_item_of_a_bulk_change_that_waits_is_pointed_at(call: Caller, named: list[str]) -> None:
    fill(call, *named)
    orders = [{"op": "delete", "name": host, "type": "A"} for host in HOSTS]
    body = {"zones": [{"zone": name, "changes": orders} for name in named[:2]]}
    problem = call.problem(409, "POST", "/bulk", body)
    assert [fault["pointer"] for fault in problem["errors"]] == ["/zones/0", "/zones/1"]


def test_a_single_zone_says_what_it_loses(call: Caller, zone: Zone) -> None:
    path = f"/publications/{fill(call, zone.name)}/undo"
    problem = call.problem(409, "POST", path, {})
    assert [each["zone"] for each in problem["zones"]] == [zone.name]
    assert problem["reasons"] == problem["zones"][0]["reasons"]


def test_zones_that_would_be_deleted_are_named(call: Caller, make_zone: MakeZone) -> None:
    names = [make_zone(name=f"z{number:02}.test.").name for number in range(26)]
    body: dict[str, Any] = {"zones": [{"zone": name} for name in names]}
    problem = call.problem(409, "POST", "/bulk/deletions", body)
    assert [each["zone"] for each in problem["zones"]] == names
    assert problem["totals"]["zones"] == 26
    assert problem["totals"]["removed"] == problem["totals"]["rrsets"] == 26 * 2
    by_search = call.problem(409, "POST", "/bulk/zones", {"zones": names, "act": {"op": "delete"}})
    assert [each["zone"] for each in by_search["zones"]] == names
