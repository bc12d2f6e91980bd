"""Tests of equal changes to many zones, by search and by name: dry run, real run, and the names of skipped zones."""

import json
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import Team
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.plan import deletion_guard
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

MANY = "/bulk/zones"
TAGS = {"op": "add-tags", "tags": ["EU"]}


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    return [make_zone("www 300 A 192.0.2.1", name=f"{name}.test.") for name in ("shop1", "shop2", "other")]


def tagged() -> list[str]:
    return list(Zone.objects.filter(tags__contains=["eu"]).order_by("name").values_list("name", flat=True))


def test_a_dry_run_then_tags(zones: list[Zone], call: Caller) -> None:
    body = {"q": "shop", "act": TAGS}
    answer = call("POST", f"{MANY}?dry_run=true", body)
    preview = json.loads(answer.content)
    assert (preview["changed"], preview["changed_rrsets"], preview["examples"]) == (
        2,
        6,
        ["shop1.test.", "shop2.test."],
    )
    assert tagged() == []
    done = call.good("POST", MANY, body, if_match=answer["ETag"])
    assert (done["publication"], done["outcome"]["changed"]) == (None, 2)
    assert tagged() == ["shop1.test.", "shop2.test."]
    call.problem(412, "POST", MANY, body, if_match=answer["ETag"])
    assert call.good("POST", MANY, body)["outcome"]["unchanged"] == 2
    call.good("POST", MANY, {"zones": ["shop1.test"], "act": {"op": "remove-tags", "tags": ["eu"]}})
    assert tagged() == ["shop2.test."]


def test_a_team(zones: list[Zone], call: Caller) -> None:
    team = Team.objects.create(name="web", created_at=NOW)
    body = {"q": "shop", "act": {"op": "set-team", "team": team.pk}}
    assert call.good("POST", MANY, body)["outcome"]["changed"] == 2
    assert Zone.objects.filter(team=team).count() == 2
    call.good("POST", MANY, {"q": "team:web", "act": {"op": "set-team", "team": None}})
    assert Zone.objects.filter(team=team).count() == 0
    body["act"]["team"] = team.pk + 1  # type: ignore[index]
    call.problem(422, "POST", MANY, body)


def test_a_deletion_is_one_publication(zones: list[Zone], call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 1)
    body = {"q": "shop", "act": {"op": "delete"}, "reason": "closed"}
    call.problem(409, "POST", MANY, body)
    before = Publication.objects.count()
    done = call.good("POST", MANY, {**body, "confirm": True})
    assert Publication.objects.count() == before + 1
    assert [moved["zone"] for moved in done["zones"]] == ["shop1.test.", "shop2.test."]
    assert Zone.objects.filter(deleted_at=None).count() == 1


def test_what_the_token_may_not_change_is_named(zones: list[Zone], make_caller: MakeCaller) -> None:
    reading = Grant(frozenset({Right.READ}), everywhere=True)
    caller = make_caller(reading, Grant(frozenset(Right), zones=frozenset({zones[0].pk})))
    done = caller.good("POST", MANY, {"q": "shop", "act": TAGS})
    assert tagged() == ["shop1.test."]
    assert [refusal["zone"] for refusal in done["outcome"]["refusals"]] == ["shop2.test."]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"act": TAGS}, "/q"),
        ({"q": " ", "act": TAGS}, "/q"),
        ({"q": "typ:a", "act": TAGS}, "/q"),
        ({"q": "x", "act": {"op": "add-tags"}}, "/act/tags"),
        ({"q": "x", "act": {"op": "add-tags", "tags": ["no/tag"]}}, "/act/tags"),
        ({"q": "x", "act": {"op": "delete", "team": 1}}, "/act/team"),
        ({"q": "x", "act": {"op": "burn"}}, "/act/op"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(call: Caller, body: Any, pointer: str) -> None:
    problem = call.problem(422, "POST", MANY, body)
    assert [fault["pointer"] for fault in problem["errors"]] == [pointer]
