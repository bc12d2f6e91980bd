"""Tests of runs that change many zones: a dry run, the real run, and its undo."""

from typing import Any

import pytest

from dnspanel.accounts.models import Role
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.models import Zone
from dnspanel.zones.runs import change_runs
from dnspanel.zones.signing.policies import create_policy
from tests.dnspanel.api.v2.conftest import Caller, MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
RUNS = "/change-runs"


@pytest.fixture(autouse=True)
def zones(make_zone: MakeZone) -> list[Zone]:
    return [make_zone(name=f"{name}.test.") for name in ("shop1", "shop2", "other")]


def worked(call: Caller, **body: Any) -> Any:
    """Begin a run, execute it to the end, and return it."""
    begun = call("POST", RUNS, body)
    assert begun.status_code == 202, begun.content
    while change_runs.work_on_run(begun.json()["id"]):
        pass
    return call.get(f"{RUNS}/{begun.json()['id']}")


def test_a_run_is_a_dry_run_first_then_carried_out_and_taken_back(call: Caller) -> None:
    act = {"op": "add-tags", "tags": ["EU"]}
    dry = worked(call, q="shop", act=act)
    assert (dry["dry_run"], dry["state"], dry["counts"], dry["act"]["tags"]) == (True, "done", {"change": 2}, ["eu"])
    run = worked(call, dry_run_of=dry["id"])
    assert (run["dry_run_of"], run["counts"], run["q"]) == (dry["id"], {"change": 2}, "shop")
    assert Zone.objects.filter(tags=["eu"]).count() == 2
    listed = call.all(f"{RUNS}/{run['id']}/zones?outcome=change")
    assert [(row["zone"], row["outcome"]) for row in listed] == [("shop1.test.", "change"), ("shop2.test.", "change")]
    back = worked(call, undo_of=run["id"])
    assert (back["undo_of"], back["counts"]) == (run["id"], {"change": 2})
    assert not Zone.objects.exclude(tags=[]).exists()
    assert [each["id"] for each in call.all(RUNS)] == [back["id"], run["id"], dry["id"]]


def test_zones_by_name_are_deleted_and_get_a_policy(call: Caller) -> None:
    policy = create_policy(
        name="Standard", terms=Terms(), is_default=False, by=make_person("ada", Role.ADMINISTRATOR), now=NOW
    )
    dry = worked(call, zones=["shop1.test.", "other.test."], act={"op": "set-policy", "policy": policy.pk})
    assert (dry["counts"], dry["act"]) == ({"change": 2}, {"op": "set-policy", "policy": policy.pk})
    worked(call, dry_run_of=dry["id"])
    assert worked(call, q="zone:test", act={"op": "set-policy", "policy": None})["counts"] == {
        "change": 2,
        "same": 1,
    }
    dry = worked(call, zones=["shop1.test."], act={"op": "delete"}, reason="gone")
    assert dry["zones"] == ["shop1.test."]
    worked(call, dry_run_of=dry["id"], confirm=True)
    assert not Zone.objects.filter(name="shop1.test.", deleted_at=None).exists()
    dry = worked(call, zones=["shop1.test."], act={"op": "restore"}, reason="not meant")
    assert (dry["counts"], dry["act"]) == ({"change": 1}, {"op": "restore"})
    worked(call, dry_run_of=dry["id"])
    assert Zone.objects.filter(name="shop1.test.", deleted_at=None).exists()


def test_a_run_is_cancelled(call: Caller) -> None:
    begun = call("POST", RUNS, {"q": "shop", "act": {"op": "set-team", "team": None}}).json()
    assert begun["act"] == {"op": "set-team", "team": None}
    assert call("DELETE", f"{RUNS}/{begun['id']}").status_code == 204
    assert call.get(f"{RUNS}/{begun['id']}")["state"] == "cancelled"
    call.problem(409, "POST", RUNS, {"dry_run_of": begun["id"]})


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"q": "shop"}, "/act"),
        ({"act": {"op": "delete"}}, "/q"),
        ({"q": "shop", "act": {"op": "burn"}}, "/act/op"),
        ({"q": "shop", "act": {"op": "add-tags"}}, "/act/tags"),
        ({"q": "shop", "act": {"op": "delete", "policy": 1}}, "/act/policy"),
        ({"q": "shop", "act": {"op": "set-policy", "policy": 99_999}}, "/act/policy"),
        ({"q": "typ:a", "act": {"op": "delete"}}, "/q"),
        ({"dry_run_of": 99_999}, "/dry_run_of"),
        ({"undo_of": 1, "q": "shop"}, "/undo_of"),
    ],
)
def test_what_no_run_can_be_is_pointed_at(call: Caller, body: dict[str, Any], pointer: str) -> None:
    found = call.problem(422, "POST", RUNS, body)
    assert pointer in [error["pointer"] for error in found["errors"]]
