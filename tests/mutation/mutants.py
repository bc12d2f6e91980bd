"""The small errors that can be made in a module: changed comparisons, moved bounds and removed calls. Pure."""

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TURNED: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
MOVED: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
# Converts a syntax tree's line and column to an offset in the text.
Place = Callable[[int, int], int]
# Logged or counted text for people is not tested behavior.
TOLD = ("logger.", "logging.", "log.", "stats.")


@dataclass(frozen=True, slots=True)
class Mutant:
    """An error in a file: `text` replaces the characters from `start` to `end`."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    def applied_to(self, source: str) -> str:
        """Return the file's content with the error."""
        return source[: self.start] + self.text + source[self.end :]

    def described(self, source: str) -> str:
        """Return `path:line kind: before → after` for the report."""
        return f"{self.path}:{self.line} {self.kind}: `{source[self.start : self.end]}` → `{self.text}`"


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Yield all errors that can be made in this module, in order of lines."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _of_comparison(path, source, node, place)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if ast.unparse(node.value.func).startswith(TOLD):
                continue
            start, end = place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)
            yield Mutant(path, node.lineno, "call removed", start, end, "pass")


def _of_comparison(path: str, source: str, node: ast.Compare, place: Place) -> Iterator[Mutant]:
    left, right = node.left, node.comparators[0]
    start = place(left.end_lineno or 0, left.end_col_offset or 0)
    between = source[start : place(right.lineno, right.col_offset)]
    operator = between.strip(" ()\n\\")
    at = start + between.find(operator)
    kind = type(node.ops[0])
    if "\n" in operator or "#" in operator:
        return
    yield Mutant(path, node.lineno, "comparison turned", at, at + len(operator), TURNED[kind])
    if kind in MOVED:
        yield Mutant(path, node.lineno, "bound moved", at, at + len(operator), MOVED[kind])
    elif isinstance(right, ast.Constant) and type(right.value) is int:
        begin, end = place(right.lineno, right.col_offset), place(right.end_lineno or 0, right.end_col_offset or 0)
        yield Mutant(path, node.lineno, "bound moved", begin, end, str(right.value + 1))


def chosen(root: Path, packages: Sequence[str], *, seed: int, count: int) -> list[Mutant]:
    """Return `count` mutants, evenly by package, with alternating kinds. A seed and tree fix the result."""
    dice = random.Random(seed)
    found: list[Mutant] = []
    for number, package in enumerate(packages):
        by_kind: dict[str, list[Mutant]] = {"comparison turned": [], "call removed": [], "bound moved": []}
        for file in sorted((root / package).rglob("*.py")):
            path = file.relative_to(root)
            if {"migrations", "management", "models"} & set(path.parts) or file.name in {
                "apps.py",
                "__main__.py",
                "models.py",
            }:
                continue
            for mutant in mutants_of(str(path), file.read_text()):
                by_kind[mutant.kind].append(mutant)
        share = count // len(packages) + (number < count % len(packages))
        kinds = sorted(by_kind)
        found += [dice.choice(by_kind[kinds[index % len(kinds)]]) for index in range(share)]
    return found
