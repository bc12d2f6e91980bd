"""Change drf-spectacular's components so that all client generators interpret them in the same way. Pure."""

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def settle_defaults(schemas: Schema) -> None:
    """Replace each `default` in request schemas with a sentence. In response schemas, make the field required instead.

    Responses always include the field. In requests, some generators treat a field with a default as required.
    """
    for name, schema in schemas.items():
        for member, value in schema.get("properties", {}).items():
            if "default" not in value:
                continue
            words = f"Default: `{json.dumps(value.pop('default'))}`."
            if name.endswith("Request"):
                value["description"] = f"{value.get('description', '')} {words}".strip()
            elif member not in schema.setdefault("required", []):
                schema["required"] = sorted([*schema["required"], member])


def settle_forms(schemas: Schema) -> None:
    """Replace `oneOf` with `anyOf` for PATCH bodies. Their fields are optional, so most bodies match several forms."""
    for name, schema in schemas.items():
        if name.startswith("Patched") and "oneOf" in schema:
            schemas[name] = {"anyOf": schema["oneOf"]}


def remove_unused(document: Schema) -> None:
    """Remove schemas and responses that no operation uses, such as request schemas of read-only resources."""
    used: set[str] = set()
    waiting = [*_references({name: part for name, part in document.items() if name != "components"})]
    while waiting:
        reference = waiting.pop()
        if reference not in used:
            used.add(reference)
            _, _, kind, name = reference.split("/")
            waiting += _references(document["components"][kind][name])
    for kind in ("schemas", "responses"):
        components = document["components"][kind]
        for name in [name for name in components if f"#/components/{kind}/{name}" not in used]:
            del components[name]


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for each in part.values():
            yield from _references(each)
    elif isinstance(part, list):
        for each in part:
            yield from _references(each)
