"""Tests of single RRsets in the API: their JSON, the answers to writes, and simultaneous writes.

Tests `http.representation`, `http.visibility` and `resources.publishing` too.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.lists import find_rrsets
from dnspanel.zones.models import CountingNode, Publication, QueriedRRset, Zone
from replication.dns import rdata, rdata_forms, rdtypes
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, content
from tests.work import counted_patterns

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "/zones/example.test./rrsets/www/A"


def test_an_rrset_is_read_by_a_relative_or_absolute_name(call: Caller, zone: Zone) -> None:
    displayed = call.get(WWW)
    assert displayed == {
        "name": "www.example.test.",
        "type": "A",
        "ttl": 300,
        "rdata": ["192.0.2.1", "192.0.2.2"],
        "disabled": [],
        "comment": "",
    }
    assert call.get("/zones/Example.TEST/rrsets/www.example.test./a") == displayed
    assert call.get("/zones/example.test./rrsets/@/MX")["rdata"] == ["10 mail.example.test."]


def test_a_text_in_a_large_zone_is_looked_for_page_by_page(call: Caller, zone: Zone, monkeypatch: Any) -> None:
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 2)
    assert call.get("/zones/example.test./rrsets?q=192.0.2.1")["items"] == []
    assert [item["name"] for item in call.all("/zones/example.test./rrsets?q=192.0.2.1")] == ["www.example.test."]


def test_rrsets_that_nodes_were_not_asked_for_are_found_if_all_nodes_counted(
    call: Caller, zone: Zone, settings: Any
) -> None:
    path = "/zones/example.test./rrsets?q=type:a+queried:>90d"
    settings.COUNT_QUERIES = True
    now = timezone.now()
    since = now - timedelta(days=20)
    CountingNode.objects.create(node_id=1, name="ns1", since=since, until=now)
    first = (since + timedelta(days=1)).date()
    assert f"queried:>={first}" in str(call.problem(422, "GET", path))
    CountingNode.objects.update(since=now - timedelta(days=92))
    QueriedRRset.objects.create(zone_id=zone.pk, owner_key=b"www\0", type=1, day=now.date(), times=3)
    names = [item["name"] for item in call.all(path)]
    assert "mail.example.test." in names
    assert "www.example.test." not in names


def test_what_is_not_there_answers_404(call: Caller, zone: Zone) -> None:
    for path in ("www/TXT", "none/A", "www.other.test./A", "www/NOTYPE", "%00/A", "a..b/A"):
        call.problem(404, "GET", f"/zones/example.test./rrsets/{path}")
    call.problem(404, "GET", "/zones/none.test./rrsets/www/A")


def test_a_read_with_the_tag_of_what_one_has_answers_304(call: Caller, zone: Zone) -> None:
    tag = call("GET", WWW)["ETag"]
    answer = call("GET", WWW, if_none_match=tag)
    assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", tag)


def test_a_put_publishes_and_answers_with_publication_rrset_and_tag(call: Caller, zone: Zone) -> None:
    answer = call("PUT", WWW + "?reason=move", content("192.0.2.7", comment="new rack"))
    assert answer.status_code == 202
    result = json.loads(answer.content)
    assert result["rrset"]["rdata"] == ["192.0.2.7"]
    assert result["zones"] == [
        {"zone": "example.test.", "revision": 2, "serial": 2, "added": 0, "changed": 1, "removed": 0}
    ]
    publication = result["publication"]
    assert (publication["reason"], publication["channel"], publication["actor"]["user"]) == ("move", "api", "alice")
    assert publication["actor"]["token"]["purpose"] == "tests"
    assert answer["Location"] == publication["url"]
    assert call("GET", WWW)["ETag"] == answer["ETag"]


def test_a_put_of_what_is_so_already_publishes_nothing(call: Caller, zone: Zone) -> None:
    answer = call("PUT", WWW, content("192.0.2.2", "192.0.2.1"))
    assert answer.status_code == 200
    assert json.loads(answer.content)["publication"] is None
    assert answer["ETag"] == call("GET", WWW)["ETag"]


def test_create_only_does_not_overwrite(call: Caller, zone: Zone) -> None:
    assert call("PUT", "/zones/example.test./rrsets/new/A", content("192.0.2.7"), if_none_match="*").status_code == 202
    problem = call.problem(412, "PUT", WWW, content("192.0.2.7"), if_none_match="*")
    assert problem["theirs"]["rdata"] == ["192.0.2.1", "192.0.2.2"]


def test_a_stale_tag_is_refused_with_base_theirs_and_mine(call: Caller, zone: Zone) -> None:
    tag = call("GET", WWW)["ETag"]
    call.good("PUT", WWW, content("192.0.2.7"))
    call.good("PUT", WWW, content("192.0.2.8"))
    answer = call("PUT", WWW, content("192.0.2.9"), if_match=tag)
    problem = json.loads(answer.content)
    assert answer.status_code == 412
    assert problem["base"]["rdata"] == ["192.0.2.1", "192.0.2.2"]
    assert problem["theirs"]["rdata"] == ["192.0.2.8"]
    assert problem["mine"]["rdata"] == ["192.0.2.9"]
    assert call("PUT", WWW, content("192.0.2.9"), if_match=answer["ETag"]).status_code == 202


def test_a_tag_holds_while_only_other_rrsets_change(call: Caller, zone: Zone) -> None:
    tag = call("GET", WWW)["ETag"]
    call.good("PUT", "/zones/example.test./rrsets/mail/A", content("192.0.2.10"))
    assert call("PUT", WWW, content("192.0.2.7"), if_match=tag).status_code == 202


def test_the_tag_of_a_soa_does_not_mind_the_serial(call: Caller, zone: Zone) -> None:
    soa = "/zones/example.test./rrsets/@/SOA"
    tag = call("GET", soa)["ETag"]
    call.good("PUT", WWW, content("192.0.2.7"))
    fields = call.get(soa)["rdata"][0].split(" ")
    wanted = " ".join([*fields[:-1], "60"])
    answer = call("PUT", soa, content(wanted, ttl=3600), if_match=tag)
    assert answer.status_code == 202
    assert json.loads(answer.content)["rrset"] == call.get(soa)


def test_a_weak_tag_is_the_same_tag_and_a_broken_one_is_none(call: Caller, zone: Zone) -> None:
    tag = call("GET", WWW)["ETag"]
    call.problem(412, "PUT", WWW, content("192.0.2.7"), if_match="W/" + tag.replace("-", "-0"))
    assert call.problem(400, "PUT", WWW, content("192.0.2.7"), if_match="nonsense")["errors"][0]["header"] == "If-Match"
    call.problem(412, "PUT", "/zones/example.test./rrsets/none/A", content("192.0.2.7"), if_match="*")
    assert call("PUT", WWW, content("192.0.2.7"), if_match=f'"a", {tag}').status_code == 202
    assert call("PUT", WWW, content("192.0.2.8"), if_match="W/" + call("GET", WWW)["ETag"]).status_code == 202


def test_a_patch_adds_and_removes_records_and_keeps_the_rest(call: Caller, zone: Zone) -> None:
    body = {"add": ["192.0.2.7"], "remove": ["192.0.2.1"], "ttl": 60, "disabled": ["192.0.2.2"]}
    rrset = call.good("PATCH", WWW, body)["rrset"]
    assert (rrset["ttl"], rrset["rdata"], rrset["disabled"]) == (60, ["192.0.2.2", "192.0.2.7"], ["192.0.2.2"])
    assert call.good("PATCH", WWW, {"comment": "x"}, media="application/merge-patch+json")["rrset"]["comment"] == "x"
    assert call.good("PATCH", WWW, {"remove": ["192.0.2.2", "192.0.2.7"]})["rrset"] is None
    call.problem(404, "PATCH", WWW, {"ttl": 60})


def test_a_delete_deletes_once(call: Caller, zone: Zone) -> None:
    assert call.good("DELETE", "/zones/example.test./rrsets/shop/CNAME")["rrset"] is None
    call.problem(404, "DELETE", "/zones/example.test./rrsets/shop/CNAME")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([], ""),
        ({}, "/ttl"),
        (content("192.0.2.300"), "/rdata/0"),
        (content("192.0.2.1", 7), "/rdata/1"),  # type: ignore[arg-type]
        (content("192.0.2.1", ttl=-1), "/ttl"),
        (content("192.0.2.1", ttl=True), "/ttl"),
        (content("192.0.2.1", comment=1), "/comment"),
        (content("192.0.2.1", disabled=["192.0.2.9"]), "/rdata"),
        (content("192.0.2.1", disabled=["x"]), "/disabled/0"),
        (content("192.0.2.1", confirn=True), "/confirn"),
        (content(), "/rdata"),
    ],
)
def test_what_cannot_be_used_is_pointed_at(call: Caller, zone: Zone, body: Any, pointer: str) -> None:
    problem = call.problem(422, "PUT", WWW, body)
    assert pointer in [fault["pointer"] for fault in problem["errors"]]
    assert Publication.objects.count() == 1


def test_errors_refuse_and_warnings_are_said_unless_refused(call: Caller, zone: Zone) -> None:
    path = "/zones/example.test./rrsets/"
    problem = call.problem(422, "PUT", path + "www/CNAME", content("mail.example.test."))
    assert problem["code"] == "rules-violated"
    call.problem(422, "PUT", path + "web/CNAME?accept_warnings=false", content("none.example.test."))
    assert call.good("PUT", path + "web/CNAME", content("none.example.test."))["warnings"]


def test_what_the_guard_holds_needs_confirmation(call: Caller, zone: Zone) -> None:
    path = "/zones/example.test./rrsets/@/NS"
    problem = call.problem(409, "PUT", path, content("ns1.example.net.", ttl=3600))
    assert (problem["code"], bool(problem["reasons"])) == ("needs-confirmation", True)
    call.good("PUT", path + "?confirm=true", content("ns1.example.net.", ttl=3600))


def test_a_token_sees_and_writes_only_what_its_scope_lets_through(make_caller: MakeCaller, zone: Zone) -> None:
    rights = frozenset({Right.READ, Right.ADD, Right.CHANGE, Right.REMOVE})
    scope = Grant(rights, zones=frozenset({zone.pk}), names=("_acme-challenge.www",), types=frozenset({rdtypes.TXT}))
    acme = make_caller(scope)
    path = "/zones/example.test./rrsets/"
    assert acme.good("PUT", path + "_acme-challenge.www/TXT", content('"x"'))["rrset"]["rdata"] == ['"x"']
    assert [item["name"] for item in acme.all("/zones/example.test./rrsets")] == ["_acme-challenge.www.example.test."]
    acme.problem(404, "GET", path + "www/A")
    problem = acme.problem(403, "PUT", path + "www/A", content("192.0.2.7"), if_match='"1-0000000000000000"')
    assert "theirs" not in problem
    acme.problem(
        403, "POST", "/zones/example.test./changes", {"changes": [{"op": "delete", "name": "www", "type": "A"}]}
    )
    assert acme.get("/zones?q=has:192.0.2.1")["items"] == []
    assert acme.get("/search?q=192.0.2.1")["items"] == []


def test_a_hostile_txt_of_an_acme_client_costs_what_it_is_long(make_caller: MakeCaller, zone: Zone) -> None:
    """Issue 14: the parser backtracked on spaces after strings, so a token for one name could stop the panel."""
    rights = frozenset({Right.READ, Right.ADD, Right.CHANGE, Right.REMOVE})
    scope = Grant(rights, zones=frozenset({zone.pk}), names=("_acme-challenge",), types=frozenset({rdtypes.TXT}))
    acme, path, size = make_caller(scope), "/zones/example.test./rrsets/_acme-challenge/TXT", 60_000
    with counted_patterns(rdata_forms) as steps:
        refused = acme.problem(422, "PUT", path, content('("a")' + " " * size + "x"))
        assert "the quotes don’t match" in refused["detail"]
        assert steps() < 40 * size
    refused = acme.problem(422, "PUT", path, content('"a" ' * rdata.MAX_RDATA + "x"))
    reason = f"the value has {4 * rdata.MAX_RDATA + 1} characters, but at most {rdata.MAX_TEXT} are allowed"
    assert reason in refused["detail"]


def test_a_token_that_must_state_conditions_is_held_to_it(make_caller: MakeCaller, zone: Zone) -> None:
    careful = make_caller(needs_if_match=True)
    careful.problem(428, "PUT", WWW, content("192.0.2.7"))
    assert careful("PUT", WWW, content("192.0.2.7"), if_match=careful("GET", WWW)["ETag"]).status_code == 202


def test_pages_of_rrsets_are_in_canonical_order_and_filtered(call: Caller, zone: Zone) -> None:
    listed = call.all("/zones/example.test./rrsets?limit=2")
    assert len(listed) == 6
    assert listed == call.all("/zones/example.test./rrsets")
    assert [item["name"] for item in call.all("/zones/example.test./rrsets?q=192.0.2.9")] == ["mail.example.test."]
    assert {item["type"] for item in call.all("/zones/example.test./rrsets?type=A,MX&limit=1")} == {"A", "MX"}
    assert len(call.all("/zones/example.test./rrsets?name=@")) == 3
    www = next(item for item in listed if item["name"] == "www.example.test.")
    assert www["etag"] == call("GET", WWW)["ETag"]
    call.problem(422, "GET", "/zones/example.test./rrsets?type=NOTYPE")
    call.problem(422, "GET", "/zones/example.test./rrsets?name=www.other.test.")


def test_of_two_writers_with_one_tag_one_wins_and_nothing_is_lost(call: Caller, zone: Zone) -> None:
    tag = call("GET", WWW)["ETag"]
    together = Barrier(2)

    def write(address: str) -> tuple[int, Any]:
        together.wait()
        try:
            answer = call("PUT", WWW, content(address), if_match=tag)
            return answer.status_code, json.loads(answer.content)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(write, ["192.0.2.10", "192.0.2.11"]))
    assert sorted(status for status, _ in answers) == [202, 412]
    loser = next(answer for status, answer in answers if status == 412)
    assert loser["base"]["rdata"] == ["192.0.2.1", "192.0.2.2"]
    assert loser["theirs"] == call.get(WWW)
    assert loser["mine"]["rdata"] != loser["theirs"]["rdata"]


def test_of_many_writers_that_add_no_record_is_lost(call: Caller, zone: Zone) -> None:
    def add(number: int) -> int:
        try:
            return call("PATCH", WWW, {"add": [f"192.0.2.{number}"]}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(add, range(100, 112))) == {202}
    assert len(call.get(WWW)["rdata"]) == 14


def test_tags_and_comments_of_values_are_read_and_written(call: Caller, zone: Zone) -> None:
    noted = {"tags": ["Web", "shop"], "value_comments": {"192.0.2.1": "first rack"}}
    call.good("PUT", WWW, {"ttl": 300, "rdata": ["192.0.2.1", "192.0.2.2"], **noted})
    found = call.get(WWW)
    assert (found["tags"], found["value_comments"]) == (["shop", "web"], {"192.0.2.1": "first rack"})
    call.good("PATCH", WWW, {"ttl": 60})
    assert call.get(WWW)["tags"] == ["shop", "web"]
    call.good("PATCH", WWW, {"remove": ["192.0.2.1"], "tags": ["mail"]})
    found = call.get(WWW)
    assert found["tags"] == ["mail"]
    assert "value_comments" not in found
    assert [item["name"] for item in call.all("/zones/example.test./rrsets?q=tag:mail")] == ["www.example.test."]
    order = {"op": "extend", "name": "www", "type": "A", "rdata": ["192.0.2.9"], "value_comments": {"192.0.2.9": "new"}}
    call.good("POST", "/zones/example.test./changes", {"changes": [order]})
    found = call.get(WWW)
    assert (found["tags"], found["value_comments"]) == (["mail"], {"192.0.2.9": "new"})


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"tags": ["a b"]}, "/tags"),
        ({"tags": "a"}, "/tags"),
        ({"value_comments": {"192.0.2.9": "x"}}, "/value_comments"),
        ({"value_comments": {"nothing": "x"}}, "/value_comments"),
        ({"value_comments": {"192.0.2.1": "x" * 501}}, "/value_comments"),
        ({"value_comments": []}, "/value_comments"),
    ],
    ids=["tag", "no-list", "absent", "no-rdata", "long", "no-object"],
)
def test_what_is_no_tag_or_comment_is_pointed_at(
    call: Caller, zone: Zone, members: dict[str, Any], pointer: str
) -> None:
    problem = call.problem(422, "PUT", WWW, {"ttl": 300, "rdata": ["192.0.2.1"], **members})
    assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("type", "value"),
    [("CAA", '0 issue ""'), ("CERT", "0 1 5 AAAA"), ("IPSECKEY", "10 0 255 . AAAA"), ("APL", "3:00/0")],
)
def test_a_value_that_nodes_cannot_read_back_is_refused_on_every_way(
    call: Caller, zone: Zone, type: str, value: str
) -> None:
    # Regression test: it made its name SERVFAIL and was taken back, but waiting clients were answered "everywhere".
    rrset = {"name": "www", "type": type, "ttl": 300, "rdata": [value]}
    body = {"ttl": 300, "rdata": [value]}
    change = {"op": "replace", **rrset}
    revision = call.get(f"/zones/{zone.name}")["revision"]
    for method, path, sent in (
        ("PUT", f"/zones/{zone.name}/rrsets/www/{type}", body),
        ("PUT", f"/zones/{zone.name}/rrsets/www/{type}?wait=10", body),
        ("POST", f"/zones/{zone.name}/changes", {"changes": [change]}),
        ("POST", "/bulk", {"zones": [{"zone": zone.name, "changes": [change]}]}),
        ("POST", "/zones", {"name": "new.test.", "rrsets": [rrset], "nameservers": ["ns1.example.net."]}),
    ):
        problem = call.problem(422, method, path, sent)
        assert [each["code"] for each in problem["violations"] if each["severity"] == "error"] == ["value-unanswered"]
    assert call.get(f"/zones/{zone.name}")["revision"] == revision
    call.problem(404, "GET", "/zones/new.test.")
