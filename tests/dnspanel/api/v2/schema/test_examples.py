"""Tests of the document's examples: every operation has some, and they are real and match the schemas."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dnspanel.api.v2.schema.examples import FILE, recorded_examples, variables_in
from tests.dnspanel.api.described import check_example, described

JSON = "application/json"


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described()["paths"].items():
        for operation in methods.values():
            yield path, operation


def contents_of(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON of an operation's request and of its answers, except problem documents."""
    if media := operation.get("requestBody", {}).get("content", {}).get(JSON):
        yield f"{operation['operationId']} request", media
    for status, answer in operation["responses"].items():
        if media := answer.get("content", {}).get(JSON):
            yield f"{operation['operationId']} {status}", media


def test_every_operation_has_one_of_what_it_takes_and_one_of_what_it_answers() -> None:
    without = set()
    for _, operation in operations():
        name = operation["operationId"]
        contents = dict(contents_of(operation))
        kinds = {place.endswith("request") for place in contents if name != "getOpenApi"}  # the OpenAPI document itself
        having = {place.endswith("request") for place, media in contents.items() if "example" in media}
        without |= {f"{name} {'request' if kind else 'answer'}" for kind in kinds - having}
    assert without == set()


def test_every_one_is_of_the_present_form() -> None:
    for _, operation in operations():
        for place, media in contents_of(operation):
            if "example" in media:
                check_example(place, media["schema"], media["example"])


def test_every_recorded_path_is_one_of_its_operation() -> None:
    paths = {operation["operationId"]: path for path, operation in operations()}
    recorded = recorded_examples()
    events = {post["post"]["operationId"] for post in described()["webhooks"].values()}
    assert recorded.keys() - events <= paths.keys()
    for name in recorded.keys() - events:
        real = recorded[name]["path"]
        assert variables_in(paths[name], real) or paths[name] == real, name


@pytest.mark.parametrize(
    ("path", "real", "values"),
    [
        (
            "/zones/{zone}/rrsets/{owner}/{type}",
            "/zones/a.test./rrsets/@/A",
            {"zone": "a.test.", "owner": "@", "type": "A"},
        ),
        ("/imports/{id}/files/{name}", "/imports/7/files/zones/a.zone", {"id": "7", "name": "zones/a.zone"}),
        ("/me", "/me", {}),
        ("/zones/{zone}", "/nodes/ns1", {}),
    ],
)
def test_variables_are_found_in_a_path(path: str, real: str, values: dict[str, str]) -> None:
    assert variables_in(path, real) == values


def test_none_holds_a_secret_that_opens_anything() -> None:
    text = FILE.read_text()
    for start in ("dnsp_", "whsec_"):
        for found in text.split(start)[1:]:
            assert found.startswith("EXAMPLE") or len(found.partition('"')[0]) < 16, found[:60]


def test_the_file_is_written_as_it_is_recorded() -> None:
    assert FILE.read_text() == json.dumps(recorded_examples(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
