"""Syntax trees of the panel's modules and tests, parsed once in each process for all tests that read them.

A tree of all modules has more than a million objects. The garbage collector would examine them again and again while
more trees are parsed, which takes seven times as long as the parsing. The trees have no cycles, so they are excluded
from garbage collection.
"""

import ast
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def without_collections() -> Iterator[None]:
    """Exclude objects that are created within the block from garbage collection, during and after the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file. Don't change it, because tests share it."""
    with without_collections():
        return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    """Return all nodes of a file's syntax tree, in the order of `ast.walk`."""
    with without_collections():
        return tuple(ast.walk(tree_of(path)))


def nodes_in(text: str) -> Sequence[ast.AST]:
    """Return all nodes of a text's syntax tree, in the order of `ast.walk`."""
    return tuple(ast.walk(ast.parse(text)))


def dotted(node: ast.expr) -> str:
    """Return a dotted name as `ast.unparse` writes it, with … for parts that aren't names.

    For example `logger.info`, `super().method`, and `….method` for `rows[0].method`. Only names are compared, and
    unparsing everything would take longer than parsing it.
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return f"{dotted(node.func)}({'…' if node.args or node.keywords else ''})"
    return "…"
