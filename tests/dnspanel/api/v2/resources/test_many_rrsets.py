"""Tests of equal changes to RRsets of many zones, by search and by name: dry run, one publication, one undo.

Tests `schema.many_serializers` too.
"""

import json
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.lists import selection
from dnspanel.zones.models import Publication, RRset, Zone
from dnspanel.zones.publishing import pieces
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone

pytestmark = pytest.mark.django_db(transaction=True)

MANY = "/bulk/rrsets"
TTL = {"op": "set-ttl", "ttl": 60}


@pytest.fixture
def other(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "ftp 300 A 192.0.2.50", name="other.test.")


@pytest.mark.usefixtures("zone", "other")
def test_a_dry_run_then_one_publication_and_one_undo(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_RRSETS", 1)
    body = {"q": "type:a 192.0.2.1", "act": {"op": "replace-text", "find": "192.0.2.1", "replacement": "192.0.2.7"}}
    before = Publication.objects.count()
    answer = call("POST", f"{MANY}?dry_run=true", body)
    preview = json.loads(answer.content)
    assert Publication.objects.count() == before
    assert [preview[name] for name in ("changed", "changed_zones", "unchanged", "refused")] == [2, 2, 0, 0]
    assert [(each["zone"], each["before"]["rdata"], each["after"]["rdata"]) for each in preview["examples"]] == [
        ("example.test.", ["192.0.2.1", "192.0.2.2"], ["192.0.2.2", "192.0.2.7"]),
        ("other.test.", ["192.0.2.1"], ["192.0.2.7"]),
    ]
    written = call.good("POST", MANY, {**body, "reason": "moved"}, if_match=answer["ETag"])
    assert Publication.objects.count() == before + 1
    assert [moved["zone"] for moved in written["zones"]] == ["example.test.", "other.test."]
    assert written["outcome"]["changed"] == 2
    call.good("POST", f"/publications/{written['publication']['sequence']}/undo", {})
    assert RRset.objects.filter(rdata__contains=["192.0.2.1"]).count() == 2


@pytest.mark.usefixtures("zone", "other")
def test_what_changed_since_the_dry_run_refuses_it(call: Caller) -> None:
    body = {"q": "type:a", "act": TTL}
    tag = call("POST", f"{MANY}?dry_run=true", body)["ETag"]
    call.good("PATCH", "/zones/other.test./rrsets/ftp/A", {"ttl": 900})
    problem = call.problem(412, "POST", MANY, body, if_match=tag)
    assert problem["theirs"]["changed"] == 4


@pytest.mark.usefixtures("zone", "other")
def test_the_same_key_publishes_once(call: Caller) -> None:
    body = {"rrsets": [{"zone": "other.test", "name": "www", "type": "A"}], "act": TTL}
    first = call.good("POST", MANY, body, idempotency_key="many-1")
    assert call.good("POST", MANY, body, idempotency_key="many-1") == first
    assert call.good("POST", MANY, body)["publication"] is None
    assert call.good("POST", MANY, body)["outcome"]["unchanged"] == 1


@pytest.mark.usefixtures("zone", "other")
@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (TTL, (60, ["192.0.2.50"], [], "")),
        ({"op": "set-values", "values": ["192.0.2.8"]}, (300, ["192.0.2.8"], [], "")),
        ({"op": "add-values", "values": ["192.0.2.8"]}, (300, ["192.0.2.8", "192.0.2.50"], [], "")),
        ({"op": "disable"}, (300, ["192.0.2.50"], ["192.0.2.50"], "")),
        ({"op": "set-comment", "comment": "x"}, (300, ["192.0.2.50"], [], "x")),
        (
            {"op": "replace-text", "find": "192.*", "replacement": "193.*", "pattern": True},
            (300, ["193.0.2.50"], [], ""),
        ),
        ({"op": "enable"}, (300, ["192.0.2.50"], [], "")),
    ],
    ids=lambda value: value["op"] if isinstance(value, dict) else "",
)
def test_every_act(call: Caller, act: dict[str, Any], expected: tuple[Any, ...]) -> None:
    call.good("POST", MANY, {"q": "zone:other name:ftp", "act": act})
    found = call.get("/zones/other.test./rrsets/ftp/A")
    assert tuple(found[name] for name in ("ttl", "rdata", "disabled", "comment")) == expected


