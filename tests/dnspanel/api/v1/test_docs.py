"""Tests of the Swagger document, which clients use to generate code."""

import json
from typing import Any

import pytest
import yaml
from django.urls import get_resolver

from dnspanel.accounts.models import User
from dnspanel.api.v1.discovery import VERSION
from dnspanel.api.v1.docs import document
from tests.dnspanel.api.v1.calls import caller

# From PowerDNS's own document: operation, tag, and parameters except `server_id`.
PUBLISHED = """
listServers servers
listServer servers
cacheFlushByName servers domain
listZones zones zone dnssec
createZone zones rrsets zone_struct
listZone zones zone_id rrsets rrset_name rrset_type
deleteZone zones zone_id
patchZone zones zone_id zone_struct
putZone zones zone_id zone_struct
notifyZone zones zone_id
axfrRetrieveZone zones zone_id
axfrExportZone zones zone_id
rectifyZone zones zone_id
getConfig config
getStats stats statistic includerings
searchData search q max object_type
listMetadata zonemetadata zone_id
createMetadata zonemetadata zone_id metadata
getMetadata zonemetadata zone_id metadata_kind
modifyMetadata zonemetadata zone_id metadata_kind metadata
deleteMetadata zonemetadata zone_id metadata_kind
listCryptokeys zonecryptokey zone_id
createCryptokey zonecryptokey zone_id cryptokey
getCryptokey zonecryptokey zone_id cryptokey_id
modifyCryptokey zonecryptokey zone_id cryptokey_id cryptokey
deleteCryptokey zonecryptokey zone_id cryptokey_id
listTSIGKeys tsigkey
createTSIGKey tsigkey tsigkey
getTSIGKey tsigkey tsigkey_id
putTSIGKey tsigkey tsigkey_id tsigkey
deleteTSIGKey tsigkey tsigkey_id
getAutoprimaries autoprimary
createAutoprimary autoprimary autoprimary
deleteAutoprimary autoprimary ip nameserver
"""
# Parameters that only the panel has.
MORE = {"wait", "timeout"}


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def test_operations_and_parameters_are_named_as_in_the_published_document() -> None:
    found = []
    for _, _, operation in operations():
        parameters = [p["name"] for p in operation.get("parameters", []) if p["name"] not in {"server_id", *MORE}]
        found.append(" ".join([operation["operationId"], *operation["tags"], *parameters]))
    assert sorted(found) == sorted(PUBLISHED.split("\n")[1:-1])


def test_every_url_of_the_api_is_described_and_nothing_else_is() -> None:
    described = {f"api/v1{path}" for path in document()["paths"]}
    assert described == {pattern for pattern in _patterns() if pattern.startswith("api/v1/")}


def _patterns() -> set[str]:
    """Return the paths of API v1 in the document's notation."""
    found = set()
    for name in get_resolver("dnspanel.api.urls").reverse_dict:
        if isinstance(name, str) and name.startswith("v1-") and name not in {"v1-nothing", "v1-docs"}:
            for forms, *_ in get_resolver("dnspanel.api.urls").reverse_dict.getlist(name):
                found |= {form.replace("%(", "{").replace(")s", "}") for form, _ in forms}
    return found


def test_every_reference_leads_somewhere_and_every_definition_is_used() -> None:
    text = json.dumps(document())
    definitions = document()["definitions"]
    named = {reference.split('"')[0] for reference in text.split('"#/definitions/')[1:]}
    assert named <= definitions.keys()
    # Kept for clients that use these names, although no answer uses them directly.
    assert definitions.keys() - named <= {"Servers", "StatisticItem", "MapStatisticItem"}


def test_no_definition_is_said_to_be_an_object() -> None:
    """PowerDNS's document also omits it: bravado turns objects into models, but Ansible's modules need dicts."""
    found = {name: definition.get("type") for name, definition in document()["definitions"].items()}
    assert {name for name, type_ in found.items() if type_ not in (None, "array")} == set()
    assert all(type_ or document()["definitions"][name]["properties"] for name, type_ in found.items())


def test_parameters_in_a_path_are_those_that_the_path_has() -> None:
    for _, path, operation in operations():
        named = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
        assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_the_version_is_the_one_that_the_server_says() -> None:
    assert document()["info"]["version"] == VERSION
    assert (document()["swagger"], document()["basePath"]) == ("2.0", "/api/v1")
    assert "host" not in document()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("accept", "type"),
    [
        ("application/json", "application/json"),
        ("application/x-yaml", "application/x-yaml"),
        ("text/x-yaml, application/json", "application/x-yaml"),
        ("*/*", "text/plain; charset=utf-8"),
        ("", "text/plain; charset=utf-8"),
    ],
)
def test_it_comes_in_the_form_that_is_accepted(accept: str, type: str, bob: User) -> None:
    response = caller(bob)("GET", "/api/docs", accept=accept)
    assert response["Content-Type"] == type
    assert yaml.safe_load(response.content) == document()
