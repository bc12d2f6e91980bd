"""The check of real answers against the OpenAPI document of API v2: status, media type, headers and body."""

import gzip
import json
import re
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from jsonschema import Draft202012Validator, FormatChecker

from dnspanel.api.v2.schema.document import document

ROOT = "/api/v2"
# Headers that every answer of the panel can have. The document doesn't repeat them.
ORDINARY = {
    *("Allow", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Security-Policy", "Content-Type"),
    *("Cross-Origin-Opener-Policy", "Referrer-Policy", "Vary", "X-Content-Type-Options", "X-Frame-Options"),
    "X-Request-ID",
}
# Operations whose ETag is missing for dry runs, or for RRsets that no longer exist.
SOMETIMES_TAGGED = {"actOnRRsets", "actOnZones", "restoreZones", "setRRset", "changeRRset", "deleteRRset"}
PROBLEM = "application/problem+json"


@cache
def described() -> dict[str, Any]:
    """Return the OpenAPI document of API v2. It is generated once."""
    return document()


def check_answer(method: str, url: str, response: HttpResponseBase) -> None:
    """Fail if the OpenAPI document doesn't allow this answer. Paths outside API v2 are ignored."""
    if not url.startswith(ROOT):
        return
    operation = operation_of(method, url.partition("?")[0])
    if operation is None:
        assert response.status_code in {401, 404, 405, 429}, f"{method} {url} is in no document"
        return
    status = str(response.status_code)
    if status in {"304", "405"}:  # possible for every GET and every resource
        return
    assert status in operation["responses"], (
        f"{method} {url} answered {status}, which is not described: {_body(response)}"
    )
    promised = _resolved(operation["responses"][status])
    _check_headers(f"{method} {url} {status}", operation, promised, response)
    contents = promised.get("content", {})
    if not contents:
        assert not _body(response), f"{method} {url} {status} has a body, which is not described"
        return
    media_type = response.headers["Content-Type"].partition(";")[0]
    assert media_type in contents, f"{method} {url} {status} is {media_type}, which is not described"
    if media_type.endswith("json") and method != "HEAD":
        body = json.loads(_body(response))
        check_example(f"{method} {url}", contents[media_type]["schema"], body)
        if media_type == PROBLEM:
            told = body.keys() - described()["components"]["schemas"]["Problem"]["properties"].keys()
            assert not told, f"{method} {url} {status} says {told}, which are not described"


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Return the operation of this method at this path, or None if the document has none."""
    for pattern, operations in _patterns():
        if pattern.fullmatch(path):
            found: dict[str, Any] | None = operations.get("get" if method == "HEAD" else method.lower())
            return found
    return None


def _check_headers(
    answer: str, operation: dict[str, Any], promised: dict[str, Any], response: HttpResponseBase
) -> None:
    """Fail if a sent header isn't described, or if a described header is missing."""
    sent, declared = set(response.headers), set(promised.get("headers", {}))
    if "Deprecation" in sent:  # the operation is marked as deprecated
        sent -= {"Deprecation", "Sunset", "Link"}
    unknown = sorted(sent - declared - ORDINARY)
    assert unknown == [], f"{answer}: {unknown} are not described; dnspanel/api/v2/schema/headers.py has a set for each"
    if response.status_code >= 300 or "dry_run=true" in answer:  # these have no version and no address
        return
    certain = {name for name in declared if name.startswith("RateLimit")}
    if operation["operationId"] not in SOMETIMES_TAGGED:
        certain |= declared & {"ETag"}
    if "wait" not in {each["name"] for each in operation.get("parameters", [])}:  # otherwise only with a publication
        certain |= declared & {"Location"}
    assert certain - sent == set(), f"{answer}: these headers are described, and were not sent"


def fits(name: str, recorded: dict[str, Any]) -> bool:
    """Return True if a recorded exchange matches the schemas of the operation. False if the operation is unknown."""
    posts = [methods["post"] for methods in described().get("webhooks", {}).values()]
    operations = [each for methods in described()["paths"].values() for each in methods.values()]
    operation = next((each for each in [*operations, *posts] if each["operationId"] == name), None)
    if operation is None:
        return False
    taken = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    given = operation["responses"].get(recorded.get("status"), {}).get("content", {}).get("application/json", {})
    return all(
        _validator(json.dumps(media["schema"], sort_keys=True)).is_valid(recorded[part])
        for part, media in (("request", taken), ("answer", given))
        if part in recorded and media
    )


def check_example(place: str, schema: dict[str, Any], value: Any) -> None:
    """Fail if the value doesn't match the schema."""
    errors = sorted(
        _validator(json.dumps(schema, sort_keys=True)).iter_errors(value), key=lambda error: len(error.path)
    )
    told = "\n".join(f"  at {error.json_path}: {error.message[:300]}" for error in errors)
    assert not errors, f"{place} is not what the document says:\n{told}"


@cache
def _validator(schema: str) -> Draft202012Validator:
    base = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": described()["components"]}
    return Draft202012Validator(base | json.loads(schema), format_checker=FormatChecker())


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Return a regular expression for each path with the path's operations, most specific path first."""
    paths = sorted(described()["paths"].items(), key=lambda item: (item[0].count("{"), -len(item[0])))
    return [(re.compile(_expression(path)), operations) for path, operations in paths]


def _expression(path: str) -> str:
    parts = re.split(r"(\{\w+\})", path)
    # An imported file can be in a folder, and a zone of RFC 2317 is called `0/25.2.0.192.in-addr.arpa.`.
    rest = ".+" if "/files/{" in path else "[^/]+"
    names = {"{zone_name}": r"[^/]+(?:/[^/]+\.)?"}
    return "".join(names.get(part, rest) if part.startswith("{") else re.escape(part) for part in parts)


def _resolved(response: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in response:
        return response
    found: dict[str, Any] = described()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return found


def _body(response: HttpResponseBase) -> bytes:
    if isinstance(response, HttpResponse):
        is_compressed = response.headers.get("Content-Encoding") == "gzip"
        return gzip.decompress(response.content) if is_compressed else response.content
    return b"(a stream)"
