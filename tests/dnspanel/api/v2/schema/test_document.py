"""Tests of the OpenAPI document: valid, without warnings, with every URL of v2 and a task for each operation.

Tests `schema.zone_serializers`, `schema.publication_serializers`, `schema.draft_serializers`,
`http.view.api_operation` and `schema.query_parameters` too.
"""

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout

import pytest
from django.core.management import call_command
from django.urls import URLPattern, URLResolver, get_resolver
from openapi_spec_validator import OpenAPIV31SpecValidator

from dnspanel.api.v2.schema.document import TAGS, document
from tests.dnspanel.api.described import described

WITHOUT_OPERATIONS = {"v2-nothing"}
# The first words of operation ids, by method. POST has a verb for each action.
VERBS = {
    "get": {"get", "list", "search", "download"},
    "put": {"set", "upload"},
    "patch": {"change"},
    "delete": {"delete", "discard", "cancel", "revoke", "remove", "reset", "end", "unset"},
}


def v2_urls(resolver: URLResolver, prefix: str = "") -> Iterator[URLPattern]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from v2_urls(pattern)
        elif str(pattern.name).startswith("v2-"):
            yield pattern


def test_it_is_valid_and_makes_no_warning() -> None:
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        call_command("spectacular", "--validate", "--fail-on-warn")
    assert "openapi: 3.1" in output.getvalue()


@pytest.mark.turn(3, reason="a second validator of the OpenAPI document")
def test_the_validator_of_openapi_has_nothing_to_say() -> None:
    """The validator found defaults that violate their own schema. `spectacular --validate` doesn't check these."""
    OpenAPIV31SpecValidator(document()).validate()


def test_every_operation_says_who_may_call_it() -> None:
    open_to_all = {"getOpenApi", "listProblems", "getProblem"}
    for operations in described()["paths"].values():
        for operation in operations.values():
            wanted = [] if operation["operationId"] in open_to_all else [{"bearer": []}, {"apiKey": []}]
            assert operation["security"] == wanted, operation["operationId"]


def test_a_partial_object_has_its_media_type_for_patch_alone() -> None:
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            taken = operation.get("requestBody", {}).get("content", {})
            assert ("application/merge-patch+json" in taken) == (method == "patch"), path


def test_every_list_is_a_page_of_one_form() -> None:
    for path, operations in described()["paths"].items():
        schema = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        name = schema.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
        members = described()["components"]["schemas"].get(name, {}).get("properties", {})
        assert "items" not in members or {"next", "next_cursor"} <= members.keys(), path


def test_every_url_and_method_is_in_it() -> None:
    wanted = set()
    for pattern in v2_urls(get_resolver()):
        if pattern.name not in WITHOUT_OPERATIONS:
            methods = {"get", "post", "put", "patch", "delete"}
            wanted |= {f"{pattern.name} {method}" for method in methods if hasattr(pattern.callback.cls, method)}
    assert len(wanted) == sum(len(operations) for operations in described()["paths"].values())


def test_operations_have_names_of_their_own_a_summary_and_a_task() -> None:
    operations = [operation for path in described()["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert [operation["operationId"] for operation in operations if not operation.get("summary")] == []
    assert {tag for operation in operations for tag in operation["tags"]} == TAGS.keys()
    assert [tag["name"] for tag in described()["tags"]] == list(TAGS)


def test_the_name_of_an_operation_is_a_verb_that_fits_its_method_and_a_noun() -> None:
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            assert re.fullmatch(r"[a-z]+(RRsets?|[A-Z][a-z]+)+", name), name
            verb = re.split("[A-Z]", name)[0]
            if method == "post":
                assert verb not in VERBS["get"] | VERBS["put"], name
            else:
                assert verb in VERBS[method], f"{method} {path} is called {name}"


def test_every_operation_parameter_and_answer_says_what_it_is() -> None:
    """Regression test: a third of the operations had no description, and 273 answers had an empty one."""
    silent = []
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            if not operation.get("summary") or not operation.get("description"):
                silent.append(place)
            named = [each for each in operation.get("parameters", []) if "$ref" not in each]
            silent += [f"{place} {each['name']}" for each in named if not each.get("description")]
            answers = [(status, each) for status, each in operation["responses"].items() if "$ref" not in each]
            silent += [f"{place} {status}" for status, each in answers if len(each["description"]) < 4]
    assert silent == []


def test_every_shape_says_what_it_is() -> None:
    schemas = described()["components"]["schemas"]
    shapes = {name: each for name, each in schemas.items() if "properties" in each}
    assert [name for name, each in shapes.items() if not each.get("description")] == []


def test_what_makes_an_item_of_a_list_is_called_create() -> None:
    for path, operations in described()["paths"].items():
        if "post" in operations and operations.get("get", {}).get("operationId", "").startswith("list"):
            assert operations["post"]["operationId"].startswith("create"), path


def test_every_operation_describes_its_problems_and_every_write_takes_a_key() -> None:
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            assert {"400", "429"} <= operation["responses"].keys(), path
            headers = {parameter["name"] for parameter in operation.get("parameters", [])}
            assert method == "get" or "Idempotency-Key" in headers, path
            uploads = "/files/{" in path  # these have an offset instead
            assert method not in {"patch", "put", "delete"} or "If-Match" in headers or uploads, path


def test_either_header_may_carry_the_token() -> None:
    schemes = document()["components"]["securitySchemes"]
    assert schemes["bearer"]["scheme"] == "bearer"
    assert schemes["apiKey"]["name"] == "X-API-Key"