@pytest.mark.usefixtures("zone", "other")
def test_tags_are_added_and_removed(call: Caller) -> None:
    call.good("POST", MANY, {"q": "type:a", "act": {"op": "add-tags", "tags": ["old", "web"]}})
    call.good("POST", MANY, {"q": "tag:web zone:other", "act": {"op": "remove-tags", "tags": ["old"]}})
    assert call.get("/zones/other.test./rrsets/ftp/A")["tags"] == ["web"]
    assert call.get("/zones/example.test./rrsets/www/A")["tags"] == ["old", "web"]
    problem = call.problem(422, "POST", MANY, {"q": "type:a", "act": {"op": "add-tags", "tags": ["a b"]}})
    assert problem["errors"][0]["pointer"] == "/act/tags"


@pytest.mark.usefixtures("zone", "other")
@pytest.mark.parametrize(
    "act", [{"op": "delete"}, {"op": "remove-values", "values": ["192.0.2.50"]}], ids=["delete", "remove-values"]
)
def test_what_is_deleted_is_guarded(call: Caller, act: dict[str, Any], make_zone: MakeZone) -> None:
    make_zone(*(f"h{number} 300 A 192.0.2.50" for number in range(9)), name="large.test.")
    body = {"q": "has:192.0.2.50", "act": act}
    preview = call.good("POST", f"{MANY}?dry_run=true", body)
    assert [guarded["zone"] for guarded in preview["guard"]] == ["large.test."]
    assert preview["examples"][0]["after"] is None
    call.problem(409, "POST", MANY, body)
    call.good("POST", MANY, {**body, "confirm": True})
    assert not RRset.objects.filter(rdata__contains=["192.0.2.50"]).exists()


@pytest.mark.usefixtures("zone", "other")
def test_what_is_no_value_or_not_allowed_is_named_and_the_rest_is_published(make_caller: MakeCaller) -> None:
    reading = Grant(frozenset({Right.READ}), everywhere=True)
    caller = make_caller(reading, Grant(frozenset(Right), everywhere=True, names=("ftp",)))
    written = caller.good("POST", MANY, {"q": "zone:other type:a", "act": TTL})
    assert [(each["zone"], each["name"]) for each in written["outcome"]["refusals"]] == [
        ("other.test.", "www.other.test.")
    ]
    assert (written["outcome"]["changed"], written["outcome"]["refused"]) == (1, 1)
    act = {"op": "add-values", "values": ["nonsense"]}
    preview = caller.good("POST", f"{MANY}?dry_run=true", {"q": "name:ftp", "act": act})
    assert (preview["changed"], preview["refused"]) == (0, 1)


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"act": TTL}, "/q"),
        ({"q": "", "act": TTL}, "/q"),
        ({"q": "typ:a", "act": TTL}, "/q"),
        ({"q": "ttl:soon", "act": TTL}, "/q"),
        ({"q": "x", "rrsets": [{"zone": "a", "name": "b", "type": "A"}], "act": TTL}, "/q"),
        ({"rrsets": [{"zone": "a.test", "name": "b.test.", "type": "A"}], "act": TTL}, "/rrsets/0/name"),
        ({"q": "x", "act": {"op": "burn"}}, "/act/op"),
        ({"q": "x", "act": {"op": "set-ttl"}}, "/act/ttl"),
        ({"q": "x", "act": {"op": "enable", "ttl": 5}}, "/act/ttl"),
        ({"q": "x", "act": {"op": "replace-text", "find": "a", "replacement": "*", "pattern": True}}, "/act/find"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(call: Caller, body: Any, pointer: str) -> None:
    problem = call.problem(422, "POST", MANY, body)
    assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


@pytest.mark.usefixtures("zone", "other")
def test_more_than_can_be_changed_at_once_are_too_large(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dnspanel.zones.runs.many_zones.MOST_SELECTED", 2)
    assert selection.MOST_SELECTED == 20_000
    call.problem(413, "POST", MANY, {"q": "type:a", "act": TTL})
