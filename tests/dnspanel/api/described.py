"""Holds real answers against the OpenAPI document of API v2: status, media type, body."""

import json
import re
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from jsonschema import Draft202012Validator, FormatChecker

from dnspanel.api.v2.schema.document import document

ROOT = "/api/v2"


@cache
def described() -> dict[str, Any]:
    """The document, made once."""
    return document()


def check_answer(method: str, url: str, response: HttpResponseBase) -> None:
    """Fail when the document does not promise this answer. What is below the root and no resource is not looked at."""
    operation = operation_of(method, url.partition("?")[0])
    if operation is None:
        assert response.status_code in {401, 404, 405, 429}, f"{method} {url} is in no document"
        return
    status = str(response.status_code)
    if status in {"304", "405"}:  # any GET, any resource
        return
    assert status in operation["responses"], (
        f"{method} {url} answered {status}, which is not described: {_body(response)}"
    )
    promised = _resolved(operation["responses"][status])
    contents = promised.get("content", {})
    if not contents:
        assert not _body(response), f"{method} {url} {status} has a body, which is not described"
        return
    media_type = response.headers["Content-Type"].partition(";")[0]
    assert media_type in contents, f"{method} {url} {status} is {media_type}, which is not described"
    if media_type.endswith("json"):
        _check_body(method, url, contents[media_type]["schema"], json.loads(_body(response)))


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """The operation that answers to this method at this path."""
    for pattern, operations in _patterns():
        if pattern.fullmatch(path):
            found: dict[str, Any] | None = operations.get("get" if method == "HEAD" else method.lower())
            return found
    return None


def _check_body(method: str, url: str, schema: dict[str, Any], body: Any) -> None:
    errors = sorted(_validator(json.dumps(schema, sort_keys=True)).iter_errors(body), key=lambda error: len(error.path))
    told = "\n".join(f"  at {error.json_path}: {error.message[:300]}" for error in errors)
    assert not errors, f"{method} {url} is not what the document says:\n{told}"


@cache
def _validator(schema: str) -> Draft202012Validator:
    base = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": described()["components"]}
    return Draft202012Validator(base | json.loads(schema), format_checker=FormatChecker())


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Each path as an expression, the most definite first."""
    paths = sorted(described()["paths"].items(), key=lambda item: (item[0].count("{"), -len(item[0])))
    return [(re.compile(_expression(path)), operations) for path, operations in paths]


def _expression(path: str) -> str:
    parts = re.split(r"(\{\w+\})", path)
    # A file of an import may lie in folders; no other name has a slash.
    rest = ".+" if "/files/{" in path else "[^/]+"
    return "".join(rest if part.startswith("{") else re.escape(part) for part in parts)


def _resolved(response: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in response:
        return response
    found: dict[str, Any] = described()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return found


def _body(response: HttpResponseBase) -> bytes:
    if isinstance(response, HttpResponse):
        return response.content
    return b"(a stream)"
