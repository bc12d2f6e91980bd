"""Tests of publish requests, approval rules (`resources.publish_rules`), freezes, and refusals in API v1."""

from collections.abc import Collection
from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission, Right
from dnspanel.accounts.models import User
from dnspanel.zones.models import Zone
from dnspanel.zones.requests.publish_requests import publish_due
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, content
from tests.dnspanel.taken_back import REASON, take_back
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

APPROVING = frozenset({Permission.FLEET, Permission.APPROVE})
WWW = "/zones/example.test./rrsets/www/A"
DRAFT = "/draft/zones/example.test./rrsets/www/A"


@pytest.fixture
def governor(make_caller: MakeCaller) -> Caller:
    """Return a client whose token has an administrator's rights over all zones."""
    return make_caller(Grant(frozenset(Right), everywhere=True))


@pytest.fixture
def erin(db: None) -> User:
    return make_person("erin", "editor")


def ask(call: Caller, **more: object) -> str:
    """Create a publish request with one change. Return its path."""
    call.good("PUT", DRAFT, {"wanted": content("192.0.2.7")})
    return f"/requests/{call.good('POST', '/requests', {'name': 'Move', **more})['key']}"


def test_a_direct_change_is_refused_with_the_way_to_ask_and_the_request_is_approved(
    call: Caller, make_caller: MakeCaller, governor: Caller, erin: User, zone: Zone
) -> None:
    rule = governor.good(
        "POST", "/approval-rules", {"zone": "example.test.", "reason": "Four eyes", "approver_role": "editor"}
    )
    assert (rule["needed"], rule["approvers"]) == (1, "editors and above")
    problem = call.problem(403, "PUT", WWW, content("192.0.2.7"))
    assert problem["type"].endswith("/approval-needed")
    assert "POST /api/v2/requests" in problem["detail"]
    path = ask(call, reason="The new web")
    found = call.get(path)
    assert (found["state"], found["may_approve"], found["may_publish"]) == ("open", False, False)
    assert found["demands"][0]["given"] == 0
    assert found["plans"][0]["changes"][0]["after"]["rdata"] == ["192.0.2.7"]
    own = make_caller(permissions=APPROVING)
    own.problem(409, "POST", f"{path}/approve", {"digest": found["digest"]})
    call.problem(409, "POST", f"{path}/publish", {})
    other = make_caller(owner=erin, permissions=APPROVING)
    assert [item["name"] for item in other.all("/requests?which=waiting&limit=1")] == ["Move"]
    assert other.all("/requests?limit=1") == []
    other.problem(409, "POST", f"{path}/approve", {"digest": "of something else"})
    approved = other.good("POST", f"{path}/approve", {"digest": found["digest"], "text": "Good"})
    assert [(note["actor"]["user"], note["verdict"], note["stale"]) for note in approved["notes"]] == [
        ("erin", "approve", False)
    ]
    assert approved["may_publish"]
    ended = call.good("POST", f"{path}/publish", {})
    assert (ended["state"], ended["publication"] is not None, ended["taken_back"]) == ("published", True, None)
    assert call.get(WWW)["rdata"] == ["192.0.2.7"]
    take_back(ended["publication"])
    assert call.get(path)["taken_back"] == REASON
    assert governor("DELETE", f"/approval-rules/{rule['id']}").status_code == 204
    call.good("PUT", WWW, content("192.0.2.8"))


@pytest.mark.parametrize("rights", [{Right.READ}, EVERY_RIGHT])
def test_a_token_approves_and_declines_only_by_the_permission(
    call: Caller, make_caller: MakeCaller, governor: Caller, erin: User, zone: Zone, rights: Collection[Right]
) -> None:
    """Regression test: an administrator's monitoring token could approve requests."""
    governor.good("POST", "/approval-rules", {"reason": "Four eyes", "approver_role": "editor"})
    path = ask(call)
    scope = Grant(frozenset(rights), everywhere=True)
    other = make_caller(scope, owner=erin)
    found = other.get(path)
    assert not found["may_approve"]
    other.problem(403, "POST", f"{path}/approve", {"digest": found["digest"]})
    other.problem(403, "POST", f"{path}/decline", {"text": "No"})
    assert other.get(path)["notes"] == []
    approver = make_caller(scope, owner=erin, permissions=APPROVING)
    assert approver.get(path)["may_approve"]
    approver.good("POST", f"{path}/approve", {"digest": found["digest"]})


