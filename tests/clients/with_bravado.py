"""A user's program whose client of the API is made from its own description by bravado, as Ansible's modules do it.

with_bravado.py URL KEY ZONE create|delete strict|lenient

bravado checks what it sends and what is answered against the description;
strict, it also checks the description, lenient, it validates nothing.
"""

import sys
from typing import Any
from urllib.parse import urljoin, urlsplit

from bravado.client import SwaggerClient
from bravado.requests_client import RequestsClient
from bravado.swagger_model import Loader

SERVER = {"server_id": "localhost"}


def client(url: str, key: str, *, strict: bool) -> Any:
    """A client with a method per operation of the description."""
    there = urlsplit(url)
    http = RequestsClient()
    http.set_api_key(there.netloc, key, param_name="X-API-Key", param_in="header")
    description = Loader(http, {"Accept": "application/json"}).load_spec(urljoin(url, "api/docs"))
    description |= {"host": there.netloc, "schemes": [there.scheme]}
    config = dict.fromkeys(("validate_swagger_spec", "validate_responses", "validate_requests"), strict)
    return SwaggerClient.from_spec(description, http_client=http, config={**config, "use_models": False})


def create(api: Any, zone: str) -> None:
    """A zone is made, changed, set, asked and told of."""
    assert api.zones.listZones(**SERVER, zone=zone).result() == []
    wanted = {"name": zone, "kind": "Native", "nameservers": ["ns1.clients.test."]}
    made = api.zones.createZone(**SERVER, rrsets=False, zone_struct=wanted).result()
    here = {**SERVER, "zone_id": made["id"]}
    records = [{"content": "192.0.2.1", "disabled": False}]
    changes = [{"name": f"www.{zone}", "type": "A", "ttl": 60, "changetype": "REPLACE", "records": records}]
    api.zones.patchZone(**here, zone_struct={"rrsets": changes}).result()
    api.zones.putZone(**here, zone_struct={"kind": "Master", "account": "ansible"}).result()
    api.zones.notifyZone(**here).result()
    found = api.zones.listZone(**here).result()
    assert (found["kind"], found["account"]) == ("Master", "ansible"), found
    assert [rrset["ttl"] for rrset in found["rrsets"] if rrset["name"] == f"www.{zone}"] == [60]
    kind = {"metadata_kind": "X-ROLE"}
    api.zonemetadata.modifyMetadata(**here, **kind, metadata={"kind": "X-ROLE", "metadata": ["web"]}).result()
    assert list(api.zonemetadata.getMetadata(**here, **kind).result()["metadata"]) == ["web"]
    searched = api.search.searchData(**SERVER, q=f"www.{zone}".rstrip("."), max=5).result()
    assert [one["name"] for one in searched] == [f"www.{zone}"], searched


def delete(api: Any, zone: str) -> None:
    """The zone is gone."""
    api.zones.deleteZone(**SERVER, zone_id=zone).result()
    assert api.zones.listZones(**SERVER, zone=zone).result() == []


STEPS = {"create": create, "delete": delete}


def main() -> None:
    url, key, zone, step, checks = sys.argv[1:]
    STEPS[step](client(url, key, strict=checks == "strict"), zone)


if __name__ == "__main__":
    main()
