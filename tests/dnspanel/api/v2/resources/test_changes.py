"""Tests of bulk changes: they succeed or fail together, and the problem points to every faulty item.

Tests `schema.parsing` and `drafts.save_changes` too.
"""

import json
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone, replace

pytestmark = pytest.mark.django_db(transaction=True)

CHANGES = "/zones/example.test./changes"


@pytest.fixture
def other(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.50", name="other.test.")


def pointers(problem: Any) -> list[tuple[str, str]]:
    return [(fault["pointer"], fault["code"]) for fault in problem["errors"]]


def test_orders_build_on_each_other_and_are_one_revision(call: Caller, zone: Zone) -> None:
    orders = [
        replace("new", "A", "192.0.2.7"),
        {"op": "extend", "name": "new", "type": "A", "rdata": ["192.0.2.8"]},
        {"op": "extend", "name": "www", "type": "A", "rdata": ["192.0.2.3"]},
        {"op": "prune", "name": "www", "type": "A", "rdata": ["192.0.2.1"]},
        {"op": "delete", "name": "shop", "type": "CNAME"},
        {"op": "extend", "name": "txt", "type": "TXT", "rdata": ['"a"']},
    ]
    result = call.good("POST", CHANGES, {"changes": orders, "reason": "many", "confirm": True})
    assert result["zones"] == [
        {"zone": "example.test.", "revision": 2, "serial": 2, "added": 2, "changed": 1, "removed": 1}
    ]
    assert result["publication"]["reason"] == "many"
    rrsets = {(item["name"], item["type"]): item for item in call.all("/zones/example.test./rrsets")}
    assert rrsets["new.example.test.", "A"]["rdata"] == ["192.0.2.7", "192.0.2.8"]
    assert rrsets["www.example.test.", "A"]["rdata"] == ["192.0.2.2", "192.0.2.3"]
    assert rrsets["txt.example.test.", "TXT"]["ttl"] == 3600
    assert ("shop.example.test.", "CNAME") not in rrsets


def test_every_fault_is_pointed_at_and_nothing_is_written(call: Caller, zone: Zone) -> None:
    orders = [
        replace("ok", "A", "192.0.2.7"),
        replace("bad", "A", "192.0.2.7", "x"),
        {"op": "explode", "name": "www", "type": "A"},
        {"op": "delete", "name": "www.other.test.", "type": "A", "ttl": 5},
        {"op": "prune", "name": "www", "type": "A", "comment": "x", "rdata": []},
        {"op": "replace", "name": "a~b/", "type": "NONE", "ttl": 1.5, "rdata": "x", "x/y": 1},
        7,
    ]
    problem = call.problem(422, "POST", CHANGES, {"changes": orders})
    assert pointers(problem) == [
        ("/changes/1/rdata/1", "bad-rdata"),
        ("/changes/2/op", "invalid-choice"),
        ("/changes/3/name", "bad-name"),
        ("/changes/4/comment", "not-together"),
        ("/changes/4/rdata", "too-few"),
        ("/changes/5/x~1y", "unknown"),
        ("/changes/5/type", "bad-type"),
        ("/changes/6", "invalid"),
    ]
    assert Publication.objects.count() == 1


@pytest.mark.parametrize(
    "body", [None, [], 7, "x", {"changes": {}}, {"changes": [], "confirm": "yes"}, {"changes": [], "reason": 5}, {}]
)
def test_a_body_of_another_shape_is_refused(call: Caller, zone: Zone, body: Any) -> None:
    assert call("POST", CHANGES, body).status_code in {400, 422}


def test_what_only_shows_under_the_lock_is_pointed_at(call: Caller, zone: Zone) -> None:
    orders = [
        replace("x", "A", "192.0.2.7"),
        {"op": "extend", "name": "shop", "type": "CNAME", "rdata": ["mail.test."]},
    ]
    assert pointers(call.problem(422, "POST", CHANGES, {"changes": orders})) == [("/changes/1", "bad-rrset")]
    orders = [replace("x", "A", "192.0.2.7"), replace("www", "CNAME", "mail.example.test.")]
    ((pointer, _), *_) = pointers(call.problem(422, "POST", CHANGES, {"changes": orders}))
    assert pointer == "/changes/1"


def test_the_zones_tag_is_a_condition(call: Caller, zone: Zone) -> None:
    tag = call.get("/zones/example.test.")["etag"]
    call.good("POST", CHANGES, {"changes": [replace("a", "A", "192.0.2.7")]}, if_match=tag)
    problem = call.problem(412, "POST", CHANGES, {"changes": [replace("b", "A", "192.0.2.7")]}, if_match=tag)
    assert (problem["base"], problem["theirs"]["revision"]) == ({"revision": 1}, 2)
    assert problem["mine"]["changes"][0]["name"] == "b"


def test_a_dry_run_shows_the_plan_and_writes_nothing(call: Caller, zone: Zone) -> None:
    orders = [replace("@", "NS", "ns1.example.net.", ttl=3600), replace("web", "CNAME", "none.example.test.")]
    (plan,) = call.good("POST", CHANGES + "?dry_run=true", {"changes": orders})["plans"]
    assert (plan["revision"], plan["added"], plan["changed"]) == (2, 1, 1)
    assert plan["guard"]
    assert plan["violations"][0]["severity"] == "warning"
    assert [change["name"] for change in plan["changes"]] == ["example.test.", "web.example.test."]
    assert plan["changes"][1]["before"] is None
    assert Publication.objects.count() == 1


def test_a_bulk_change_is_one_publication_of_many_zones(call: Caller, zone: Zone, other: Zone) -> None:
    body = {
        "zones": [
            {"zone": "example.test", "changes": [replace("www", "A", "192.0.2.7")]},
            {"zone": "other.test.", "at_revision": 1, "changes": [replace("www", "A", "192.0.2.8")]},
        ]
    }
    result = call.good("POST", "/bulk", body)
    assert [(moved["zone"], moved["revision"]) for moved in result["zones"]] == [
        ("example.test.", 2),
        ("other.test.", 2),
    ]
    assert len(result["publication"]["zones"]) == 2


def test_one_bad_item_keeps_all_zones_as_they_were(call: Caller, zone: Zone, other: Zone) -> None:
    good = {"zone": "example.test.", "changes": [replace("www", "A", "192.0.2.7")]}
    bad = [
        {"zone": "other.test.", "changes": [replace("www", "A", "192.0.2.300")]},
        {"zone": "none.test.", "changes": []},
        {"zone": "example.test", "changes": []},
        {"changes": []},
        {"zone": "a..b", "changes": []},
        5,
    ]
    problem = call.problem(422, "POST", "/bulk", {"zones": [good, *bad]})
    assert set(pointers(problem)) == {
        ("/zones/1/changes/0/rdata/0", "bad-rdata"),
        ("/zones/2/zone", "not-found"),
        ("/zones/3/zone", "twice"),
        ("/zones/4/zone", "required"),
        ("/zones/5/zone", "bad-name"),
        ("/zones/6", "invalid"),
    }
    for second, status, pointer in (
        ({"zone": "other.test.", "at_revision": 7, "changes": good["changes"]}, 412, "/zones/1/at_revision"),
        (
            {"zone": "other.test.", "changes": [replace("www", "CNAME", "x.test."), replace("www", "A", "192.0.2.1")]},
            422,
            "/zones/1/changes/0",
        ),
        ({"zone": "other.test.", "changes": [replace("@", "NS", "ns1.example.net.")]}, 409, "/zones/1"),
    ):
        problem = call.problem(status, "POST", "/bulk", {"zones": [good, second]})
        assert pointer in [fault["pointer"] for fault in problem["errors"]]
    assert Publication.objects.count() == 2  # the publication that created the zones


def test_a_scope_holds_for_each_item(make_caller: MakeCaller, zone: Zone, other: Zone) -> None:
    rights = frozenset({Right.READ, Right.CHANGE})
    narrow = make_caller(
        Grant(rights, zones=frozenset({zone.pk}), names=("www",)), Grant(frozenset({Right.READ}), everywhere=True)
    )
    good = {"zone": "example.test.", "changes": [replace("www", "A", "192.0.2.7")]}
    not_that_name = {"zone": "example.test.", "changes": [*good["changes"], replace("mail", "A", "192.0.2.7")]}
    not_that_zone = {"zone": "other.test.", "changes": [replace("www", "A", "192.0.2.7")]}
    problem = narrow.problem(403, "POST", "/bulk", {"zones": [not_that_name]})
    assert pointers(problem) == [("/zones/0/changes/1", "forbidden")]
    problem = narrow.problem(422, "POST", "/bulk", {"zones": [good, not_that_zone]})
    assert pointers(problem) == [("/zones/1/zone", "forbidden")]
    assert narrow("POST", "/bulk", {"zones": [good]}).status_code == 202


def test_a_thousand_rrsets_are_one_answer(call: Caller, zone: Zone) -> None:
    orders = [replace(f"h{number}", "A", f"192.0.2.{number % 250 + 1}") for number in range(1000)]
    answer = call("POST", CHANGES, {"changes": orders})
    assert answer.status_code == 202
    assert json.loads(answer.content)["zones"][0]["added"] == 1000
    too_many = call.problem(422, "POST", CHANGES, {"changes": orders * 11})
    assert pointers(too_many) == [("/changes", "too-many")]


def test_a_semicolon_is_refused_where_the_rest_would_be_lost_and_kept_in_text(call: Caller, zone: Zone) -> None:
    orders = [
        replace("one", "CNAME", "a.test.;b.test."),
        replace("two", "TXT", '"a" ; b'),
        {"op": "prune", "name": "three", "type": "TXT", "rdata": ['"a"', '"a";b']},
    ]
    problem = call.problem(422, "POST", CHANGES, {"changes": orders})
    assert pointers(problem) == [
        ("/changes/0/rdata/0", "bad-rdata"),
        ("/changes/1/rdata/0", "bad-rdata"),
        ("/changes/2/rdata/1", "bad-rdata"),
    ]
    call.good("POST", CHANGES, {"changes": [replace("dkim", "TXT", "v=DKIM1; k=rsa; p=abc")]})
    found = call.good("GET", "/zones/example.test./rrsets/dkim/TXT")
    assert found["rdata"] == ['"v=DKIM1; k=rsa; p=abc"']


def test_ptrs_come_and_go_with_their_addresses_if_asked(call: Caller, zone: Zone, make_zone: MakeZone) -> None:
    make_zone("1 300 PTR old.example.test.", "77 300 PTR kept.example.test.", name="2.0.192.in-addr.arpa.")

    def pointers_now() -> dict[str, list[str]]:
        items = call.all("/zones/2.0.192.in-addr.arpa./rrsets?type=PTR")
        return {item["name"].partition(".")[0]: item["rdata"] for item in items}

    orders = [replace("new", "A", "192.0.2.1", "192.0.2.8"), replace("far", "A", "198.51.100.1")]
    planned = call.good("POST", f"{CHANGES}?dry_run=true", {"changes": orders, "ptr": True})
    assert [plan["zone"] for plan in planned["plans"]] == ["example.test.", "2.0.192.in-addr.arpa."]
    call.good("POST", CHANGES, {"changes": orders, "ptr": True})
    assert pointers_now() == {"1": ["new.example.test."], "8": ["new.example.test."], "77": ["kept.example.test."]}
    call.good("PUT", "/zones/example.test./rrsets/new/A?ptr=true", {"ttl": 300, "rdata": ["192.0.2.8"]})
    assert pointers_now() == {"8": ["new.example.test."], "77": ["kept.example.test."]}
    call.good("DELETE", "/zones/example.test./rrsets/new/A")
    assert "8" in pointers_now(), "nobody asked"
    call.problem(422, "POST", CHANGES, {"changes": orders, "ptr": "yes"})
    gone = call.problem(404, "DELETE", "/zones/example.test./rrsets/new/A?ptr=true")
    assert "new.example.test." in gone["detail"]


def test_a_ptr_in_the_same_request_is_its_own(call: Caller, zone: Zone, make_zone: MakeZone) -> None:
    make_zone(name="2.0.192.in-addr.arpa.")
    reverse = {"zone": "2.0.192.in-addr.arpa.", "changes": [replace("5", "PTR", "mine.example.net.")]}
    forward = {"zone": "example.test.", "changes": [replace("a", "A", "192.0.2.5"), replace("b", "A", "192.0.2.6")]}
    call.good("POST", "/bulk", {"zones": [forward, reverse], "ptr": True})
    found = {item["name"]: item["rdata"] for item in call.all("/zones/2.0.192.in-addr.arpa./rrsets?type=PTR")}
    assert found == {
        "5.2.0.192.in-addr.arpa.": ["mine.example.net."],
        "6.2.0.192.in-addr.arpa.": ["b.example.test."],
    }


def test_a_name_in_a_value_without_a_final_dot_is_refused_on_every_way(call: Caller, zone: Zone) -> None:
    """Regression test: `CNAME www` became `www.` with status 202 and no warning."""
    alias = replace("c1", "CNAME", "www")
    rrset = {"ttl": 300, "rdata": ["www"]}
    ways: list[tuple[str, str, Any]] = [
        ("PUT", "/zones/example.test./rrsets/c1/CNAME", rrset),
        ("PATCH", "/zones/example.test./rrsets/@/MX", {"add": ["20 mail"]}),
        ("PATCH", "/zones/example.test./rrsets/@/MX", {"rdata": ["20 mail"]}),
        ("POST", CHANGES, {"changes": [alias]}),
        ("POST", CHANGES, {"changes": [{**alias, "name": "shop", "op": "extend"}]}),
        ("POST", "/bulk", {"zones": [{"zone": "example.test", "changes": [alias]}]}),
        ("POST", "/zones", {"name": "new.test", "rrsets": [{"name": "c1", "type": "CNAME", **rrset}]}),
    ]
    for method, path, body in ways:
        problem = call.problem(422, method, path, body)
        [fault] = problem["errors"]
        assert fault["code"] == "bad-rdata", path
        assert "doesn’t have a trailing dot" in fault["detail"], path
        assert fault["detail"].count("new.test.”" if path == "/zones" else "example.test.”") == 1, path
    assert Publication.objects.count() == 1


FILE = "$TTL 300\n@ NS ns1.example.test.\nwww A 192.0.2.7\n"


def test_a_zone_file_replaces_all_records_but_keeps_a_missing_soa(call: Caller, zone: Zone) -> None:
    before = {(item["name"], item["type"]): item for item in call.all("/zones/example.test./rrsets")}
    result = call.good("POST", "/bulk", {"zones": [{"zone": zone.name, "zone_file": FILE}], "confirm": True})
    after = {(item["name"], item["type"]): item for item in call.all("/zones/example.test./rrsets")}
    assert set(after) == {(zone.name, "SOA"), (zone.name, "NS"), ("www.example.test.", "A")}
    assert after["www.example.test.", "A"]["rdata"] == ["192.0.2.7"]
    soa = [item["rdata"][0].split() for item in (before[zone.name, "SOA"], after[zone.name, "SOA"])]
    assert soa[0][:2] == soa[1][:2]
    assert result["zones"][0]["removed"] == len(before) - len(after)
    again = call.good("POST", "/bulk", {"zones": [{"zone": zone.name, "zone_file": FILE}]})
    assert again["publication"] is None


def test_a_zone_file_that_removes_much_needs_a_confirmation(call: Caller, make_zone: MakeZone) -> None:
    make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(60)), name="big.test.")
    body = {"zones": [{"zone": "big.test.", "zone_file": "@ 300 NS ns1.example.test.\n"}]}
    problem = call.problem(409, "POST", "/bulk", body)
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("needs-confirmation", "/zones/0")


