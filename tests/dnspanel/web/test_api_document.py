"""The parser of the OpenAPI document for the documentation pages."""

import ast
import json
import shlex
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from dnspanel.web.api_document import TOKEN, ApiOperation, groups_of, problems_of, slug

SERVER = "https://panel.test"
EXAMPLE = {"name": "www.example.test.", "ttl": 300, "flag": True, "rdata": ["192.0.2.1"]}
DOCUMENT: dict[str, Any] = {
    "tags": [{"name": "Change records", "description": "Zones."}, {"name": "Unused"}],
    "paths": {
        "/api/v2/zones/{zone_name}": {
            "put": {
                "operationId": "zone_put",
                "tags": ["Change records"],
                "summary": "Put it",
                "description": "Whole.",
                "parameters": [
                    {
                        "name": "zone_name",
                        "in": "path",
                        "required": True,
                        "schema": {"type": "string"},
                        "example": "example.test.",
                    },
                    {
                        "name": "q",
                        "in": "query",
                        "required": True,
                        "schema": {"type": "string"},
                        "description": "Text.",
                        "example": "shop",
                    },
                ],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Zone"}, "example": EXAMPLE}
                    }
                },
                "responses": {
                    "202": {
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Zone"}, "example": EXAMPLE}
                        }
                    },
                    "404": {"$ref": "#/components/responses/Problem404"},
                },
            }
        },
        "/api/v2/me": {"get": {"tags": ["Start"], "responses": {}}},
    },
    "components": {
        "schemas": {
            "Zone": {
                "type": "object",
                "required": ["name", "ttl", "flag", "rdata"],
                "properties": {
                    "name": {"type": "string", "description": "Its name."},
                    "ttl": {"type": "integer"},
                    "flag": {"type": "boolean"},
                    "rdata": {"type": "array", "items": {"type": "string"}},
                    "more": {"type": ["string", "null"]},
                },
            },
            "Loop": {"type": "object", "properties": {"loop": {"$ref": "#/components/schemas/Loop"}}},
        },
        "responses": {"Problem404": {"description": "- `not-found`: Nothing."}},
    },
}


@pytest.fixture
def operation() -> ApiOperation:
    return groups_of(DOCUMENT, SERVER)[0].operations[0]


def test_operations_stand_under_their_task_in_the_document_s_order() -> None:
    groups = groups_of(DOCUMENT, SERVER)
    assert [(group.title, group.slug, len(group.operations)) for group in groups] == [
        ("Change records", "change-records", 1),
        ("Start", "start", 1),
    ]
    assert slug("People and teams!") == "people-and-teams"


def test_parameters_and_fields_of_the_body_are_listed_together(operation: ApiOperation) -> None:
    found = [(each.name, each.place, each.type, each.required) for each in operation.parameters]
    assert found[:3] == [
        ("zone_name", "path", "string", True),
        ("q", "query", "string", True),
        ("name", "body", "string", True),
    ]
    assert found[-1] == ("more", "body", "string", False)
    assert operation.parameters[2].text == "Its name."


def test_curl_sends_what_the_document_asks_for(operation: ApiOperation) -> None:
    words = shlex.split(operation.curl)
    assert words[:3] == ["curl", "-X", "PUT"]
    assert f"Authorization: Bearer {TOKEN}" in words
    assert words[-1] == f"{SERVER}/api/v2/zones/example.test.?q=shop"
    body = json.loads(words[words.index("-d") + 1])
    assert body == EXAMPLE


def test_python_is_python(operation: ApiOperation) -> None:
    calls = [node for node in ast.walk(ast.parse(operation.python)) if isinstance(node, ast.Call)]
    put = next(call for call in calls if ast.unparse(call.func) == "requests.put")
    sent = next(keyword.value for keyword in put.keywords if keyword.arg == "json")
    assert ast.literal_eval(sent)["flag"] is True


def test_answers_are_parted_from_problems(operation: ApiOperation) -> None:
    assert [answer.status for answer in operation.answers] == ["202"]
    assert operation.problems == ("404",)
    assert json.loads(operation.example_answer)["ttl"] == 300
    assert [(problem.status, problem.text) for problem in problems_of(DOCUMENT)] == [("404", "- `not-found`: Nothing.")]


def test_nothing_is_made_up_where_there_is_no_example() -> None:
    """Previously pages displayed invented examples, `"at": "text"` and `"serial": 1`."""
    found = groups_of(DOCUMENT, SERVER)[1].operations[0]
    assert found.example_answer == ""
    assert "-d" not in shlex.split(found.curl)


def test_every_operation_of_the_real_document_can_be_shown() -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    operations = [each for group in groups_of(document, SERVER) for each in group.operations]
    assert len(operations) >= 60
    for operation in operations:
        assert operation.summary, operation.path
        ast.parse(operation.python)
        assert shlex.split(operation.curl)[-1].startswith(f"{SERVER}/api/v2/")
        assert "{" not in shlex.split(operation.curl)[-1], "no variable is left in the address"
