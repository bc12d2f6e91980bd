"""Tests of zone history in API v2, and of undo and restore, which keep later changes by others."""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.zones.models import Operation, Publication, Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone, content, replace

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/zones/example.test."
WWW = PATH + "/rrsets/www/A"


@pytest.fixture
def changed(call: Caller, zone: Zone) -> int:
    """Create revision 2 with a change to www. Return the sequence of its publication."""
    return int(call.good("PUT", WWW + "?reason=move", content("192.0.2.7"))["publication"]["sequence"])


def test_revisions_are_listed_and_shown_with_what_they_changed(call: Caller, zone: Zone, changed: int) -> None:
    listed = call.all(PATH + "/revisions?limit=1")
    assert [(item["revision"], item["kind"], item["reason"]) for item in listed] == [
        (2, "change", "move"),
        (1, "create", ""),
    ]
    displayed = call.get(PATH + "/revisions/2")
    (change,) = displayed.pop("changes")
    assert displayed == {**listed[0], "left_out": 0}
    assert (change["before"]["rdata"], change["after"]["rdata"]) == (["192.0.2.1", "192.0.2.2"], ["192.0.2.7"])
    for number in (0, 3, 2**40):
        call.problem(404, "GET", f"{PATH}/revisions/{number}")


def test_revisions_are_found_by_the_name_that_they_changed(
    call: Caller, make_caller: MakeCaller, zone: Zone, changed: int
) -> None:
    call.good("PUT", PATH + "/rrsets/mail/A", content("192.0.2.10"))
    for name in ("www", "www.example.test.", "WWW"):
        assert [item["revision"] for item in call.all(f"{PATH}/revisions?name={name}")] == [2]
    assert [item["revision"] for item in call.all(PATH + "/revisions?name=mail")] == [3]
    assert call.all(PATH + "/revisions?name=nothing") == []
    call.problem(422, "GET", PATH + "/revisions?name=www.other.test.")
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}), names=("mail",)))
    assert [item["revision"] for item in narrow.all(PATH + "/revisions?name=mail")] == [3]
    assert narrow.all(PATH + "/revisions?name=www") == []


def test_a_zone_is_shown_as_it_was(call: Caller, zone: Zone, changed: int) -> None:
    then = {(item["name"], item["type"]): item["rdata"] for item in call.all(PATH + "/revisions/1/rrsets?limit=4")}
    assert len(then) == 6
    assert then["www.example.test.", "A"] == ["192.0.2.1", "192.0.2.2"]


def test_a_revision_is_undone_and_the_rest_stays(call: Caller, zone: Zone, changed: int) -> None:
    call.good("PUT", PATH + "/rrsets/mail/A", content("192.0.2.10"))
    result = call.good("POST", PATH + "/revisions/2/undo", {"reason": "back"})
    assert (result["zones"][0]["revision"], result["publication"]["reason"]) == (4, "back")
    assert call.get(WWW)["rdata"] == ["192.0.2.1", "192.0.2.2"]
    assert call.get(PATH + "/rrsets/mail/A")["rdata"] == ["192.0.2.10"]
    assert call.good("POST", PATH + "/revisions/2/undo", {})["publication"] is None


def test_what_others_changed_since_is_not_undone(call: Caller, zone: Zone, changed: int) -> None:
    call.good("PUT", WWW, content("192.0.2.8"))
    problem = call.problem(409, "POST", PATH + "/revisions/2/undo", {})
    (conflict,) = problem["conflicts"]
    assert (problem["code"], conflict["theirs"]["rdata"], conflict["base"]["rdata"]) == (
        "changed-by-others",
        ["192.0.2.8"],
        ["192.0.2.7"],
    )


def test_an_undo_can_wait_in_the_draft(call: Caller, zone: Zone, changed: int) -> None:
    call.good("POST", PATH + "/revisions/2/undo", {"into": "draft"})
    assert Publication.objects.count() == 2
    assert call.get("/draft")["operations"] == 1
    call.problem(409, "POST", PATH + "/revisions/2/undo", {"into": "draft"})


def test_an_undo_into_the_draft_changes_all_zones_or_none(
    call: Caller, make_caller: MakeCaller, zone: Zone, make_zone: MakeZone
) -> None:
    other = make_zone("www 300 A 192.0.2.50", name="other.test.")
    names = ["example.test.", "other.test."]
    body = {"zones": [{"zone": name, "changes": [replace("www", "A", "192.0.2.7")]} for name in names]}
    undo = f"/publications/{call.good('POST', '/bulk', body)['publication']['sequence']}/undo"
    narrow = make_caller(
        Grant(EVERY_RIGHT, zones=frozenset({zone.pk})), Grant(EVERY_RIGHT, zones=frozenset({other.pk}), names=("mail",))
    )
    narrow.problem(403, "POST", undo, {"into": "draft"})
    assert not Operation.objects.exists()
    call.good("POST", undo, {"into": "draft"})
    assert Operation.objects.count() == 2


