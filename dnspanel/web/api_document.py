"""Prepare the OpenAPI document for pages: operations by task, with their parameters, bodies and examples. Pure.

Tests check the document against real responses, and its examples are recorded from real responses.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pprint import pformat
from typing import Any
from urllib.parse import urlencode

Document = Mapping[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
DEEPEST = 6  # nested references
TOKEN = "dnsp_YOUR_TOKEN"  # a placeholder for the reader's own token


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation, or a field of its request body."""

    name: str
    place: str  # path, query, header, body
    type: str
    required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status that an operation can return, with its description."""

    status: str
    text: str


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One operation, as shown on a page."""

    id: str
    method: str
    path: str
    summary: str
    text: str
    parameters: tuple[Parameter, ...]
    answers: tuple[Answer, ...]  # successful ones
    problems: tuple[str, ...]  # the statuses of all other answers
    curl: str
    python: str
    example_answer: str  # an example response, or empty
    example_path: str
    example_body: str  # as JSON, or empty for an operation without a body


@dataclass(frozen=True, slots=True)
class Group:
    """The operations for one task."""

    slug: str
    title: str
    text: str
    operations: tuple[ApiOperation, ...]


@dataclass(frozen=True, slots=True)
class ApiEvent:
    """One kind of webhook event."""

    name: str
    summary: str
    text: str
    example: str  # an example body, or empty


def groups_of(document: Document, server: str) -> tuple[Group, ...]:
    """Return the operations grouped by their first tag, in the document's order of tags."""
    found: dict[str, list[ApiOperation]] = {tag["name"]: [] for tag in document.get("tags", ())}
    texts = {tag["name"]: tag.get("description", "") for tag in document.get("tags", ())}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                tag = (methods[method].get("tags") or ["Other"])[0]
                found.setdefault(tag, []).append(_operation(document, server, path, method, methods[method]))
    return tuple(Group(slug(tag), tag, texts.get(tag, ""), tuple(each)) for tag, each in found.items() if each)


def slug(text: str) -> str:
    """Return the text as a URL slug."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def problems_of(document: Document) -> tuple[Answer, ...]:
    """Return every kind of problem (error response), sorted by status, with its description."""
    responses = document.get("components", {}).get("responses", {})
    named = ((name.removeprefix("Problem"), each) for name, each in responses.items() if name.startswith("Problem"))
    return tuple(Answer(status, each.get("description", "")) for status, each in sorted(named))


def events_of(document: Document) -> tuple[ApiEvent, ...]:
    """Return every kind of webhook event, with its description and example."""
    return tuple(
        ApiEvent(
            name,
            str(methods["post"].get("summary", "")),
            str(methods["post"].get("description", "")),
            _example(methods["post"].get("requestBody", {})),
        )
        for name, methods in document.get("webhooks", {}).items()
    )


def _operation(document: Document, server: str, path: str, method: str, found: Mapping[str, Any]) -> ApiOperation:
    parameters = [_resolve_reference(each, document) for each in found.get("parameters", ())]
    body_schema, body = _body(document, found)
    filled = _fill_path(path, parameters)
    answers = {
        status: _resolve_reference(each, document) for status, each in sorted(found.get("responses", {}).items())
    }
    return ApiOperation(
        id=str(found.get("operationId", slug(f"{method} {path}"))),
        method=method.upper(),
        path=path,
        summary=str(found.get("summary", "")),
        text=str(found.get("description", "")),
        parameters=(*map(_parameter, parameters), *_fields(document, body_schema)),
        answers=tuple(Answer(status, each.get("description", "")) for status, each in answers.items() if status < "3"),
        problems=tuple(status for status in answers if status >= "3"),
        curl=curl_text(method, server + filled, body),
        python=python_text(method, server + filled, body),
        example_answer=_example_answer(answers),
        example_path=filled,
        example_body="" if body is None else json.dumps(body, ensure_ascii=False, indent=2, default=str),
    )


def _example_answer(answers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the example JSON of the first successful response that has one, or an empty string."""
    return next((text for status, answer in answers.items() if status < "3" and (text := _example(answer))), "")


