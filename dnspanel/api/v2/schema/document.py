"""Generate the OpenAPI 3.1 document of API v2 from the views and their docstrings.

The first line of a method's docstring becomes the operation's summary, and the other lines its description. This module
adds everything that all operations share (problems, rate limit headers, tags), so that no view can forget it.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.hooks import postprocess_schema_enum_id_removal
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from dnspanel.api.v2.http.deprecation import deprecation_of
from dnspanel.api.v2.http.json_body import MergePatchParser
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.schema.components import remove_unused, settle_defaults, settle_forms
from dnspanel.api.v2.schema.enums import name_enums
from dnspanel.api.v2.schema.examples import add_examples
from dnspanel.api.v2.schema.headers import declare_headers, problem_headers
from dnspanel.api.v2.schema.problem_schema import problem_schemas
from dnspanel.api.v2.schema.query_parameters import IDEMPOTENCY_KEY, IF_MATCH
from dnspanel.api.v2.schema.texts import answer_text, variable_text

ROOT = "/api/v2/"
Schema = dict[str, Any]

# Tag → its description and the first parts of its paths, in the order of the documentation page.
TAGS: Mapping[str, Schema] = tomllib.loads(Path(__file__).with_name("tags.toml").read_text())
_TAG_OF = {path: tag for tag, about in TAGS.items() for path in about["paths"]}
_NOT_FOR_GOOD = {
    "application/problem+json",
    "text/csv",
    "application/gzip",
    "application/octet-stream",
    "text/html",
}
_NO_BODY = "No response body"  # drf-spectacular's default description of a response
_ALWAYS = (400, 401, 403, 406, 429, 503)
_WRITING = (409, 412, 413, 415, 422, 428, 507)


class Operations(AutoSchema):
    """The generator that converts a view's method to an OpenAPI operation."""

    def get_summary(self) -> str:
        return self._text().partition("\n")[0].rstrip(".")

    def get_description(self) -> str:
        return self._text().partition("\n")[2].strip()

    def get_override_parameters(self) -> list[OpenApiParameter | Any | type[Any]]:
        """Return the request headers of a write, or [] for a GET. Unconditional views don't accept `If-Match`."""
        if self.method == "GET":
            return []
        return [IDEMPOTENCY_KEY] if self.view.unconditional else [IDEMPOTENCY_KEY, IF_MATCH]

    def is_deprecated(self) -> bool:
        """Return True if the whole operation is deprecated, and not only some of its parameters.

        Responses of a deprecated operation have the deprecation headers.
        """
        found = deprecation_of(self.view, self.method)
        return found is not None and not found.parameters

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        """Return the operation with its deprecated parameters marked."""
        operation: Schema | None = super().get_operation(*args, **kwargs)
        found = deprecation_of(self.view, self.method)
        for parameter in (operation or {}).get("parameters", []) if found else []:
            if found and parameter["name"] in found.parameters:
                parameter["deprecated"] = True
        return operation

    def map_parsers(self) -> list[str]:
        """Return the media types of request bodies. The merge-patch media type is listed only for PATCH."""
        found: list[str] = super().map_parsers()
        return [media for media in found if self.method == "PATCH" or media != MergePatchParser.media_type]

    def map_renderers(self, attribute: str) -> list[str]:
        """Return the media types of successful responses, without those of problems, files and HTML pages.

        Views have a renderer for problems even in successful responses, because some clients accept only problems.
        """
        return [media for media in super().map_renderers(attribute) if media not in _NOT_FOR_GOOD]

    def _text(self) -> str:
        return str(super().get_description() or "")


class BearerToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The security schemes: a token in either of two headers."""

    target_class = "dnspanel.api.authentication.TokenAuthentication"
    name = ["bearer", "apiKey"]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        return [{"bearer": []}, {"apiKey": []}]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[Schema]:
        return [
            {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer dnsp_…`"},
            {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The token, as in PowerDNS's API."},
        ]


def document() -> Schema:
    """Return the OpenAPI document. The caller sets the panel's URL in `servers`."""
    found: Schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found | {"servers": [{"url": "/"}]}


def only_v2(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Keep only the endpoints of API v2 (hook of drf-spectacular). API v1 and dyndns2 have their own documentation."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(ROOT)]


def add_what_all_have(result: Schema, generator: SchemaGenerator, request: Any, *, public: bool) -> Schema:
    """Add the parts that views don't declare, adjust schemas, and remove unused ones (hook of drf-spectacular)."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(problem_schemas())
    statuses = sorted({*_ALWAYS, *_WRITING, 404, 502})
    components["responses"] = {f"Problem{status}": _problem_response(status) for status in statuses}
    for name, schema in components["schemas"].items():
        if name.endswith("Request") and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)  # unknown members are rejected
    settle_defaults(components["schemas"])
    settle_forms(components["schemas"])
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
            operation["tags"] = [tag_of(path)]
    declare_headers(result)
    _describe(result)
    postprocess_schema_enum_id_removal(result, generator)  # type: ignore[no-untyped-call]
    name_enums(result)
    remove_unused(result)
    add_examples(result)
    used = {tag for operations in result["paths"].values() for op in operations.values() for tag in op["tags"]}
    result["tags"] = [{"name": tag, "description": TAGS[tag]["description"]} for tag in TAGS if tag in used]
    return result


def tag_of(path: str) -> str:
    """Return the OpenAPI tag of a path, or "Other" for an unknown path."""
    first, *below = path.removeprefix(ROOT).split("/")
    return _TAG_OF.get("dnssec" if "dnssec" in below else first, "Other")


def _complete(path: str, method: str, operation: Schema) -> None:
    """Add the shared parts of an operation: security, common problems, status 304, and the minimum of ids."""
    operation.setdefault("security", [])  # needs no token
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path" and parameter["schema"].get("type") == "integer":
            parameter["schema"].setdefault("minimum", 0)  # Django's converter accepts only digits
    statuses = [*_ALWAYS, 404, 422] if method == "get" else [*_ALWAYS, 404, *_WRITING]
    if method == "get" and any(each["name"] == "If-None-Match" for each in operation.get("parameters", [])):
        operation["responses"].setdefault("304", {"description": "The version in `If-None-Match` is current."})
    for status in statuses:
        operation["responses"].setdefault(str(status), {"$ref": f"#/components/responses/Problem{status}"})


def _describe(result: Schema) -> None:
    """Add the descriptions of path variables and responses that the views lack."""
    schemas = result["components"]["schemas"]
    lists = {path: each["get"]["operationId"] for path, each in result["paths"].items() if "get" in each}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and not parameter.get("description"):
                    parameter["description"] = variable_text(path, parameter["name"], lists)
            for status, response in operation["responses"].items():
                if response.get("description") in {"", _NO_BODY}:
                    body = schemas.get(_body_of(response).get("$ref", "").rpartition("/")[2])
                    response["description"] = answer_text(method, status, operation["responses"], body)


def _body_of(response: Schema) -> Schema:
    """Return the schema of a response's body, or {} if the response has no body."""
    contents: Schema = response.get("content", {})
    return next((each.get("schema", {}) for each in contents.values()), {})


def _problem_response(status: int) -> Schema:
    kinds = [kind for kind in PROBLEM_TYPES.values() if kind.status == status]
    text = "\n".join(f"- `{kind.code}`: {kind.title}. {kind.meaning}" for kind in kinds)
    return {
        "description": text or "A problem.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        "headers": problem_headers(status),
    }
