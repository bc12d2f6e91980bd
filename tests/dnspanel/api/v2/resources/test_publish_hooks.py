"""Tests of publish hooks in API v2, and of the refusal by a hook in both APIs."""

import json

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, content
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "/zones/example.test./rrsets/www/A"


@pytest.fixture
def governor(make_caller: MakeCaller) -> Caller:
    """Return a client whose token has an administrator's rights over all zones."""
    return make_caller(Grant(frozenset(Right), everywhere=True))


def test_a_hook_is_placed_listed_and_lifted_and_its_secret_is_told_once(governor: Caller, zone: Zone) -> None:
    placed = governor.good("POST", "/publish-hooks", {"url": "https://9.9.9.9/", "tag": "shop", "reason": "Names"})
    assert placed["secret"].startswith("whsec_")
    assert (placed["seconds"], placed["when_silent"], placed["zone"]) == (5, "refuse", None)
    found = governor.get(f"/publish-hooks/{placed['id']}")
    assert "secret" not in found
    assert [item["reason"] for item in governor.all("/publish-hooks?limit=1")] == ["Names"]
    assert governor("DELETE", f"/publish-hooks/{placed['id']}").status_code == 204
    governor.problem(404, "GET", f"/publish-hooks/{placed['id']}")
    governor.problem(422, "POST", "/publish-hooks", {"url": "https://10.0.0.1/", "reason": "Names"})
    governor.problem(422, "POST", "/publish-hooks", {"url": "https://9.9.9.9/", "reason": "Names", "seconds": 60})


def test_a_hook_is_tested_changed_and_rotated_and_tells_how_it_answers(governor: Caller, answering: Answering) -> None:
    placed = governor.good("POST", "/publish-hooks", {"url": answering.url, "tag": "shop", "reason": "Names"})
    path, answering.secret = f"/publish-hooks/{placed['id']}", placed["secret"]
    answering.allow(reason="Fine", ticket="OPS-7")
    tested = governor.good("POST", f"{path}/test")
    assert (tested["answer"], tested["reason"], tested["ticket"]) == ("yes", "Fine", "OPS-7")
    answering.answer(500)
    assert governor.good("POST", f"{path}/test")["answer"] == "silent"
    health = governor.get(f"{path}/health")
    assert (health["failures"], health["error"]) == (1, "the response has status 500.")
    assert [(each["answer"], each["test"]) for each in health["replies"]] == [("silent", True), ("yes", True)]
    assert health["median_ms"] > 0
    assert governor.get(path)["failing_since"] == health["failing_since"]
    changed = governor.good("PATCH", path, {"name": "Naming rules", "seconds": 2, "tag": ""})
    assert (changed["name"], changed["seconds"], changed["tag"]) == ("Naming rules", 2, "")
    assert (changed["url"], changed["failing_since"]) == (answering.url, None)
    governor.problem(422, "PATCH", path, {"url": "https://10.0.0.1/"})
    governor.problem(412, "PATCH", path, {"seconds": 3}, if_match='"another"')
    rotated = governor.good("POST", f"{path}/rotate")["secret"]
    assert rotated not in {None, placed["secret"]}
    answering.secret = rotated
    answering.allow()
    assert governor.good("POST", f"{path}/test")["answer"] == "yes"


def test_both_apis_are_refused_with_the_reason_of_the_hook(
    call: Caller, governor: Caller, alice: User, zone: Zone, answering: Answering
) -> None:
    placed = governor.good("POST", "/publish-hooks", {"url": answering.url, "reason": "Names"})
    answering.secret = placed["secret"]
    answering.refuse("No names like that.")
    problem = call.problem(403, "PUT", WWW, content("192.0.2.7"))
    assert problem["type"].endswith("/hook-refused")
    assert "No names like that." in problem["detail"]
    answering.refuse("No names like that.")
    rrset = {"name": "www.example.test.", "type": "A", "ttl": 60, "changetype": "REPLACE"}
    sent = {"rrsets": [{**rrset, "records": [{"content": "192.0.2.7", "disabled": False}]}]}
    path = "/api/v1/servers/localhost/zones/example.test."
    refused = governor("PATCH", path, sent, x_api_key=governor.secret)
    assert refused.status_code == 403
    assert "No names like that." in json.loads(refused.content)["error"]
    answering.allow()
    call.good("PUT", WWW, content("192.0.2.7"))
