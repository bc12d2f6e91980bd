"""Tests of dry runs in the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

import pytest

from dnspanel.api.v2.schema.document import document

Found = dict[str, Any]


@pytest.fixture(scope="module")
def found() -> Found:
    return document()


def with_dry_run(found: Found) -> Iterator[tuple[str, Found]]:
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            if any(each["name"] == "dry_run" for each in operation.get("parameters", [])):
                yield f"{method} {path}", operation


def components_of(operation: Found, status: str, found: Found) -> dict[str, Found]:
    """Return the alternative schemas of an operation's answer with this status, by name."""
    schemas = found["components"]["schemas"]
    response = operation["responses"].get(status, {})
    if "content" not in response:
        return {}
    name = response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    names = [each["$ref"].rpartition("/")[2] for each in schemas[name].get("oneOf", [{"$ref": name}])]
    return {each: schemas[each] for each in names}


def test_200_of_what_publishes_may_be_plans_and_of_all_else_what_there_would_be(found: Found) -> None:
    operations = dict(with_dry_run(found))
    assert len(operations) > 30
    for name, operation in operations.items():
        good, later = (components_of(operation, status, found) for status in ("200", "202"))
        assert good, name
        if any("publication" in schema["properties"] for schema in later.values()):
            assert good.keys() - later.keys(), name


def test_a_write_of_an_rrset_answers_the_rrset_or_plans(found: Found) -> None:
    operation = dict(with_dry_run(found))["put /api/v2/zones/{zone_name}/rrsets/{owner}/{type_name}"]
    assert set(components_of(operation, "200", found)) == {"RRsetWritten", "Plans"}
    assert set(components_of(operation, "202", found)) == {"RRsetWritten"}
