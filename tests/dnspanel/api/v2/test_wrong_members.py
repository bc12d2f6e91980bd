"""Tests of every documented write with wrong members: the problem gives codes, places and allowed values.

The requests are generated from the OpenAPI document, so new operations are included. An administrator's token with all
rights sends them to the endpoints of `tests.dnspanel.api.endpoints`. Tests `http.fault_texts` and `schema.field_faults`
too.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.urls import reverse

from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.api.described import described, operation_of
from tests.dnspanel.api.endpoints import ENDPOINTS, Endpoint
from tests.dnspanel.api.test_every_url import api, things

__all__ = ["api", "things"]  # pytest fixtures

KEBAB = re.compile(r"[a-z]+(-[a-z0-9]+)*")
NO_SUCH = "no-such-member"
# By endpoint: its members are checked only after another part of the request, which is wrong here.
NOT_READ = {
    "POST v2-user-hand-over": "the accounts are looked at first",
    "PATCH v2-role": "role not found",
    "POST v2-zone-give-back that was not taken over": "the zone's state is looked at first",
}

Ask = Callable[[Endpoint, Any], Any]


@pytest.fixture
def ask(things: dict[str, Any], api: MakeApi, db: None) -> Ask:
    """Return a function that sends a body to an endpoint, rolls back all changes, and returns the answer."""

    def known(value: Any) -> Any:
        return value if str(value)[:1] != "?" else things[value[1:]]

    def ask(endpoint: Endpoint, body: Any) -> Any:
        args = {name: things[name] if value == "?" else known(value) for name, value in endpoint.args.items()}
        if isinstance(body, dict):
            body = {name: things[name] if value == "?" else known(value) for name, value in body.items()}
        block = transaction.atomic()
        block._from_testcase = True  # type: ignore[attr-defined]
        with block:
            found = api(Caller.ADMINISTRATOR).send(endpoint.method, reverse(f"api:{endpoint.name}", kwargs=args), body)
            transaction.set_rollback(True)
        return found

    return ask


def url_of(endpoint: Endpoint) -> str:
    """Return the URL of an endpoint, with invented ids."""
    ids = {
        name: str(UUID(int=1)) if name == "key" else 1 for name, value in endpoint.args.items() if str(value)[:1] == "?"
    }
    return reverse(f"api:{endpoint.name}", kwargs={**endpoint.args, **ids})


def writes() -> Iterator[tuple[Endpoint, dict[str, Any]]]:
    """Yield each endpoint of API v2 that takes a JSON object, with the object's schema."""
    for endpoint in ENDPOINTS:
        if (
            not endpoint.name.startswith("v2-")
            or endpoint.method not in {"POST", "PUT", "PATCH"}
            or endpoint.name == "v2-nothing"
        ):
            continue
        operation = operation_of(endpoint.method, url_of(endpoint))
        assert operation is not None, endpoint
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            kind = endpoint.body.get("kind") if isinstance(endpoint.body, dict) else None
            yield endpoint, resolved(content["application/json"]["schema"], kind)


def resolved(schema: dict[str, Any], kind: object = None) -> dict[str, Any]:
    """Replace references and alternatives by the schema itself.

    Of several alternatives, take the one whose member `kind` can have this value, or otherwise the first.
    """
    while True:
        if "$ref" in schema:
            schema = described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        elif several := schema.get("allOf") or schema.get("oneOf") or schema.get("anyOf"):
            rest = {name: schema[name] for name in schema.keys() - {"allOf", "oneOf", "anyOf"}}
            schema = {**rest, **next((each for each in map(resolved, several) if kind in kinds_of(each)), several[0])}
        else:
            return schema


def kinds_of(schema: dict[str, Any]) -> list[Any]:
    """Return the values that the member `kind` can have in this schema."""
    kinds: list[Any] = resolved(schema.get("properties", {}).get("kind", {})).get("enum", [])
    return kinds


def settable(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the members of the schema that a client can send."""
    found = {name: resolved(each) for name, each in schema.get("properties", {}).items()}
    return {name: each for name, each in found.items() if not each.get("readOnly")}


def wrong_value(schema: dict[str, Any]) -> Any:
    """Return an invalid value for a member: another type, or a list for a text."""
    kind = schema.get("type")
    if "string" in (kind or ()) or "enum" in schema:
        return "no such choice" if "enum" in schema else ["a list"]
    return "a text"


WRITES = list(writes())
OPERATIONS = {str(endpoint): (endpoint, schema) for endpoint, schema in WRITES}


def test_every_write_with_a_body_is_tried() -> None:
    tried = {id(operation_of(endpoint.method, url_of(endpoint))) for endpoint, _ in WRITES}
    untried = [
        operation["operationId"]
        for operations in described()["paths"].values()
        for operation in operations.values()
        if "application/json" in operation.get("requestBody", {}).get("content", {}) and id(operation) not in tried
    ]
    assert not untried


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - NOT_READ))
def test_wrong_members_are_refused_with_what_is_allowed(name: str, ask: Ask) -> None:
    endpoint, schema = OPERATIONS[name]
    members, usual = settable(schema), endpoint.body if isinstance(endpoint.body, dict) else {}
    unsaid: list[str] = []
    # A body whose kind decides its shape needs its kind before anything else is looked at.
    least = {"kind": usual["kind"]} if endpoint.method == "POST" and kinds_of(schema) == [usual.get("kind")] else {}

    def faults_of(body: Any) -> dict[str, dict[str, Any]]:
        answer = ask(endpoint, body)
        problem = json.loads(answer.content) if answer.content else {}
        if answer["Content-Type"] != "application/problem+json" or answer.status_code != 422:
            unsaid.append(f"{json.dumps(body)[:200]}: {answer.status_code} {problem}")
            return {}
        for fault in problem["errors"]:
            if not KEBAB.fullmatch(fault["code"]) or not {"pointer", "parameter", "header"} & fault.keys():
                unsaid.append(f"{json.dumps(body)[:200]}: {fault}")
        return {fault.get("pointer", ""): fault for fault in problem["errors"]}

    def expect(body: Any, pointer: str, code: str, *words: str) -> None:
        found = next((each for at, each in faults_of(body).items() if at.startswith(pointer)), None)
        if found is None or code not in ("", found["code"]) or not all(word in found["detail"] for word in words):
            unsaid.append(f"{json.dumps(body)[:200]} wants {code} at {pointer} with {words}: {found}")

    expect({**usual, NO_SUCH: 1}, f"/{NO_SUCH}", "unknown", *sorted(members)[:60])
    expect({**least, NO_SUCH: 1}, f"/{NO_SUCH}", "unknown")
    for member in schema.get("required", ()):
        expect({NO_SUCH: 1, **({} if member in least else least)}, f"/{member}", "required", f"`{member}`")
    for member, each in members.items():
        if each.get("type") is None and "enum" not in each:
            continue
        choices = [str(choice) for choice in each.get("enum", ())[:60] if choice is not None]
        expect({**usual, member: wrong_value(each)}, f"/{member}", "", *choices)
    expect([], "", "", "must be an object")
    assert not unsaid, "\n".join(unsaid)
