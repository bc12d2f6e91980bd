"""Tests of quotas in the API: usage and limits, and the same refusal in both APIs and by dynamic updates."""

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def limited(make_zone: MakeZone, alice: User) -> None:
    make_zone("www 300 A 192.0.2.1")
    set_quotas(of=alice, quotas={Kind.ZONES: 1, Kind.RRSETS: 3, Kind.IMPORTS: 0}, by=None, now=NOW)


def test_a_token_reads_what_its_owner_has_and_may_have(api: MakeApi) -> None:
    quotas = {each["kind"]: each for each in api(Caller.ADMINISTRATOR).get("/api/v2/me/quotas").json()["quotas"]}
    assert quotas["zones"] == {"kind": "zones", "used": 1, "limit": 1, "near": True}
    assert quotas["rrsets"] == {"kind": "rrsets", "used": None, "limit": 3, "near": False}
    assert quotas["bytes"] == {"kind": "bytes", "used": 0, "limit": None, "near": False}


def test_a_team_is_read_by_who_may_know_it(api: MakeApi) -> None:
    caller = api(Caller.ADMINISTRATOR)
    team = caller.post("/api/v2/teams", {"name": "Alpha"}).json()["id"]
    quotas = {each["kind"]: each for each in caller.get(f"/api/v2/teams/{team}/quotas").json()["quotas"]}
    assert quotas["zones"]["limit"] == 5000
    assert quotas["operations"]["used"] is None


def test_who_may_manage_people_says_what_a_team_may_have(api: MakeApi) -> None:
    caller = api(Caller.ADMINISTRATOR)
    team = caller.post("/api/v2/teams", {"name": "Alpha"}).json()["id"]
    url = f"/api/v2/teams/{team}/quotas"
    before = caller.get(url).headers["ETag"]
    terms = {"limits": {"zones": 7, "rrsets": None}}
    put = caller.send("PUT", url, terms, headers={"If-Match": before})
    quotas = {each["kind"]: each["limit"] for each in put.json()["quotas"]}
    assert (quotas["zones"], quotas["rrsets"], quotas["tokens"]) == (7, None, 500)
    assert caller.send("PUT", url, terms, headers={"If-Match": before}).status_code == 412
    entry = AuditEntry.objects.get(action="team.quotas")
    assert entry.details["quotas"] == "zones 7, rrsets unlimited"
    for wrong in ({"acres": 1}, {"zones": -1}, {"zones": "1"}):
        assert caller.send("PUT", url, {"limits": wrong}).status_code == 422
    assert api(Caller.EDITOR).send("PUT", url, terms).status_code == 404


def test_every_face_says_whose_quota_it_is(api: MakeApi) -> None:
    caller = api(Caller.ADMINISTRATOR)
    refused = caller.post("/api/v2/zones", {"name": "more.test"})
    assert (refused.status_code, refused.json()["code"]) == (409, "quota-exceeded")
    message = "Quota exceeded: limit 1 zone, used 1, requested 1. An administrator can raise your limit."
    assert refused.json()["detail"] == message
    new = {"name": "more.test.", "kind": "Native", "nameservers": []}
    v1 = caller.post("/api/v1/servers/localhost/zones", new)
    assert (v1.status_code, v1.json()["error"]) == (422, message)
    bigger = {"changes": [{"op": "replace", "name": "mail", "type": "A", "ttl": 300, "rdata": ["192.0.2.2"]}]}
    grown = caller.post("/api/v2/zones/example.test/changes", bigger)
    assert (grown.status_code, grown.json()["code"]) == (409, "quota-exceeded")
    record = {"content": "192.0.2.2", "disabled": False}
    rrset = {"name": "mail.example.test.", "type": "A", "ttl": 300, "changetype": "REPLACE", "records": [record]}
    patched = caller.patch("/api/v1/servers/localhost/zones/example.test.", {"rrsets": [rrset]})
    assert patched.status_code == 422
    assert "3 RRsets per zone" in patched.json()["error"]
    started = caller.post("/api/v2/imports", {"source": "paste", "paste": {"text": "@ A 192.0.2.1", "zone": "x.test"}})
    assert (started.status_code, started.json()["code"]) == (409, "quota-exceeded")
