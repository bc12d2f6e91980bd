"""Tests of the draft in API v2: save, review, resolve conflicts, publish, and a narrow token's view of it."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, content

pytestmark = pytest.mark.django_db(transaction=True)

DRAFT = "/draft/zones/example.test./rrsets/"
WWW = "/zones/example.test./rrsets/www/A"


def test_the_draft_holds_what_is_wanted_and_publishes_it(call: Caller, zone: Zone) -> None:
    operation = call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    assert (operation["mark"], operation["wanted"]["rdata"], operation["conflict"]) == ("changed", ["192.0.2.7"], False)
    call.good("PUT", DRAFT + "shop/CNAME", {"wanted": None})
    call.good("PUT", DRAFT + "new/A", {"wanted": content("192.0.2.8")})
    assert call.get("/draft")["zones"] == [{"zone": "example.test.", "added": 1, "changed": 1, "deleted": 1}]
    marks = [item["mark"] for item in call.all("/draft/operations?limit=1")]
    assert sorted(marks) == ["added", "changed", "deleted"]
    (plan,) = call.get("/draft/plan")["plans"]
    assert len(plan["changes"]) == 3
    assert call.get(WWW)["rdata"] == ["192.0.2.1", "192.0.2.2"]
    tag = call("GET", "/draft")["ETag"]
    result = call.good("POST", "/draft/publish", {"reason": "all", "confirm": True}, if_match=tag)
    assert (result["zones"][0]["revision"], result["publication"]["reason"]) == (2, "all")
    assert call.get("/draft")["operations"] == 0
    assert call.problem(409, "POST", "/draft/publish", {})["code"] == "nothing-to-publish"


def test_a_draft_that_is_not_what_was_read_is_not_published(call: Caller, zone: Zone) -> None:
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    tag = call("GET", "/draft")["ETag"]
    assert call("GET", "/draft", if_none_match=tag).status_code == 304
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.8")})
    call.problem(412, "POST", "/draft/publish", {}, if_match=tag)
    call.problem(412, "DELETE", "/draft", if_match=tag)
    assert Publication.objects.count() == 1


def test_an_operation_has_a_tag_of_its_own(call: Caller, zone: Zone) -> None:
    tag = call("GET", DRAFT + "www/A")["ETag"]
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")}, if_match=tag)
    problem = call.problem(412, "PUT", DRAFT + "www/A", {"wanted": content("192.0.2.8")}, if_match=tag)
    assert problem["theirs"]["wanted"]["rdata"] == ["192.0.2.7"]
    assert call("DELETE", DRAFT + "www/A").status_code == 204
    call.problem(404, "DELETE", DRAFT + "www/A")


@pytest.mark.parametrize(
    ("choice", "rdata"), [("theirs", ["192.0.2.9"]), ("mine", ["192.0.2.7"]), ("both", ["192.0.2.7", "192.0.2.9"])]
)
def test_conflicts_are_shown_and_resolved(call: Caller, zone: Zone, choice: str, rdata: list[str]) -> None:
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    call.good("PUT", WWW, content("192.0.2.9"))
    problem = call.problem(409, "POST", "/draft/publish", {})
    (conflict,) = problem["conflicts"]
    assert (conflict["base"]["rdata"], conflict["theirs"]["rdata"], conflict["mine"]["rdata"]) == (
        ["192.0.2.1", "192.0.2.2"],
        ["192.0.2.9"],
        ["192.0.2.7"],
    )
    path = f"/draft/operations/{conflict['operation']}/resolve"
    call.problem(422, "POST", path, {"choice": "none"})
    call.good("POST", path, {"choice": choice})
    call("POST", "/draft/publish", {})
    assert call.get(WWW)["rdata"] == rdata


def test_the_base_is_what_the_writer_was_looking_at(call: Caller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.9"))
    operation = call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7"), "base_revision": 1})
    assert operation["conflict"] is True


def test_warnings_must_be_accepted(call: Caller, zone: Zone) -> None:
    call.good("PUT", DRAFT + "web/CNAME", {"wanted": content("none.example.test.")})
    problem = call.problem(422, "POST", "/draft/publish", {})
    codes = [violation["code"] for violation in problem["violations"]]
    call.good("POST", "/draft/publish", {"accepted": codes})


def test_what_a_draft_cannot_want_is_pointed_at(call: Caller, zone: Zone) -> None:
    for body, pointer in (
        ({}, "/wanted"),
        ([], ""),
        ({"wanted": content("x")}, "/wanted/rdata/0"),
        ({"wanted": 5}, "/wanted"),
        ({"wanted": None, "base_revision": "x"}, "/base_revision"),
        ({"wanted": None, "more": 1}, "/more"),
    ):
        assert call.problem(422, "PUT", DRAFT + "www/A", body)["errors"][0]["pointer"] == pointer


def test_a_narrow_token_touches_only_its_part_of_its_owners_draft(
    call: Caller, make_caller: MakeCaller, zone: Zone
) -> None:
    rights = frozenset({Right.READ, Right.CHANGE, Right.ADD})
    narrow = make_caller(Grant(rights, zones=frozenset({zone.pk}), names=("mail",)))
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    narrow.good("PUT", DRAFT + "mail/A", {"wanted": content("192.0.2.8")})
    narrow.problem(403, "PUT", DRAFT + "www/A", {"wanted": None})
    assert narrow.get("/draft")["operations"] == 1
    assert [item["name"] for item in narrow.all("/draft/operations")] == ["mail.example.test."]
    assert [c["name"] for c in narrow.get("/draft/plan")["plans"][0]["changes"]] == ["mail.example.test."]
    assert narrow("DELETE", "/draft").status_code == 204
    assert [item["name"] for item in call.all("/draft/operations")] == ["www.example.test."]


def test_a_draft_belongs_to_the_tokens_owner(call: Caller, make_caller: MakeCaller, bob: User, zone: Zone) -> None:
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    assert make_caller(owner=bob).get("/draft")["operations"] == 0


def test_a_draft_is_discarded_for_one_zone_or_all(call: Caller, zone: Zone) -> None:
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    call.problem(404, "DELETE", "/draft?zone=none.test.")
    assert call("DELETE", "/draft?zone=example.test.").status_code == 204
    assert call.get("/draft")["operations"] == 0
