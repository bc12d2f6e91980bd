"""What operations with `dry_run` answer to it, added to the OpenAPI document: no view has to say it."""

from typing import Any

from dnspanel.api.v2.schema.query_parameters import DRY_RUN

Schema = dict[str, Any]
_PLANS = "#/components/schemas/Plans"
_JSON = "application/json"


def add_plans(result: Schema, generator: object, request: Any, *, public: bool) -> Schema:
    """Add to 200 of an operation with `dry_run` what it answers to that, as a hook of drf-spectacular.

    An operation that publishes answers with plans, unless the view says of 200 more than of 202; every other with
    the result that it would have.
    """
    schemas = result.get("components", {}).get("schemas", {})
    for operations in result["paths"].values():
        for operation in operations.values():
            if any(each["name"] == DRY_RUN.name for each in operation.get("parameters", [])):
                _add(operation["responses"], schemas)
    return result


def _add(responses: Schema, schemas: Schema) -> None:
    written = _schema_of(responses, "202")
    if "204" in responses:
        responses["200"] = _answer({"$ref": _PLANS})
    elif written is None or not _publishes(written, schemas):
        for status in ("201", "202"):
            if status in responses:
                responses.setdefault("200", responses[status])
    elif "200" not in responses:
        responses["200"] = _answer({"$ref": _PLANS})
    elif _schema_of(responses, "200") == written:
        responses["200"] = _answer({"$ref": _with_plans(written, schemas)})


def _schema_of(responses: Schema, status: str) -> Schema | None:
    content = responses.get(status, {}).get("content", {})
    found: Schema | None = content.get(_JSON, {}).get("schema")
    return found


def _publishes(schema: Schema, schemas: Schema) -> bool:
    return all("publication" in schemas[_name(each)]["properties"] for each in _alternatives(schema, schemas))


def _alternatives(schema: Schema, schemas: Schema) -> list[Schema]:
    """Return the schemas of the alternatives of an answer: it alone, or those that its component lists."""
    of: list[Schema] = schemas[_name(schema)].get("oneOf", [schema])
    return of


def _with_plans(schema: Schema, schemas: Schema) -> str:
    """Return a reference to the component that has plans as one more alternative, which is made if it is missing."""
    name = f"{_name(schema)}OrPlans"
    schemas.setdefault(name, {"oneOf": [*_alternatives(schema, schemas), {"$ref": _PLANS}]})
    return f"#/components/schemas/{name}"


def _answer(schema: Schema) -> Schema:
    return {"content": {_JSON: {"schema": schema}}, "description": ""}


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
