"""Tests of enumerations in the OpenAPI document: each has exactly one name."""

from typing import Any

import pytest

from dnspanel.api.v2.schema import enums
from dnspanel.api.v2.schema.enums import NAMES, inline_enums, name_enums
from tests.dnspanel.api.described import described


def document_with(**schemas: Any) -> dict[str, Any]:
    return {"components": {"schemas": schemas}, "paths": {}}


def members(**values: Any) -> dict[str, Any]:
    return {"type": "object", "properties": values}


def enum(*values: str | None, **more: Any) -> dict[str, Any]:
    return {"type": ["string", "null"] if None in values else "string", "enum": list(values), **more}


def test_every_enumeration_has_a_name() -> None:
    """A new enumeration needs a row in `enums.toml`. Otherwise generators invent a name that can clash with another."""
    unnamed = [place for place, schema in inline_enums(described()) if len(schema["enum"]) > 1]
    assert unnamed == []


def test_no_two_names_have_the_same_values_and_no_value_breaks_an_identifier() -> None:
    named = {name: described()["components"]["schemas"][name]["enum"] for name in NAMES}
    assert len({frozenset(values) for values in named.values()}) == len(named)
    for name, values in named.items():
        assert all(value.isprintable() for value in values), name
        identifiers = {"".join(filter(str.isalnum, value)).lower() for value in values}
        assert len(identifiers) == len(values), name


def test_the_same_values_share_a_name_and_keep_what_is_said_of_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enums, "NAMES", {"Colour": "A.colour"})
    found = document_with(
        A=members(colour=enum("red", "blue")),
        B=members(
            colours={"type": "array", "items": enum("blue", "red")},
            maybe=enum("red", "blue", None),
            said=enum("red", "blue", description="Of it."),
            other=enum("red"),
        ),
    )
    name_enums(found)
    schemas, reference = found["components"]["schemas"], {"$ref": "#/components/schemas/Colour"}
    assert schemas["Colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert schemas["A"]["properties"]["colour"] == reference
    assert schemas["B"]["properties"] == {
        "colours": {"type": "array", "items": reference},
        "maybe": {"oneOf": [reference, {"type": "null"}]},
        "said": {"description": "Of it.", "allOf": [reference]},
        "other": enum("red"),
    }


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({"A": "A.colour"}, id="another schema has the name"),
        pytest.param({"Colour": "A.colour", "Again": "A.again"}, id="the values have a name already"),
    ],
)
def test_a_name_or_a_set_of_values_that_is_there_twice_is_refused(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enums, "NAMES", names)
    with pytest.raises(ValueError, match="another schema"):
        name_enums(document_with(A=members(colour=enum("red", "blue"), again=enum("blue", "red"))))
