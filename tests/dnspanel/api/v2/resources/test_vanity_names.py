"""Tests of vanity name servers in the API: addresses kept in a zone or no longer, and the parent's delegation."""

import pytest

from dnspanel.fleet.models import Node
from dnspanel.zones.models import KeptAddresses, ZoneTemplate
from dnspanel.zones.settings.server_sets import Host, Servers
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.fleet.conftest import create_active_node
from tests.dnspanel.transfer.zone_templates.test_server_set_text import make_set
from tests.dnspanel.zones.conftest import MakeZone

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vanity(make_zone: MakeZone) -> ZoneTemplate:
    make_zone(name="customer.test.")
    create_active_node("fra1")
    Node.objects.update(public_addresses=["192.0.2.1", "2001:db8::1"])
    return make_set("Customer", Servers((Host("ns1.customer.test.", nodes=("fra1",)),)), is_default=False)


def test_addresses_are_kept_and_kept_no_more(api: MakeApi, vanity: ZoneTemplate) -> None:
    url, caller = f"/api/v2/name-server-sets/{vanity.pk}/addresses", api(Caller.ADMINISTRATOR)
    place = {
        "zone": "customer.test.",
        "names": [{"name": "ns1.customer.test.", "addresses": ["192.0.2.1", "2001:db8::1"]}],
        "kept": False,
        "kept_by": None,
        "refusal": "",
        "asked_at": None,
        "parent": [],
    }
    assert caller.get(url).json() == {"items": [place], "next": None, "next_cursor": None}
    assert caller.post(f"{url}/customer.test/parent").status_code == 404
    put = caller.send("PUT", f"{url}/customer.test")
    assert put.json() == {**place, "kept": True, "kept_by": {"kind": "user", "user": "alice", "token": None}}
    rrset = caller.get("/api/v2/zones/customer.test/rrsets/ns1/AAAA").json()
    assert rrset["rdata"] == ["2001:db8::1"]
    assert caller.delete(f"{url}/customer.test").status_code == 204
    assert not KeptAddresses.objects.exists()
    assert caller.send("PUT", f"{url}/nowhere.test").status_code == 404


def test_what_the_parent_has_is_asked_and_stands_with_it(api: MakeApi, vanity: ZoneTemplate, settings: object) -> None:
    settings.DNS_RESOLVERS = ["127.0.0.1:1"]  # type: ignore[attr-defined]  # where nobody answers
    url, caller = f"/api/v2/name-server-sets/{vanity.pk}/addresses", api(Caller.ADMINISTRATOR)
    caller.send("PUT", f"{url}/customer.test")
    found = caller.post(f"{url}/customer.test/parent").json()
    assert [(each["code"], each["verdict"]) for each in found["parent"]] == [("parent", "not-asked"), ("glue", "fine")]
    assert caller.get(url).json()["items"] == [found]


def test_a_template_of_another_kind_has_no_names(api: MakeApi) -> None:
    other = api().post("/api/v2/templates", {"name": "Web", "text": "@ A 192.0.2.1"}).json()["id"]
    assert api().get(f"/api/v2/name-server-sets/{other}/addresses").status_code == 404
