"""Tests of the problem schema: it has every member of real problems, and `code` is not limited to a list."""

import ast
from pathlib import Path

from dnspanel.api.v2.http.problem_types import PROBLEM_TYPES
from dnspanel.api.v2.schema.problem_schema import problem_schemas
from tests.dnspanel.api.described import described

API = Path(__file__).resolve().parents[5] / "dnspanel" / "api" / "v2"


def test_code_is_open_and_names_every_kind_of_today() -> None:
    """A closed enumeration would break strict clients at the first new code."""
    code = described()["components"]["schemas"]["Problem"]["properties"]["code"]
    assert "enum" not in code
    assert all(f"`{kind}`" in code["description"] for kind in PROBLEM_TYPES)


def test_every_extension_that_the_code_gives_to_a_problem_is_described() -> None:
    """The test checks every dictionary in the code of API v2 that becomes `extensions` of a Problem."""
    described_members = problem_schemas()["Problem"]["properties"].keys()
    given = {name for path in API.rglob("*.py") for name in _extensions_in(ast.parse(path.read_text()))}
    assert {"zone", "right", "base", "conflicts", "violations", "in_doubt"} <= given
    assert given - described_members == set()


def _extensions_in(module: ast.Module) -> set[str]:
    """Return the extension members in a module's calls of Problem: in the argument or in a variable for it."""
    found: set[str] = set()
    for function in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.Lambda)):
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _is_problem(node.func)]
        values = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "extensions"]
        names = {value.id for value in values if isinstance(value, ast.Name)}
        values += [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and {each.id for each in node.targets if isinstance(each, ast.Name)} & names
        ]
        found |= {
            str(key.value) for value in values for each in _dictionaries(value) for key in each.keys if _is_text(key)
        }
    return found


def _is_problem(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "Problem"


def _dictionaries(value: ast.expr) -> list[ast.Dict]:
    """Return the outermost dictionaries in an expression. Inner dictionaries are values of members."""
    if isinstance(value, ast.Dict):
        return [value]
    return [
        each for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr) for each in _dictionaries(child)
    ]


def _is_text(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str)
