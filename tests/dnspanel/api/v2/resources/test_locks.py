"""Tests of locks in the API: place, list, lift, and the message to a writer that a lock stops."""

import pytest

from dnspanel.zones.models import Lock, RRset, Zone
from tests.dnspanel.api.v2.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)

LOCKS = "/zones/example.test./locks"
WWW = "/zones/example.test./rrsets/www/A"
A = {"ttl": 60, "rdata": ["192.0.2.77"]}


def lock(call: Caller, **values: object) -> int:
    answer = call("POST", LOCKS, {"name": "www", "type": "A", "reason": "Managed by Terraform", **values})
    assert answer.status_code == 201, answer.content
    return Lock.objects.latest("pk").pk


def test_who_is_kept_out_is_told_why(call: Caller, zone: Zone) -> None:
    pk = lock(call)
    problem = call.problem(403, "PUT", WWW, A)
    assert problem["code"] == "locked"
    assert problem["detail"] == "A www.example.test is locked: Managed by Terraform."
    assert call.get(f"{LOCKS}/{pk}")["reason"] == "Managed by Terraform"
    call.problem(412, "DELETE", f"{LOCKS}/{pk}", if_match='"other"')
    assert call("DELETE", f"{LOCKS}/{pk}").status_code == 204
    assert call("PUT", WWW, A).status_code == 202
    assert RRset.objects.get(zone=zone, name="www.example.test.", type=1).rdata == ["192.0.2.77"]
    call.problem(404, "DELETE", f"{LOCKS}/{pk}")


def test_a_lock_of_ones_own_lets_its_token_through(call: Caller, zone: Zone) -> None:
    lock(call, mine=True)
    assert call("PUT", WWW, A).status_code == 202
    [found] = call.get(LOCKS)["items"]
    assert (found["name"], found["type"], found["reason"]) == ("www.example.test.", "A", "Managed by Terraform")
    assert found["manager"].startswith("the token ")
    lock(call, name="", type="")
    assert [each["name"] for each in call.get(LOCKS)["items"]] == ["www.example.test.", None]
    call.problem(403, "PUT", "/zones/example.test./rrsets/other/A", A)


@pytest.mark.parametrize(
    ("values", "pointer"),
    [
        ({"name": "www.other.test."}, "/name"),
        ({"name": "a..b"}, "/name"),
        ({"type": "NOTHING"}, "/type"),
        ({"name": ""}, "/type"),
        ({"reason": ""}, "/reason"),
    ],
)
def test_what_cannot_be_locked_is_refused_at_its_place(
    values: dict[str, str], pointer: str, call: Caller, zone: Zone
) -> None:
    body = {"name": "www", "type": "A", "reason": "a test", **values}
    assert call.problem(422, "POST", LOCKS, body)["errors"][0]["pointer"] == pointer
    assert not Lock.objects.exists()
