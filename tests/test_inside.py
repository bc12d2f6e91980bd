"""Code that tests run inside a stack matches the panel. Otherwise, only tests with a stack would detect this."""

import ast
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

from tests.syntax import nodes_of, tree_of

INSIDE = Path(__file__).resolve().parent / "inside"


def names_of_functions(path: Path) -> set[str]:
    """Return the names that functions define locally. A call of such a name doesn't refer to the module."""
    parts = [
        node
        for function in tree_of(path).body
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
    ]
    stored = {node.id for node in parts if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.name for node in parts if isinstance(node, ast.FunctionDef)}


def function_called(module: ModuleType, call: ast.Call) -> Callable[..., Any] | None:
    """Return the function that a call names, here or in an imported module. Raise AttributeError if it is missing."""
    if isinstance(call.func, ast.Name):
        return getattr(module, call.func.id, None)
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        owner = getattr(module, call.func.value.id, None)
        if isinstance(owner, ModuleType):
            found: Callable[..., Any] = getattr(owner, call.func.attr)
            return found
    return None


def calls_that_do_not_fit(path: Path) -> list[str]:
    module, own, wrong = importlib.import_module(f"tests.inside.{path.stem}"), names_of_functions(path), []
    for node in nodes_of(path):
        if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id in own):
            continue
        function, named = function_called(module, node), {each.arg: each.value for each in node.keywords}
        is_open = None in named or any(isinstance(arg, ast.Starred) for arg in node.args)
        if function is None or is_open or isinstance(function, BuiltinFunctionType | type):
            continue
        try:
            inspect.signature(function).bind(*node.args, **{str(name): value for name, value in named.items()})
        except TypeError as exc:
            wrong.append(f"{path.name}:{node.lineno} {ast.unparse(node.func)}: {exc}")
    return wrong


def test_every_call_fits_the_function_of_today() -> None:
    assert [each for path in sorted(INSIDE.glob("[a-z]*.py")) for each in calls_that_do_not_fit(path)] == []
