"""Tests of codes, the values that programs compare: kebab case in the whole document."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dnspanel import field_faults as of_fields
from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.http.representation import code_of
from dnspanel.api.v2.schema import field_faults
from dnspanel.api.v2.schema.document import document

ROOT = Path(__file__).parents[5]

# A code, or several codes with dots between them, as in webhook events. "" means none.
CODE = re.compile(r"(?:[a-z0-9]+(?:[-_.][a-z0-9]+)*)?")
# Column separators of a user's file.
OTHERS = {",", ";", "\t", "|"}


def enums_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("enum"), list):
            yield from (each for each in value["enum"] if isinstance(each, str))
        for each in value.values():
            yield from enums_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from enums_in(each)


def test_every_word_of_an_enum_is_a_code() -> None:
    found = set(enums_in(document()))
    assert len(found) > 200
    assert {word for word in found - OTHERS if not CODE.fullmatch(word)} == set()


def test_a_word_of_the_pages_becomes_a_code() -> None:
    assert code_of("waiting for approval") == "waiting-for-approval"
    assert code_of("AXFR") == "axfr"


# The position of the argument with the value's code, by function.
PLACES = {
    "RequestFault": 0,
    "_of_value": 0,
    "ValidationError": 1,
    "bad_parameter": 2,
    "bad_value": 2,
    "at": 2,
    "faults_at": 1,
}
# Codes of Django REST framework that answers never have.
OF_FRAMEWORK = (field_faults._CODES.keys() | field_faults._LENGTHS.keys()) - set(field_faults._CODES.values())


def constants_in(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from constants_in(node.body)
        yield from constants_in(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def codes_of_values(path: Path) -> Iterator[str]:
    """Yield the codes that a module gives to wrong values."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if (place := PLACES.get(name)) is not None:
                named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                for each in (*node.args[place : place + 1], *named):
                    yield from constants_in(each)


def test_every_code_of_a_value_is_documented() -> None:
    modules = (ROOT / "dnspanel" / "api" / "v2").rglob("*.py")
    found = {code for path in modules for code in codes_of_values(path)} - OF_FRAMEWORK
    found |= {*field_faults._CODES.values(), *(code for both in field_faults._LENGTHS.values() for code in both)}
    found |= {field_faults.NOT_TOGETHER, of_fields.INVALID, of_fields.NOT_FOUND, of_fields.NAME_TAKEN}
    found.add(of_fields.ADDRESS_REFUSED)
    assert len(found) > 20
    section = (ROOT / "docs" / "use" / "apis.md").read_text().partition("| Code of a value |")[2].partition("\n\n")[0]
    documented = {code for line in section.splitlines() for code in re.findall(r"`([a-z-]+)`", line.split("|")[1])}
    assert documented - found == set()
    assert found - documented - PROBLEM_TYPES.keys() == set()
