"""A program that makes the calls of the modules in Ansible's collection kpfleming.powerdns_auth.

    with_bravado.py URL KEY ZONE present|again|absent valid|invalid

The collection exists only on Ansible Galaxy, which is not a package registry. So this program copies the calls of
release 3.x (`plugins/module_utils/api_wrapper.py`, `modules/zone.py`, `rrset.py`, `tsigkey.py`). bravado builds the
client from `/api/docs` with default options, which validate the description, requests and responses. Responses must be
plain dictionaries, because the modules iterate over their items. TTLs and flags are sent as strings. `invalid` skips
the validation of the description, because the real server's is invalid.
"""

import sys
from typing import Any
from urllib.parse import urlsplit

from bravado.client import SwaggerClient
from bravado.requests_client import RequestsClient

SERVER = {"server_id": "localhost"}
TTL = "300"
# The settings that the modules send with the zone, and its metadata by kind.
ZONE_SETTINGS = {"soa_edit_api": "EPOCH", "api_rectify": "1"}


def client(url: str, key: str, *, is_valid: bool) -> Any:
    """Return a client with a method for each operation of the description."""
    http = RequestsClient()
    http.set_api_key(urlsplit(url).netloc, key, param_name="X-API-Key", param_in="header")
    return SwaggerClient.from_url(
        url.rstrip("/") + "/api/docs",
        http_client=http,
        request_headers={"Accept": "application/json", "X-API-Key": key},
        config=None if is_valid else {"validate_swagger_spec": False},
    )


def present(api: Any, zone: str) -> None:
    """Run the module `zone` with rrsets and metadata, then `rrset` and `tsigkey`, before the zone exists."""
    assert api.zones.listZones(**SERVER, zone=zone).result() == []
    made = api.zones.createZone(**SERVER, rrsets=False, zone_struct=zone_struct(zone)).result()
    here = {**SERVER, "zone_id": made["id"]}
    values = {"metadata": ["web"]}
    api.zonemetadata.modifyMetadata(**here, metadata_kind="X-ROLE", metadata=values).result()
    found = zone_result(api, here)
    assert (found["kind"], found["account"], found["soa_edit_api"]) == ("Master", "ansible", "EPOCH"), found
    assert found["metadata"]["X-ROLE"] == ["web"], found
    assert found["serial"] > 1_700_000_000, found
    assert rrset_of(api, here, f"www.{zone}")["ttl"] == int(TTL)
    replace_www(api, here, zone, "192.0.2.1")
    name = f"key.{zone}".rstrip(".")
    assert [one for one in api.tsigkey.listTSIGKeys(**SERVER).result() if one["name"] == name] == []
    key = api.tsigkey.createTSIGKey(**SERVER, tsigkey={"name": name, "algorithm": "hmac-sha256"}).result()
    assert key["key"], key


def again(api: Any, zone: str) -> None:
    """Run the same modules again, which change nothing. Then change some values."""
    [listed] = api.zones.listZones(**SERVER, zone=zone).result()
    here = {**SERVER, "zone_id": listed["id"]}
    found = zone_result(api, {**SERVER, "zone_id": zone})  # bravado quotes a slash as %2F
    assert found["soa_edit_api"] == ZONE_SETTINGS["soa_edit_api"], found
    assert [record["content"] for record in rrset_of(api, here, f"www.{zone}")["records"]] == ["192.0.2.1"]
    api.zones.putZone(**here, zone_struct={"account": "other", "api_rectify": "0", "soa_edit_api": "INCREASE"}).result()
    assert zone_result(api, here)["account"] == "other"
    replace_www(api, here, zone, "192.0.2.2")
    # The module deletes one record by sending the others, and the last one with this call.
    gone = {"name": f"mail.{zone}", "type": "MX", "changetype": "DELETE"}
    api.zones.patchZone(**here, zone_struct={"rrsets": [gone]}).result()
    api.zones.notifyZone(**here).result()
    api.zonemetadata.deleteMetadata(**here, metadata_kind="X-ROLE").result()
    assert "X-ROLE" not in zone_result(api, here)["metadata"]
    [key] = [one for one in api.tsigkey.listTSIGKeys(**SERVER).result() if one["name"] == f"key.{zone}".rstrip(".")]
    known = api.tsigkey.getTSIGKey(**SERVER, tsigkey_id=key["id"]).result()
    changed = api.tsigkey.putTSIGKey(**SERVER, tsigkey_id=key["id"], tsigkey={"algorithm": "hmac-sha512"}).result()
    assert (known["algorithm"], changed["algorithm"]) == ("hmac-sha256", "hmac-sha512"), (known, changed)


def absent(api: Any, zone: str) -> None:
    """Delete the key and the zone."""
    # The real server keeps the key of the other algorithm too.
    key, *_ = [one for one in api.tsigkey.listTSIGKeys(**SERVER).result() if one["name"] == f"key.{zone}".rstrip(".")]
    api.tsigkey.deleteTSIGKey(**SERVER, tsigkey_id=key["id"]).result()
    [listed] = api.zones.listZones(**SERVER, zone=zone).result()
    api.zones.deleteZone(**SERVER, zone_id=listed["id"]).result()
    assert api.zones.listZones(**SERVER, zone=zone).result() == []


def zone_struct(zone: str) -> dict[str, Any]:
    """Return the body that the module sends for a new zone: name servers as RRsets, and TTLs as strings."""
    contents = {
        (zone, "SOA"): "ns1.clients.test. hostmaster.clients.test. 1 86400 7200 3600000 172800",
        (zone, "NS"): "ns1.clients.test.",
        (f"www.{zone}", "A"): "192.0.2.9",
        (f"mail.{zone}", "MX"): "10 mail.clients.test.",
    }
    rrsets = [
        {"name": name, "type": type_, "ttl": TTL, "records": [{"disabled": False, "content": content}]}
        for (name, type_), content in contents.items()
    ]
    struct = {"name": zone, "kind": "Master", "nameservers": [], "rrsets": rrsets, "account": "ansible"}
    return {**struct, **ZONE_SETTINGS}


def replace_www(api: Any, here: dict[str, str], zone: str, address: str) -> None:
    """Run the module `rrset`, which sends TTLs as numbers."""
    records = [{"disabled": False, "content": address}]
    rrset = {"name": f"www.{zone}", "type": "A", "ttl": 60, "changetype": "REPLACE", "records": records}
    api.zones.patchZone(**here, zone_struct={"rrsets": [rrset]}).result()
    assert rrset_of(api, here, rrset["name"])["ttl"] == 60


def rrset_of(api: Any, here: dict[str, str], name: str) -> dict[str, Any]:
    """Return the zone's RRset with this name."""
    [found] = [one for one in api.zones.listZone(**here, rrsets=True).result()["rrsets"] if one["name"] == name]
    return dict(found.items())


def zone_result(api: Any, here: dict[str, str]) -> dict[str, Any]:
    """Return the module's result: the zone's fields, and its metadata by kind."""
    zone = dict(api.zones.listZone(**here, rrsets=False).result().items())
    listed = api.zonemetadata.listMetadata(**here).result()
    return {**zone, "metadata": {one["kind"]: one["metadata"] for one in listed}}


STEPS = {"present": present, "again": again, "absent": absent}


def main() -> None:
    url, key, zone, step, description = sys.argv[1:]
    STEPS[step](client(url, key, is_valid=description == "valid"), zone)


if __name__ == "__main__":
    main()