def test_changes_become_a_request_and_the_current_draft_stays(call: Caller, zone: Zone) -> None:
    call.good("PUT", "/draft/zones/example.test./rrsets/mine/A", {"wanted": {"ttl": 60, "rdata": ["192.0.2.9"]}})
    body = {"zones": [{"zone": zone.name, "changes": [replace("www", "A", "192.0.2.7")]}], "into": "request"}
    made = call.good("POST", "/bulk", body | {"name": "Move", "reason": "DNS-42"})
    assert (made["name"], made["state"], made["reason"]) == ("Move", "open", "DNS-42")
    assert [change["name"] for plan in made["plans"] for change in plan["changes"]] == ["www.example.test."]
    assert [item["name"] for item in call.all("/draft/operations")] == ["mine.example.test."]
    assert call.problem(409, "POST", "/bulk", body | {"name": "Move"})["code"] == "conflict"
    unchanged = {"zones": [{"zone": zone.name, "changes": [{"op": "delete", "name": "none", "type": "A"}]}]}
    assert call.good("POST", "/bulk", unchanged | {"into": "request", "name": "None"})["publication"] is None


@pytest.mark.parametrize(
    ("members", "pointer", "code"),
    [
        ({"zone_file": 7}, "/zones/0/zone_file", "invalid"),
        ({"zone_file": "www 300 A 192.0.2\n"}, "/zones/0/zone_file", "rdata"),
        ({"zone_file": "", "changes": []}, "/zones/0", "not-together"),
        ({"changes": [replace("www", "A", "192.0.2.7")], "into": "x"}, "/into", "invalid"),
        ({"changes": [replace("www", "A", "192.0.2.7")], "into": "request", "name": 7}, "/name", "invalid"),
    ],
)
def test_a_wrong_zone_file_or_target_is_pointed_at(
    call: Caller, zone: Zone, members: dict[str, Any], pointer: str, code: str
) -> None:
    item = {"zone": zone.name} | {name: members[name] for name in ("zone_file", "changes") if name in members}
    body = {"zones": [item]} | {name: members[name] for name in ("into", "name") if name in members}
    assert pointers(call.problem(422, "POST", "/bulk", body)) == [(pointer, code)]
