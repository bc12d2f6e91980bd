"""Add the responses of dry runs to the OpenAPI document, for all views."""

from typing import Any

from dnspanel.api.v2.schema.query_parameters import DRY_RUN

Schema = dict[str, Any]
_PLANS = "#/components/schemas/Plans"
_JSON = "application/json"


def add_plans(result: Schema, generator: object, request: Any, *, public: bool) -> Schema:
    """Add the dry-run response to status 200 of operations with `dry_run` (hook of drf-spectacular).

    Operations that publish or respond with 204 return plans, or the view's own schema if it declares another one for
    200. All other operations return the result that the write would return.
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
    """Return the alternative schemas of a response: the `oneOf` of its component, or else only the schema itself."""
    of: list[Schema] = schemas[_name(schema)].get("oneOf", [schema])
    return of


def _with_plans(schema: Schema, schemas: Schema) -> str:
    """Return a reference to a component that allows this schema or plans. Create the component if it doesn't exist."""
    name = f"{_name(schema)}OrPlans"
    schemas.setdefault(name, {"oneOf": [*_alternatives(schema, schemas), {"$ref": _PLANS}]})
    return f"#/components/schemas/{name}"


def _answer(schema: Schema) -> Schema:
    return {"content": {_JSON: {"schema": schema}}, "description": ""}


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]
