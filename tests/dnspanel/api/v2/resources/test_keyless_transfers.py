"""Tests of transfers without a key and of NOTIFY receivers, in API v2 and v1."""

from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry
from dnspanel.secondaries.models import NoticeAddress, OpenZone
from tests.dnspanel.api.callers import Caller, MakeApi

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/api/v2/zones/example.test./keyless-transfers"
METADATA = "/api/v1/servers/localhost/zones/example.test./metadata/"


@pytest.fixture(autouse=True)
def at_home(settings: Any) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]


@pytest.mark.usefixtures("zone")
def test_both_are_set_and_read_with_who_set_them(api: MakeApi) -> None:
    admin = api(Caller.ADMINISTRATOR)
    assert admin.get(URL).json() == {"networks": [], "addresses": [], "set_by": None, "set_at": None, "notices": []}
    written = admin.put(URL, {"networks": ["192.0.2.1"], "addresses": ["127.0.0.1", "9.9.9.9:5300"]})
    assert written.status_code == 200, written.content
    read = admin.get(URL).json()
    assert (read["networks"], read["addresses"]) == (["192.0.2.1/32"], ["127.0.0.1", "9.9.9.9:5300"])
    assert read["set_by"]
    assert all(notice["set_by"] == read["set_by"] for notice in read["notices"])
    stale = admin.put(URL, {"networks": [], "addresses": []}, headers={"If-Match": '"other"'})
    assert stale.status_code == 412
    assert admin.put(URL, {"networks": [], "addresses": []}).json()["notices"] == []
    assert AuditEntry.objects.filter(action__in=("zone.open", "zone.notify_also")).count() == 4


@pytest.mark.usefixtures("zone")
def test_what_cannot_be_is_said_at_its_field_and_changes_nothing(api: MakeApi) -> None:
    admin = api(Caller.ADMINISTRATOR)
    refused = admin.put(URL, {"networks": ["192.0.2.1"], "addresses": ["10.0.0.1"]})
    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/addresses"]
    assert not OpenZone.objects.exists()
    assert not NoticeAddress.objects.exists()


@pytest.mark.usefixtures("zone")
def test_v1_says_what_pages_and_v2_set_and_the_other_way_round(api: MakeApi) -> None:
    admin = api(Caller.ADMINISTRATOR)
    body = {"kind": "ALLOW-AXFR-FROM", "metadata": ["192.0.2.7"]}
    assert admin.put(f"{METADATA}ALLOW-AXFR-FROM", body).status_code == 200
    assert admin.get(URL).json()["networks"] == ["192.0.2.7/32"]
    assert admin.get(f"{METADATA}ALLOW-AXFR-FROM").json()["metadata"] == ["192.0.2.7"], "in its own words"
    admin.put(URL, {"networks": ["198.51.100.0/24"], "addresses": ["127.0.0.1"]})
    assert admin.get(f"{METADATA}ALLOW-AXFR-FROM").json()["metadata"] == ["198.51.100.0/24"]
    assert admin.get(f"{METADATA}ALSO-NOTIFY").json()["metadata"] == ["127.0.0.1"]
    admin.put(URL, {"networks": [], "addresses": []})
    assert admin.get(f"{METADATA}ALLOW-AXFR-FROM").json()["metadata"] == []
