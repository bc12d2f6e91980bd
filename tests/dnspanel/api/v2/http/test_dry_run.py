"""Tests of dry runs: the plans of every write, its checks, and no answer that a retry could mistake for the write's."""

import json
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.api.models import RememberedAnswer
from dnspanel.zones.models import Publication, RRset, Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone, content, replace

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "/zones/example.test./rrsets/www/A"


def planned(call: Caller, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Send a dry run, check that it wrote nothing, and return the JSON of the answer."""
    before = list(Publication.objects.values_list("sequence", flat=True)), RRset.objects.count(), Zone.objects.count()
    found = call(method, f"{path}{'&' if '?' in path else '?'}dry_run=true", body, **headers)
    assert found.status_code == 200, found.content
    assert "Location" not in found
    after = list(Publication.objects.values_list("sequence", flat=True)), RRset.objects.count(), Zone.objects.count()
    assert after == before
    return json.loads(found.content)


def test_an_rrset_is_planned_and_then_written_alike(call: Caller, zone: Zone) -> None:
    [plan] = planned(call, "PUT", WWW, content("192.0.2.7"))["plans"]
    written = call.good("PUT", WWW, content("192.0.2.7"))
    [moved] = written["zones"]
    assert {name: plan[name] for name in moved} == moved
    [change] = plan["changes"]
    assert change["after"] == written["rrset"]


def test_a_dry_run_is_refused_in_the_words_of_the_write(call: Caller, zone: Zone) -> None:
    path, body = "/zones/example.test./rrsets/@/CNAME", content("www.example.net.")
    refused = call.problem(422, "PUT", path, body)
    assert call.problem(422, "PUT", f"{path}?dry_run=true", body) == refused
    call.problem(422, "PUT", f"{path}?dry_run=yes", body)


def test_a_key_is_free_for_the_write_after_its_dry_run(call: Caller, zone: Zone) -> None:
    planned(call, "PUT", WWW, content("192.0.2.7"), idempotency_key="k")
    assert not RememberedAnswer.objects.exists()
    first = call("PUT", WWW, content("192.0.2.7"), idempotency_key="k")
    assert "Idempotency-Replayed" not in first
    assert json.loads(first.content)["publication"]["sequence"] == 2


def test_a_condition_holds_for_a_dry_run(call: Caller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.7"))
    call.problem(412, "DELETE", f"{WWW}?dry_run=true", if_match='"1-0000000000000000"')


def test_what_would_be_asked_does_not_refuse_and_is_named(call: Caller, zone: Zone) -> None:
    orders = [replace(f"n{number}", "A", "192.0.2.1") for number in range(30)]
    sequence = call.good("POST", "/zones/example.test./changes", {"changes": orders})["publication"]["sequence"]
    problem = call.problem(409, "POST", f"/publications/{sequence}/undo", {})
    found = planned(call, "POST", f"/publications/{sequence}/undo", {})
    [plan] = found["plans"]
    assert (plan["removed"], plan["guard"], found["reasons"]) == (30, problem["reasons"], problem["reasons"])


def test_zones_that_come_and_go_are_planned_with_their_rrsets(call: Caller, zone: Zone) -> None:
    [plan] = planned(call, "POST", "/zones", {"name": "new.test."})["plans"]
    assert (plan["zone"], plan["kind"], plan["revision"]) == ("new.test.", "create", 1)
    assert {change["type"] for change in plan["changes"]} == {"SOA", "NS"}
    assert all(change["before"] is None for change in plan["changes"])
    clones = planned(call, "POST", "/zones/example.test./clones", {"names": ["one.test.", "two.test."]})["plans"]
    assert [clone["zone"] for clone in clones] == ["one.test.", "two.test."]
    [gone] = planned(call, "DELETE", "/zones/example.test.")["plans"]
    assert (gone["kind"], {change["after"] is None for change in gone["changes"]}) == ("delete", {True})
    call.good("DELETE", "/zones/example.test.")
    [back] = planned(call, "POST", f"/trash/{zone.pk}/restore")["plans"]
    assert back["kind"] == "restore"


def test_a_deletion_of_many_zones_says_that_it_would_be_asked_for(call: Caller, make_zone: MakeZone) -> None:
    made = [make_zone(name=f"z{number}.test.").name for number in range(26)]
    body: dict[str, Any] = {"zones": [{"zone": name} for name in made]}
    problem = call.problem(409, "POST", "/bulk/deletions", body)
    found = planned(call, "POST", "/bulk/deletions", body)
    assert (len(found["plans"]), found["reasons"]) == (26, problem["reasons"])
    act = {"zones": made, "act": {"op": "delete"}}
    assert planned(call, "POST", "/bulk/zones", act)["reasons"] == problem["reasons"]


def test_a_large_write_is_planned_as_one(call: Caller, zone: Zone) -> None:
    orders = [replace(f"n{number}", "A", "192.0.2.1") for number in range(2_001)]
    [plan] = planned(call, "POST", "/zones/example.test./changes", {"changes": orders})["plans"]
    assert (plan["added"], plan["revision"], len(plan["changes"])) == (2_001, 2, 2_001)
    rrsets = [{"name": order["name"], "type": "A", "ttl": 300, "rdata": order["rdata"]} for order in orders]
    [new] = planned(call, "POST", "/zones", {"name": "new.test.", "rrsets": rrsets})["plans"]
    assert (new["kind"], new["added"], new["changes"]) == ("create", 2_003, [])


def test_settings_are_answered_as_they_would_be(call: Caller, zone: Zone) -> None:
    assert planned(call, "PATCH", "/zones/example.test.", {"tags": ["shop"]})["tags"] == ["shop"]
    assert call.get("/zones/example.test.")["tags"] == []


def test_who_may_not_do_it_may_not_rehearse_it(make_caller: MakeCaller, zone: Zone) -> None:
    editor = make_caller(Grant(frozenset({Right.READ, Right.CHANGE}), zones=frozenset({zone.pk})))
    editor.problem(404, "DELETE", "/zones/other.test.?dry_run=true")
    editor.problem(403, "DELETE", "/zones/example.test.?dry_run=true")
