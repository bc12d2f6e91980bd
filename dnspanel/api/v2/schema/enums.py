"""Name the enumerations in the OpenAPI document, so that generated clients have one type for each. Pure.

A set of values has the same name wherever it is used. The file beside this module lists each name with one place where
the values occur. Names aren't derived from other names in the document, because a new field elsewhere would then rename
a type in every client.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
Enums = dict[str, Schema]

# Name → a place with these values: `Component.member`, `Component.member[]` or `operationId?parameter`.
NAMES: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


def name_enums(document: Schema) -> None:
    """Convert every enumeration in `NAMES` to a component, and refer to it wherever its values occur.

    Raise LookupError if a listed place has no enumeration. Raise ValueError if a name or a set of values occurs twice.
    """
    schemas: Schema = document["components"]["schemas"]
    places = dict(inline_enums(document))
    names: dict[frozenset[str], str] = {}
    for name, place in NAMES.items():
        values = [value for value in places[place]["enum"] if value is not None]
        if name in schemas or names.setdefault(frozenset(values), name) != name:
            raise ValueError(f"{name}: another schema has this name, or these values")
        schemas[name] = {"type": "string", "enum": values}
    for schema in places.values():
        name_of = names.get(frozenset(value for value in schema["enum"] if value is not None))
        if name_of is not None:
            _refer(schema, f"#/components/schemas/{name_of}")
    document["components"]["schemas"] = dict(sorted(schemas.items()))


def inline_enums(document: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield each enumeration that isn't a component, with its place in the format of `NAMES`."""
    for name, schema in document["components"]["schemas"].items():
        for member, value in schema.get("properties", {}).items():
            yield from _within(f"{name}.{member}", value)
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                yield from _within(f"{operation['operationId']}?{parameter['name']}", parameter["schema"])


def _within(place: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    if "enum" in schema:
        yield place, schema
    if "items" in schema:
        yield from _within(f"{place}[]", schema["items"])


def _refer(schema: Schema, reference: str) -> None:
    """Replace the schema's enumeration with a reference to a component. Keep its other keywords."""
    is_nullable = None in schema.pop("enum")
    del schema["type"]
    if is_nullable:
        schema["oneOf"] = [{"$ref": reference}, {"type": "null"}]
    elif schema:
        schema["allOf"] = [{"$ref": reference}]
    else:
        schema["$ref"] = reference
