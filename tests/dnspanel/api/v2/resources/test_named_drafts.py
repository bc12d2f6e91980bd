"""Tests of named drafts in API v2, and of a narrow token's view of them."""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.models import Operation, Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, content
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

DRAFT = "/draft/zones/example.test./rrsets/"
WWW = "/zones/example.test./rrsets/www/A"


def aside(call: Caller, name: str = "Move", **more: object) -> str:
    """Put a draft with one change aside. Return its path."""
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    return f"/drafts/{call.good('POST', '/drafts', {'name': name, **more})['key']}"


def test_a_draft_is_put_aside_reviewed_and_published(call: Caller, zone: Zone) -> None:
    path = aside(call, zones=["example.test."])
    assert call.get("/draft")["operations"] == 0
    (item,) = call.all("/drafts?limit=1")
    assert (item["name"], item["owned_by"]["user"], item["held_by"], item["operations"]) == ("Move", "alice", None, 1)
    (plan,) = call.get(f"{path}/plan")["plans"]
    assert plan["changes"][0]["after"]["rdata"] == ["192.0.2.7"]
    tag = call("GET", path)["ETag"]
    call.problem(412, "POST", f"{path}/publish", {}, if_match='"other"')
    result = call.good("POST", f"{path}/publish", {"reason": "moved"}, if_match=tag)
    assert (result["zones"][0]["revision"], result["publication"]["reason"]) == (2, "moved")
    call.problem(404, "GET", path)
    assert call.get(WWW)["rdata"] == ["192.0.2.7"]


def test_it_is_taken_up_put_back_and_discarded(call: Caller, zone: Zone) -> None:
    path = aside(call)
    call.good("PUT", DRAFT + "new/A", {"wanted": content("192.0.2.8")})
    problem = call.problem(409, "POST", f"{path}/take-up", {})
    assert "Enter a name to save" in problem["detail"]
    assert call.good("POST", f"{path}/take-up", {"aside": "Rest"})["held_by"]["user"] == "alice"
    assert call.get("/draft")["operations"] == 1
    assert [item["name"] for item in call.all("/drafts?limit=1")] == ["Rest", "Move"]
    assert call.good("POST", f"{path}/put-back", None)["held_by"] is None
    assert call("DELETE", path).status_code == 204
    assert [operation.name for operation in Operation.objects.all()] == ["new.example.test."]
    assert set(AuditEntry.objects.filter(action__startswith="draft.").values_list("action", flat=True)) == {
        "draft.put-aside", "draft.take-up", "draft.put-back", "draft.discard",
    }  # fmt: skip


def test_a_draft_that_conflicts_shows_the_three_sides(call: Caller, zone: Zone) -> None:
    path = aside(call)
    call.good("PUT", WWW, content("192.0.2.9"))
    (conflict,) = call.problem(409, "POST", f"{path}/publish", {})["conflicts"]
    assert (conflict["theirs"]["rdata"], conflict["mine"]["rdata"]) == (["192.0.2.9"], ["192.0.2.7"])


def test_a_bad_name_is_refused(call: Caller, zone: Zone) -> None:
    aside(call)
    call.problem(409, "POST", "/drafts", {"name": "Empty"})
    call.good("PUT", DRAFT + "www/A", {"wanted": content("192.0.2.7")})
    assert "with this name" in call.problem(409, "POST", "/drafts", {"name": "Move"})["detail"]
    call.problem(422, "POST", "/drafts", {"name": "x" * 81})


def test_a_narrow_token_sees_and_publishes_its_part(
    call: Caller, make_caller: MakeCaller, alice: User, zone: Zone
) -> None:
    call.good("PUT", DRAFT + "new/A", {"wanted": content("192.0.2.8")})
    path = aside(call)
    narrow = make_caller(Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("www",)))
    other = make_caller(Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("other",)))
    other.problem(404, "GET", path)
    assert other.all("/drafts") == []
    assert narrow.get(path)["operations"] == 1
    (plan,) = narrow.get(f"{path}/plan")["plans"]
    assert [change["name"] for change in plan["changes"]] == ["www.example.test."]
    assert "aren’t allowed to see" in narrow.problem(409, "POST", f"{path}/take-up", {})["detail"]
    narrow.good("POST", f"{path}/publish", {})
    assert call.get(path)["operations"] == 1
    (left,) = Operation.objects.all()
    assert left.name == "new.example.test."


def test_one_that_is_shared_is_published_by_who_may_edit_it(
    call: Caller, make_caller: MakeCaller, alice: User, bob: User, zone: Zone
) -> None:
    path = aside(call)
    theirs = make_caller(owner=bob, permissions=frozenset())
    theirs.problem(404, "GET", path)
    named = named_drafts.named_draft_page(alice)[0]
    named_drafts.share(by=alice, named=named, to=bob, may_edit=False, now=NOW)
    assert theirs.get(path)["may_edit"] is False
    theirs.problem(403, "POST", f"{path}/publish", {})
    theirs.problem(404, "DELETE", path)
    named_drafts.share(by=alice, named=named, to=bob, may_edit=True, now=NOW)
    theirs.good("POST", f"{path}/publish", {})
    assert call.get(WWW)["rdata"] == ["192.0.2.7"]
