"""Syntax trees of our modules and tests, parsed once a process for all tests that read them.

A tree of all modules has more than a million objects. The collector of garbage would look through them again and again
while more trees are parsed, which takes seven times as long as to parse them. They have no cycles, so the trees are
taken out of its sight.
"""

import ast
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def without_collections() -> Iterator[None]:
    """Keep the collector of garbage from what is made within, now and later."""
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
    """Return the syntax tree of a file; no test changes it."""
    with without_collections():
        return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    """Return all nodes of a file's syntax tree, in the order of `ast.walk`."""
    with without_collections():
        return tuple(ast.walk(tree_of(path)))


def nodes_in(text: str) -> Sequence[ast.AST]:
    """Return the same of a text."""
    return tuple(ast.walk(ast.parse(text)))


def dotted(node: ast.expr) -> str:
    """Return a name as `ast.unparse` writes it, with … for what is neither a name nor a part of one.

    `logger.info` of `logger.info`, `super().method` of `super().method`, `….method` of `rows[0].method`: what is called
    is compared with names, and to write out everything takes longer than to parse it.
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return f"{dotted(node.func)}({'…' if node.args or node.keywords else ''})"
    return "…"
