"""Tests of key rollovers in API v2, and of `dnssec.rollover_queries`. Tests `schema.rollover_serializers` too."""

from datetime import timedelta

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Channel, Publication, Rollover, Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.api.callers import MakeApi
from tests.dnspanel.api.v2.conftest import MakeCaller
from tests.dnspanel.api.v2.conftest import make_caller as make_caller
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

URL = "/api/v2/zones/example.test./dnssec"
ROLLOVERS, KINDS, ALL = f"{URL}/rollovers", f"{URL}/rollover-kinds", "/api/v2/dnssec/rollovers"


@pytest.fixture
def signed(make_zone: MakeZone) -> Zone:
    zone = make_zone()
    sign.sign(zones=[zone], acting=Acting(None, Channel.API, NOW))
    zone.refresh_from_db()
    return zone


def test_a_rollover_is_begun_followed_and_cancelled(api: MakeApi, signed: Zone) -> None:
    [key] = queries.keys_of(signed)
    begun = api().post(f"{ROLLOVERS}?reason=yearly", {"kind": "csk"})
    assert begun.status_code == 202
    found = begun.json()["rollover"]
    assert begun.json()["publication"]["reason"] == "yearly"
    assert (found["zone"], found["kind"], found["step"], found["old_keys"]) == (signed.name, "csk", "publish", [key.id])
    assert found["waits_for"] == "Waiting for all nodes to serve this step."
    assert (found["started_by"]["user"], found["ended_at"], found["cancelled"]) == ("alice", None, False)
    assert [each["state"] for each in found["steps"]][:2] == ["current", "to-come"]
    assert len(api().get(f"{URL}/keys").json()["items"]) == 2

    url = begun.headers["Location"]
    read = api().get(url)
    assert read.json() == found
    assert api().get(url, headers={"If-None-Match": read.headers["ETag"]}).status_code == 304
    assert api().get(ROLLOVERS).json()["items"] == api().get(ALL).json()["items"] == [found]
    assert api().post(ROLLOVERS, {"kind": "csk"}).json()["code"] == "dnssec-refused"

    assert "parent" in api().post(f"{url}/cancel", {}).json()["detail"]  # the parent was not asked yet
    Rollover.objects.update(parent_silent="")
    back = api().post(f"{url}/cancel", {})
    assert back.status_code == 202, back.json()
    assert back.json()["rollover"]["step"] != found["step"]
    assert [each["id"] for each in api().get(f"{URL}/keys").json()["items"]] == [key.id]  # the new key has not signed
    Rollover.objects.update(ended_at=NOW + timedelta(days=1), is_cancelled=True)
    assert api().get(ALL).json()["items"] == []
    assert api().get(url).json()["cancelled"] is True
    assert "has ended" in api().post(f"{url}/cancel", {}).json()["detail"]
    assert api().get(f"{ROLLOVERS}/{2**40}").status_code == 404


def test_a_retry_begins_one(api: MakeApi, signed: Zone) -> None:
    first, again = (api().post(ROLLOVERS, {"kind": "csk"}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json() == again.json()
    assert (Rollover.objects.count(), Publication.objects.count()) == (1, 3)


def test_the_kinds_say_what_is_possible_and_what_breaks(api: MakeApi, signed: Zone) -> None:
    kinds = {each["kind"]: each for each in api().get(KINDS).json()["items"]}
    assert [kind for kind, each in kinds.items() if each["refusal"] is None] == [
        "csk",
        "algorithm",
        "insecure",
        "secure",
    ]
    assert "SERVFAIL" in kinds["csk"]["emergency_breaks"]
    assert kinds["zsk"]["emergency_breaks"] is None
    gone = api().post(ROLLOVERS, {"kind": "csk", "emergency": True})
    assert gone.json()["rollover"]["emergency"] is True
    [key] = api().get(f"{URL}/keys").json()["items"]
    assert gone.json()["rollover"]["new_keys"] == [key["id"]]


def test_what_cannot_be_is_refused_where_it_stands(api: MakeApi, signed: Zone, make_zone: MakeZone) -> None:
    for body, told in (
        ({"kind": "zsk"}, "dnssec-refused"),
        ({"kind": "all"}, "/kind"),
        ({"kind": "csk", "algorithm": 15}, "/algorithm"),
        ({"kind": "algorithm"}, "/algorithm"),
        ({"kind": "algorithm", "algorithm": 5}, "/algorithm"),
        ({"kind": "algorithm", "algorithm": 8, "bits": 1024}, "/bits"),
        ({"kind": "insecure", "emergency": True}, "/emergency"),
    ):
        problem = api().post(ROLLOVERS, body).json()
        assert told in (problem["code"], *(fault.get("pointer") for fault in problem["errors"])), problem
    make_zone(name="plain.test.")
    assert api().post("/api/v2/zones/plain.test./dnssec/rollovers", {"kind": "csk"}).json()["code"] == "not-signed"
    kinds = api().get("/api/v2/zones/plain.test./dnssec/rollover-kinds").json()["items"]
    assert {each["refusal"] for each in kinds} == {"The zone is not signed."}


def test_who_may_only_read_begins_none_and_reads_no_name(signed: Zone, api: MakeApi, make_caller: MakeCaller) -> None:
    begun = api().post(ROLLOVERS, {"kind": "csk"}).json()["rollover"]
    reader = make_caller(Grant(frozenset({Right.READ}), everywhere=True))
    path = "/zones/example.test./dnssec/rollovers"
    assert reader.get(path)["items"][0]["id"] == begun["id"]
    reader.problem(403, "POST", path, {"kind": "csk"})
    reader.problem(403, "POST", f"{path}/{begun['id']}/cancel", {})