def test_a_request_is_declined_commented_and_withdrawn(
    call: Caller, make_caller: MakeCaller, governor: Caller, erin: User, zone: Zone
) -> None:
    governor.good("POST", "/approval-rules", {"reason": "Four eyes", "approver_role": "editor"})
    path = ask(call)
    other = make_caller(owner=erin, permissions=APPROVING)
    other.good("POST", f"{path}/comment", {"text": "Why?"})
    other.problem(409, "POST", f"{path}/decline", {})
    assert other.good("POST", f"{path}/decline", {"text": "No"})["state"] == "declined"
    (named,) = call.all("/drafts?limit=1")
    again = call.good("POST", "/requests", {"draft": named["key"]})
    assert call.good("POST", f"/requests/{again['key']}/withdraw", {})["state"] == "withdrawn"
    assert [item["state"] for item in call.all("/requests?limit=1")] == ["withdrawn", "declined"]


def test_past_the_rules_goes_who_governs_with_a_reason(
    call: Caller, make_caller: MakeCaller, governor: Caller, erin: User, zone: Zone
) -> None:
    governor.good("POST", "/approval-rules", {"reason": "Four eyes"})
    path = ask(call)
    other = make_caller(owner=erin, permissions=APPROVING)
    other.problem(403, "POST", f"{path}/past-rules", {"text": "Fire"})
    governor.problem(422, "POST", f"{path}/past-rules", {})
    call.problem(404, "POST", f"{path}/dance", {})
    call.problem(403, "POST", f"{path}/past-rules", {"text": "Fire"})  # an administrator's token without the permission
    assert governor.good("POST", f"{path}/past-rules", {"text": "Fire"})["state"] == "past-rules"
    assert [item["name"] for item in other.all("/requests?which=past-rules&limit=1")] == ["Move"]


def test_a_draft_is_planned_and_published_at_its_time(call: Caller, zone: Zone) -> None:
    at = timezone.now() + timedelta(hours=2)
    path = ask(call, publish_at=at.isoformat())
    assert call.good("POST", f"{path}/plan", {"publish_at": None})["publish_at"] is None
    call.problem(409, "POST", f"{path}/plan", {"publish_at": "2020-01-01T00:00:00Z"})
    call.good("POST", f"{path}/plan", {"publish_at": at.isoformat()})
    assert publish_due(now=at) == 1
    assert call.get(path)["state"] == "published"


def test_a_frozen_zone_is_refused_until_the_freeze_is_lifted(call: Caller, governor: Caller, zone: Zone) -> None:
    now = timezone.now()
    times = {"starts_at": (now - timedelta(hours=1)).isoformat(), "ends_at": (now + timedelta(hours=1)).isoformat()}
    freeze = governor.good("POST", "/freezes", {"reason": "A move", "tag": "", **times})
    problem = call.problem(403, "PUT", WWW, content("192.0.2.7"))
    assert (problem["type"].rsplit("/", 1)[1], "A move" in problem["detail"]) == ("frozen", True)
    governor.problem(422, "POST", "/freezes", {"reason": "A move", "repeats": "FREQ=SECONDLY", **times})
    assert [item["reason"] for item in governor.all("/freezes?limit=1")] == ["A move"]
    assert governor.get(f"/freezes/{freeze['id']}")["repeats"] == ""
    assert governor("DELETE", f"/freezes/{freeze['id']}").status_code == 204
    governor.problem(404, "GET", f"/freezes/{freeze['id']}")
    call.good("PUT", WWW, content("192.0.2.7"))


def test_a_rule_names_tokens_that_are_known_and_teams_that_there_are(governor: Caller, zone: Zone) -> None:
    governor.problem(422, "POST", "/approval-rules", {"reason": "Four eyes", "tokens": [2_000_000_000]})
    governor.problem(422, "POST", "/approval-rules", {"reason": "Four eyes", "approver_team": 2_000_000_000})
    governor.problem(404, "POST", "/approval-rules", {"reason": "Four eyes", "zone": "no.test."})
    rule = governor.good("POST", "/approval-rules", {"reason": "Big", "needed": 0, "ticket": "OPS-#", "types": ["MX"]})
    assert [item["types"] for item in governor.all("/approval-rules?limit=1")] == [["MX"]]
    assert governor.get(f"/approval-rules/{rule['id']}")["ticket"] == "OPS-#"


def test_api_v1_is_refused_with_the_way_to_ask(call: Caller, governor: Caller, zone: Zone) -> None:
    governor.good("POST", "/approval-rules", {"reason": "Four eyes"})
    rrset = {"name": "www.example.test.", "type": "A", "ttl": 60, "changetype": "REPLACE"}
    body = {"rrsets": [{**rrset, "records": [{"content": "192.0.2.7", "disabled": False}]}]}
    url = "/api/v1/servers/localhost/zones/example.test."
    answered = call("PATCH", url, body, X_API_Key=call.secret)
    assert answered.status_code == 403
    assert "POST /api/v2/requests" in answered.json()["error"]
