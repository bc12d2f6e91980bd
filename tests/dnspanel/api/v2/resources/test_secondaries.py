"""Tests of secondaries in the API: set up with a secret that is shown once, change, notify, delete, and zones."""

from typing import Any

import pytest

from dnspanel.secondaries.models import Member
from dnspanel.zones.models import Zone
from tests.dnspanel.api.callers import Api, Caller, MakeApi
from tests.own_certificates import own_certificate

SECONDARIES = "/api/v2/secondaries"
BODY = {"name": "partner", "kind": "knot", "addresses": ["9.9.9.9", "9.9.9.10:5300"]}


def made(api: Api, **body: Any) -> Any:
    response = api.post(SECONDARIES, {**BODY, **body})
    assert response.status_code == 201, response.content
    return response


def test_one_is_made_changed_and_deleted(api: MakeApi) -> None:
    admin = api(Caller.ADMINISTRATOR)
    new = made(admin)
    url = new.headers["Location"]
    assert len(new.json()["secret"]) == 44
    read = admin.get(url).json()
    assert "secret" not in read
    assert (read["addresses"], read["choice"], read["active"]) == (["9.9.9.9", "9.9.9.10:5300"], "all", True)
    changed = admin.patch(
        url, {"lag_bound": 60, "group_tags": ["Hot", "cold"], "networks": ["192.0.2.0/24"], "active": False}
    ).json()
    assert (changed["lag_bound"], changed["networks"], changed["active"]) == (60, ["192.0.2.0/24"], False)
    assert changed["group_tags"] == ["hot", "cold"]
    assert changed["name"] == "partner", "what is not given stays"
    assert admin.post(f"{url}/rotate").json()["secret"] != new.json()["secret"]
    assert admin.post(f"{url}/notify").status_code == 202
    assert [one["id"] for one in admin.get(SECONDARIES).json()["items"]] == [read["id"]]
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"addresses": ["127.0.0.1"]}, "/addresses"),
        ({"choice": "tag"}, "/tag"),
        ({"choice": "list", "zones": ["nowhere.test."]}, "/zones"),
        ({"name": "no good"}, "/name"),
        ({"transport": "certificate"}, "/certificate"),
        ({"certificate": "mine"}, "/certificate"),
        ({"tls_port": 65536}, "/tls_port"),
        ({"group_tags": ["no tag!"]}, "/group_tags"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(api: MakeApi, body: dict[str, Any], pointer: str) -> None:
    refused = api(Caller.ADMINISTRATOR).post(SECONDARIES, {**BODY, **body})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith(pointer)


def test_it_transfers_over_tls_by_its_certificate(api: MakeApi) -> None:
    admin, own = api(Caller.ADMINISTRATOR), own_certificate().certificate
    new = made(admin, transport="certificate", certificate=own, tls_port=853)
    read = admin.get(new.headers["Location"]).json()
    assert (read["transport"], read["certificate"], read["tls_port"]) == ("certificate", own, 853)
    changed = admin.patch(new.headers["Location"], {"transport": "any", "tls_port": None}).json()
    assert (changed["transport"], changed["certificate"], changed["tls_port"]) == ("any", own, None)


def test_its_zones_say_how_far_they_are(api: MakeApi, zone: Zone) -> None:
    admin = api(Caller.ADMINISTRATOR)
    url = made(admin).headers["Location"]
    (one,) = admin.get(f"{url}/zones").json()["items"]
    assert (one["zone"], one["serial"], one["transferred_how"]) == (zone.name, zone.serial, "")
    assert one["transferred_over_tls"] is False
    assert one["behind_since"] is not None
    assert len(admin.get(f"{url}/zones", behind="true").json()["items"]) == 1
    Member.objects.update(behind_since=None)
    assert admin.get(f"{url}/zones", behind="true").json()["items"] == []
