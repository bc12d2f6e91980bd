"""Tests of name server sets in the API: create, new versions, the default for new zones, zones that follow a set."""

from typing import Any

import pytest

from dnspanel.zones.models import TemplateLink, TemplateVersion, Zone
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.transfer.zone_templates.test_server_set_text import HOUSE, OTHER, apex, make_set
from tests.dnspanel.zones.conftest import MakeZone

pytestmark = pytest.mark.django_db(transaction=True)
SETS, ZONES = "/api/v2/name-server-sets", "/api/v2/zones"
SERVERS = [{"name": "NS1.house.test", "addresses": ["2001:DB8::1", "192.0.2.1"]}, {"name": "ns2.house.test."}]


def create(api: MakeApi, **members: Any) -> str:
    made = api().post(SETS, {"name": "House", "servers": SERVERS, **members})
    assert made.status_code == 201, made.content
    return str(made.headers["Location"])


def test_a_set_is_read_as_it_was_written_and_changed_in_versions(api: MakeApi) -> None:
    url = create(api, hostmaster="dns.house.test", ttl=600, default=True)
    found = api().get(url).json()
    assert found["servers"] == [
        {"name": "ns1.house.test.", "addresses": ["192.0.2.1", "2001:db8::1"], "nodes": []},
        {"name": "ns2.house.test.", "addresses": [], "nodes": []},
    ]
    assert (found["hostmaster"], found["primary"], found["ttl"], found["default"]) == ("dns.house.test.", "", 600, True)
    assert api().get(SETS).json()["items"] == [found]
    etag = api().get(url).headers["ETag"]
    changed = api().patch(url, {"primary": "p.house.test", "default": False}, headers={"If-Match": etag}).json()
    assert (changed["version"], changed["primary"], changed["ttl"], changed["default"]) == (
        2,
        "p.house.test.",
        600,
        False,
    )
    assert api().patch(url, {"ttl": 60}, headers={"If-Match": etag}).status_code == 412
    assert api().patch(url, {"name": "Home"}).json()["version"] == TemplateVersion.objects.count() == 2
    assert api().delete(url).status_code == 204
    assert api().get(url).status_code == 404


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"servers": [{"name": "ns.test", "addresses": ["x"]}]}, "/servers/0"),
        ({"servers": [{"name": "ns.test", "nodes": ["nowhere"]}]}, "/servers"),
        ({"servers": []}, "/servers"),
        ({"hostmaster": "a..b"}, "/hostmaster"),
        ({"ttl": 1}, "/ttl"),
        ({"team": 4711}, "/team"),
    ],
)
def test_what_cannot_be_is_pointed_at(api: MakeApi, members: dict[str, Any], pointer: str) -> None:
    refused = api().post(SETS, {"name": "House", "servers": SERVERS, **members})
    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == [pointer]


def test_a_template_of_another_kind_is_no_set(api: MakeApi) -> None:
    other = api().post("/api/v2/templates", {"name": "Web", "text": "@ A 192.0.2.1"}).json()["id"]
    assert api().get(f"{SETS}/{other}").status_code == 404
    refused = api().post(ZONES, {"name": "new.test", "name_server_set": other})
    assert refused.json()["errors"][0]["pointer"] == "/name_server_set"
    text = api().post("/api/v2/templates", {"name": "Text", "kind": "servers", "text": "@ NS ns.test."})
    assert text.status_code == 422


def test_new_zones_of_both_apis_begin_with_the_default_set(api: MakeApi) -> None:
    made = make_set("Other", OTHER)
    caller = api(Caller.ADMINISTRATOR)
    assert caller.post(ZONES, {"name": "v2.test"}).status_code == 202
    new = {"name": "v1.test.", "kind": "Native", "nameservers": []}
    assert caller.post("/api/v1/servers/localhost/zones", new).status_code == 201
    assert caller.post(ZONES, {"name": "own.test", "nameservers": ["ns.own.test."]}).status_code == 202
    for name in ("v1.test.", "v2.test."):
        assert apex(name) == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert apex("own.test.")[0] == ("ns.own.test.",)
    assert set(TemplateLink.objects.values_list("zone__name", "template")) == {
        ("v1.test.", made.pk),
        ("v2.test.", made.pk),
    }


def test_a_soa_that_a_client_of_api_v1_states_stays(api: MakeApi) -> None:
    make_set("Other", OTHER)
    record = {"content": "p.own.test. h.own.test. 7 1 2 3 4", "disabled": False}
    rrset = {"name": "v1.test.", "type": "SOA", "ttl": 60, "records": [record]}
    new = {"name": "v1.test.", "kind": "Native", "nameservers": [], "rrsets": [rrset]}
    assert api(Caller.ADMINISTRATOR).post("/api/v1/servers/localhost/zones", new).status_code == 201
    assert apex("v1.test.") == (OTHER.names, "p.own.test.", "h.own.test.")


def test_zone_text_without_apex_records_gets_those_of_the_default_set_over_api_v1(api: MakeApi) -> None:
    made = make_set("Other", OTHER)
    new = {"name": "v1.test.", "kind": "Native", "nameservers": [], "zone": "www 60 A 192.0.2.1\n"}
    assert api(Caller.ADMINISTRATOR).post("/api/v1/servers/localhost/zones", new).status_code == 201
    assert apex("v1.test.") == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert TemplateLink.objects.get().template == made


def test_a_zone_says_which_set_it_follows_and_is_brought_into_step(api: MakeApi, make_zone: MakeZone) -> None:
    house, caller = make_set("House", HOUSE, is_default=False), api(Caller.ADMINISTRATOR)
    assert caller.post(ZONES, {"name": "new.test", "name_server_set": house.pk}).status_code == 202
    url = f"{ZONES}/new.test/name-servers"
    following = {"set": house.pk, "version": 1, "more": [], "fewer": [], "soa_differs": False}
    assert caller.get(url).json() == following
    servers = [{"name": "ns1.house.test."}, {"name": "ns3.house.test."}]
    changed = caller.patch(f"{SETS}/{house.pk}", {"servers": servers, "hostmaster": "dns.house.test."})
    assert changed.status_code == 200, changed.content
    differs = {"more": ["ns2.house.test."], "fewer": ["ns3.house.test."], "soa_differs": True}
    assert caller.get(url).json() == {**following, **differs}
    applied = caller.post(f"{ZONES}/new.test/apply-template", {"template": house.pk, "confirm": True})
    assert applied.status_code == 202, applied.content
    assert caller.get(url).json() == {**following, "version": 2}
    make_zone(name="none.test.")
    assert caller.get(f"{ZONES}/none.test/name-servers").json()["set"] is None
    assert Zone.objects.count() == 2