def _example(holder: Mapping[str, Any]) -> str:
    """Return the example JSON of a request body or a response, or an empty string."""
    media = holder.get("content", {}).get("application/json", {})
    return json.dumps(media["example"], ensure_ascii=False, indent=2) if "example" in media else ""


def _parameter(found: Mapping[str, Any]) -> Parameter:
    kind, text = _type(found.get("schema", {})), found.get("description", "")
    return Parameter(found["name"], found["in"], kind, found.get("required", False), text)


def _body(document: Document, found: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, Any]:
    """Return the schema and the example of the request's JSON body, or (None, None) for an operation without a body."""
    content = _resolve_reference(found.get("requestBody", {}), document).get("content", {})
    media: Mapping[str, Any] = next((each for name, each in content.items() if "json" in name), {})
    return (_resolve_reference(media["schema"], document), media.get("example")) if "schema" in media else (None, None)


def _fields(document: Document, schema: Mapping[str, Any] | None) -> Iterator[Parameter]:
    """Yield a request body's fields as parameters."""
    for name, each in (schema or {}).get("properties", {}).items():
        found = _resolve_reference(each, document)
        text = each.get("description") or found.get("description", "")
        yield Parameter(name, "body", _type(found), name in (schema or {}).get("required", ()), text)


def _fill_path(path: str, parameters: list[Mapping[str, Any]]) -> str:
    """Return the path with example values for its variables and its required query parameters."""
    examples = {each["name"]: each.get("example", each["name"]) for each in parameters}
    for each in parameters:
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", str(examples[each["name"]]))
    needed = {
        each["name"]: examples[each["name"]] for each in parameters if each["in"] == "query" and each.get("required")
    }
    return f"{path}?{urlencode(needed)}" if needed else path


def curl_text(method: str, url: str, body: Any) -> str:
    """Return the API call as a curl command, without a request body if `body` is None."""
    lines = ["curl" if method == "get" else f"curl -X {method.upper()}", f"-H 'Authorization: Bearer {TOKEN}'"]
    if body is not None:
        text = json.dumps(body, ensure_ascii=False, default=str).replace("'", "'\\''")
        lines += ["-H 'Content-Type: application/json'", f"-d '{text}'"]
    return " \\\n  ".join([*lines, f"'{url}'"])


def python_text(method: str, url: str, body: Any) -> str:
    """Return the API call as Python code."""
    sent = "" if body is None else f"\n    json={_indent_body(body)},"
    return (
        "import requests\n\n"
        f"answer = requests.{method}(\n    {url!r},\n"
        f'    headers={{"Authorization": "Bearer {TOKEN}"}},{sent}\n)\n'
        "answer.raise_for_status()\n" + ("print(answer.json())" if method != "delete" else "")
    )


def _indent_body(body: Any) -> str:
    """Return the body as Python code, indented for use in the call."""
    return pformat(body, width=88, sort_dicts=False).replace("\n", "\n         ")


def _resolve_reference(schema: Mapping[str, Any], document: Document) -> Mapping[str, Any]:
    """Return the schema that `$ref` points to, or the schema itself if it has no `$ref`. Ignore other keys."""
    seen = 0
    while "$ref" in schema and seen < DEEPEST:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        schema, seen = found, seen + 1
    return schema


def _type(schema: Mapping[str, Any]) -> str:
    """Return a schema's type as one word, the name in its `$ref`, or "" if the schema has no type."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for key in ("allOf", "oneOf"):
        if schema.get(key):
            return _type(schema[key][0])
    kinds = schema.get("type", "")
    kind = next((each for each in kinds if each != "null"), "null") if isinstance(kinds, list) else str(kinds)
    return kind or ("object" if "properties" in schema else "")
