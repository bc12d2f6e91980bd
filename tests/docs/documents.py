"""The repository's documents, and the parts of the code that tests compare them with."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.syntax import nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "replication/README.md")
DOCUMENTS = sorted([ROOT / name for name in TOP] + [*(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_ITALIC = re.compile(r"(?<![*\w\\])\*([^*\n]+)\*(?![*\w])")
_VALUE = re.compile(r"\{\{[^{}]*\}\}|%\(\w+\)[sd]|\{[\w:,.]*\}|…")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def text_of(path: Path) -> str:
    return path.read_text()


def prose(path: Path) -> str:
    """Return the document without its blocks of code."""
    return _FENCE.sub("", text_of(path))


def links(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and anchor of each internal link. The file is empty for links inside the document."""
    for target in _LINK.findall(prose(path)):
        if "://" not in target and not target.startswith("mailto:"):
            file, _, anchor = target.partition("#")
            yield file, anchor


def code_spans(path: Path) -> list[str]:
    """Return the document's inline code, outside code blocks."""
    return _CODE.findall(prose(path))


def italics(path: Path) -> list[str]:
    """Return texts in italics, each as one line. Menu paths such as `*Settings → Approval*` are split."""
    lines = re.sub(r"(?<=\S)\n(?=\S)", " ", re.sub(r"`[^`\n]*`", "`", prose(path)))
    return [part for text in _ITALIC.findall(lines) for part in text.split(" → ")]


def anchors(path: Path) -> set[str]:
    """Return the anchors that viewers generate from the headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def section(path: Path, heading: str) -> str:
    """Return the text below a heading, up to the next heading."""
    found = re.search(rf"^(#+) {re.escape(heading)}$(.*?)(?=^#{{1,6}} |\Z)", text_of(path), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{path} has no heading {heading}"
    return found[2]


def has_name(dotted: str) -> bool:
    """Return True if a dotted name is a module of the repository, or is defined in a module or class."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        module = ROOT.joinpath(*parts[:cut])
        file = module.with_suffix(".py") if module.with_suffix(".py").exists() else module / "__init__.py"
        if file.exists():
            return _defines(_parsed(file), parts[cut:]) or (file.stem == "__init__" and _hands_on(file, parts[cut:]))
    return False


def _hands_on(package: Path, names: list[str]) -> bool:
    """Return True if a package re-exports this name from one of its modules."""
    imports = (node for node in _parsed(package) if isinstance(node, ast.ImportFrom))
    homes = [node.module or "" for node in imports if names and names[0] in {alias.name for alias in node.names}]
    return any(has_name(".".join([home, *names])) for home in homes)


def _parsed(file: Path) -> list[ast.stmt]:
    return tree_of(file).body


def _defines(body: list[ast.stmt], names: list[str]) -> bool:
    if not names:
        return True
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == names[0]:
            return len(names) == 1 or (isinstance(node, ast.ClassDef) and _defines(node.body, names[1:]))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == names[0] for target in targets):
            return len(names) == 1
    return False


@cache
def strings_of_code() -> tuple[str, ...]:
    """Return all string constants in the code, which may be displayed. Formatted strings are split at their values."""
    found: set[str] = set()
    for package in ("dnspanel", "replication"):
        for path in (ROOT / package).rglob("*.py"):
            for node in nodes_of(path):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
    return tuple(found)


@cache
def displayed_texts() -> str:
    """Return all texts of templates and code that may be displayed, joined."""
    pages = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "deploy" / "nginx").rglob("*.html")]
    return _plain("\0".join([*(path.read_text() for path in pages), *strings_of_code()]))


@cache
def displayed_patterns() -> tuple[re.Pattern[str], ...]:
    """Return patterns for the displayed texts with values. They match any value."""
    texts = re.findall(r"%\}([^%<>\0]*\{\{[^%<>\0]*)\{%", displayed_texts()) + [
        _plain(text) for text in strings_of_code()
    ]
    parts = [[re.escape(part) for part in _VALUE.split(text.strip())] for text in texts if _VALUE.search(text)]
    return tuple(re.compile(".+".join(each)) for each in parts if any(len(part) > 3 for part in each))


def is_displayed(text: str) -> bool:
    """Return True if the product displays this text, possibly with other values."""
    wanted = _plain(text)
    return wanted in displayed_texts() or any(pattern.fullmatch(wanted) for pattern in displayed_patterns())


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("’", "'").replace("&amp;", "&")
