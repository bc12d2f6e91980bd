"""Examples for the OpenAPI document: real requests and responses, recorded from the tests into `examples.json`.

`RECORD_EXAMPLES=1 ./dev test tests/dnspanel/api/…` records the operations that these tests call. A test validates every
example against the document. This keeps the examples up to date.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("examples.json")
Schema = dict[str, Any]


def add_examples(document: Schema) -> None:
    """Add the recorded examples to each operation's parameters, request body and response, and to the webhooks."""
    recorded = recorded_examples()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if found := recorded.get(operation["operationId"]):
                _add(path, operation, found)
    for methods in document.get("webhooks", {}).values():
        for operation in methods.values():
            _add("", operation, recorded.get(operation["operationId"], {}))


@cache
def recorded_examples() -> dict[str, Schema]:
    """Return the recorded requests and responses, keyed by operation id.

    Each has `path`, `query`, `request`, `status` and `answer`. Webhooks have only `request`.
    """
    found: dict[str, Schema] = json.loads(FILE.read_text())
    return found


def _add(path: str, operation: Schema, found: Schema) -> None:
    values = {**found.get("query", {}), **variables_in(path, found.get("path", ""))}
    for parameter in operation.get("parameters", []):
        if parameter.get("name") in values:
            parameter["example"] = _parse_value(values[parameter["name"]], parameter.get("schema", {}).get("type"))
    if "request" in found:
        for media in _json_contents(operation.get("requestBody", {})):
            media["example"] = found["request"]
    if "answer" in found:
        for media in _json_contents(operation["responses"].get(found["status"], {})):
            media["example"] = found["answer"]


def _parse_value(value: str, type: str | None) -> str | int | bool:
    return value == "true" if type == "boolean" else int(value) if type == "integer" else value


def variables_in(path: str, real: str) -> dict[str, str]:
    """Return the variables of a document path with their values in a real path, or {} if the paths don't match."""
    places = path.split("/")
    parts = real.split("/", len(places) - 1)  # a file name can contain slashes
    fixed = [(place, part) for place, part in zip(places, parts, strict=False) if not place.startswith("{")]
    if len(places) != len(parts) or any(place != part for place, part in fixed):
        return {}
    return {place[1:-1]: part for place, part in zip(places, parts, strict=True) if place.startswith("{")}


def _json_contents(holder: Schema) -> list[Schema]:
    return [media for name, media in holder.get("content", {}).items() if name.endswith("json")]