def test_a_creation_is_not_undone(call: Caller, zone: Zone) -> None:
    assert call.problem(409, "POST", PATH + "/revisions/1/undo", {})["code"] == "conflict"


def test_a_publication_is_undone_in_all_its_zones(call: Caller, zone: Zone, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.50", name="other.test.")
    names = ["example.test.", "other.test."]
    body = {"zones": [{"zone": name, "changes": [replace("www", "A", "192.0.2.7")]} for name in names]}
    sequence = call.good("POST", "/bulk", body)["publication"]["sequence"]
    assert len(call.good("POST", f"/publications/{sequence}/undo", {})["zones"]) == 2
    assert call.get("/zones/other.test./rrsets/www/A")["rdata"] == ["192.0.2.50"]


def test_a_zone_goes_back_to_a_revision(call: Caller, zone: Zone, changed: int) -> None:
    call.good("PUT", PATH + "/rrsets/new/A", content("192.0.2.10"))
    result = call.good("POST", PATH + "/revisions/1/restore", {"confirm": True})
    assert (result["zones"][0]["changed"], result["zones"][0]["removed"]) == (1, 1)
    assert call.get(WWW)["rdata"] == ["192.0.2.1", "192.0.2.2"]
    assert call.good("POST", PATH + "/revisions/1/restore", {"into": "draft"})["publication"] is None


def test_a_narrow_token_sees_and_undoes_only_its_part(
    call: Caller, make_caller: MakeCaller, zone: Zone, changed: int
) -> None:
    rights = frozenset({Right.READ, Right.CHANGE})
    narrow = make_caller(Grant(rights, zones=frozenset({zone.pk}), names=("mail",)))
    assert narrow.get(PATH + "/revisions/2")["changes"] == []
    assert [item["name"] for item in narrow.all(PATH + "/revisions/1/rrsets")] == ["mail.example.test."]
    call.good("PUT", WWW, content("192.0.2.8"))
    assert "conflicts" not in narrow.problem(403, "POST", PATH + "/revisions/2/undo", {})


def test_a_narrow_token_lists_all_revisions_without_their_contents(
    call: Caller, make_caller: MakeCaller, zone: Zone, changed: int
) -> None:
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}), names=("mail",)))
    hidden = {"actor": None, "reason": ""}
    assert narrow.all(PATH + "/revisions") == [{**item, **hidden} for item in call.all(PATH + "/revisions")]


def test_a_narrow_token_does_not_see_others_reasons_and_authors(
    call: Caller, make_caller: MakeCaller, zone: Zone, changed: int
) -> None:
    """Regression test: a router's token could read colleagues' names and the reasons for their changes to the zone."""
    narrow = make_caller(Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("www",)))
    full = make_caller(Grant(EVERY_RIGHT, zones=frozenset({zone.pk})))
    own = narrow.good("PUT", WWW + "?reason=mine", content("192.0.2.8"))["publication"]

    def told(caller: Caller) -> list[object]:
        revision, listed = caller.get(PATH + "/revisions/2"), caller.all(PATH + "/revisions")[1]
        publication = caller.get(f"/publications/{changed}")
        in_list = next(each for each in caller.all("/publications") if each["sequence"] == changed)
        found = [(each["actor"] is not None, each["reason"]) for each in (revision, listed, publication, in_list)]
        actors = {str(each["actor"]) for each in (revision, listed, publication, in_list)}
        changed_by = {str(each["changed_by"]) for each in (caller.get(PATH), caller.all("/zones")[0])}
        return [*found, actors, changed_by]

    assert told(narrow) == [*[(False, "")] * 4, {"None"}, {"None"}]
    assert told(full)[:4] == [(True, "move")] * 4
    mine, others = call.get("/me")["token"], full.get("/me")["token"]
    acted = {"kind": "token", "user": "alice", "token": {name: mine[name] for name in ("id", "prefix", "purpose")}}
    assert told(full)[4] == {str(acted)}
    assert full.get(PATH)["changed_by"] == own["actor"]
    assert (own["actor"]["kind"], own["actor"]["user"], own["reason"]) == ("token", "alice", "mine")
    assert others["id"] != mine["id"] != own["actor"]["token"]["id"]
    assert [row["reason"] for row in narrow.all(PATH + "/revisions")] == ["mine", "", ""]
