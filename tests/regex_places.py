"""A list of every regular expression in the code: its place, its pattern and its use."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.syntax import dotted, nodes_of, tree_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("dnspanel", "replication")
_FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
# Classes and functions of Django that take a pattern, and the method that they call on it.
_OF_DJANGO = {"RegexValidator": "search", "RegexField": "search", "re_path": "search"}
_USES = {"sub": "finditer", "subn": "finditer", "split": "finditer", "findall": "finditer"}


@dataclass(frozen=True)
class Place:
    """A regular expression, its file, the constant, class or function that contains it, and the calls on it."""

    path: str
    name: str
    pattern: re.Pattern[Any] | None  # None: built at run time
    uses: frozenset[str]

    def __str__(self) -> str:
        return f"{self.path} {self.name}"


def places() -> list[Place]:
    found: list[Place] = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text()
            if not re.search(r"\bre\b|re_path|regex", text, re.IGNORECASE):
                continue
            nodes = nodes_of(path)
            assert not any(isinstance(node, ast.ImportFrom) and node.module == "re" for node in nodes), path
            found += _Reader(str(path.relative_to(ROOT)), tree_of(path)).read()
    return found


def calls_of(module: Any, name: str) -> frozenset[str]:
    """Return the calls that a third-party module makes on one of its compiled patterns."""
    path = Path(module.__file__)
    return frozenset(_USES.get(each, each) for each in _Reader(str(path), tree_of(path))._calls_of(name))


class _Reader:
    """A reader that finds the patterns of one file."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path, self.tree = path, tree
        self.nodes = tuple(ast.walk(tree))

    def read(self) -> Iterator[Place]:
        for top, node in _with_owner(self.tree):
            if isinstance(node, ast.Call) and (use := _use(node)):
                yield self._place(_constant(self.tree, node) or top, node.args, use)
            elif isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "regex":
                        yield self._place(node.name, [each.value], "fullmatch")

    def _place(self, name: str, arguments: list[ast.expr], use: str) -> Place:
        flags = arguments[-1] if len(arguments) > 1 and use == "compile" else None
        uses = {use} if use != "compile" else self._calls_of(name)
        return Place(
            self.path, name, self._pattern(arguments[0], flags), frozenset(_USES.get(each, each) for each in uses)
        )

    def _pattern(self, pattern: ast.expr, flags: ast.expr | None) -> re.Pattern[Any] | None:
        module = importlib.import_module(self.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        try:
            return re.compile(_value(pattern, module), _value(flags, module) if flags else 0)
        except NameError:
            return None

    def _calls_of(self, name: str) -> set[str]:
        """Return the methods called on a compiled pattern, or all methods if no call is found in this file."""
        found = {
            node.attr
            for node in self.nodes
            if isinstance(node, ast.Attribute)
            and node.attr in _FUNCTIONS
            and (
                name in ast.unparse(node.value).split(".")
                or (_is_compile(node.value) and _constant(self.tree, node) == name)
            )
        }
        # `text.match(PATTERN)`: our own reader class has methods with the same names.
        found |= {
            node.func.attr
            for node in self.nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FUNCTIONS
            if any(isinstance(each, ast.Name) and each.id == name for each in node.args)
            if ast.unparse(node.func.value) != "re"
        }
        return found or {"match", "fullmatch", "search", "finditer"}


def _use(call: ast.Call) -> str:
    """Return the function of a call that makes or uses a pattern, such as `compile`. Return "" for any other call."""
    name = dotted(call.func)
    module, _, function = name.rpartition(".")
    if module == "re" and function in _FUNCTIONS:
        return function
    return _OF_DJANGO.get(function, "")


def _is_compile(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _use(node) == "compile"


def _value(expression: ast.expr, module: Any) -> Any:
    return eval(compile(ast.Expression(expression), "pattern", "eval"), vars(module))


def _with_owner(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node with the name of its class or function, such as `Reader.read`, or ""."""
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        owner, node = waiting.pop()
        yield owner, node
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            owner = f"{owner}.{node.name}".lstrip(".")
        waiting += [(owner, child) for child in ast.iter_child_nodes(node)]


def _constant(tree: ast.Module, wanted: ast.expr) -> str:
    """Return the name of the module constant whose value contains this node, or ""."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or (node.end_lineno or 0) < wanted.lineno:
            continue
        if any(each is wanted for each in ast.walk(node)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            return ast.unparse(target)
    return ""
