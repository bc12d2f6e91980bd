"""Counts of docstrings, page texts and documents with hard-to-read wording. Every count may only decrease.

A function's docstring begins with a verb. No docstring has one of the words that made them hard to read, such as "who"
without a noun before it. No function is named by a lone participle. The counts are only an indication: a docstring is
good if it is true and understood at first reading. A change that lowers a count must lower the number here too.
"""

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, prose
from tests.syntax import nodes_of

ROOT = Path(__file__).resolve().parent.parent

MARKERS = re.compile(
    r"\b(whom|whoever|of which|by which|for which|from which|(?<!there )(?-i:is none)|is to be|are to be|anew|"
    r"no more\b(?! than)|but for|that there (is|are)|somebody|nobody|everybody|stands|lies|as it was|as they were|"
    r"so many|besides|meanwhile|lately|told|mend(s|ed)?|for want of|by and by)\b|"
    r"(^|[.;:,] |\b(of|by|for|to|from|with|and) )who\b",
    re.IGNORECASE,
)
NOT_A_VERB = re.compile(
    r"^(the|a|an|what|who|which|of|one|all|every|each|no|nobody|nothing|whether|that|how|where|when|it|its|in|on|at|by|"
    r"for|as|same|those|these|this|names|zones?|some|with|from|if|true|is|not|only|up|up to|and|raises|until|after|"
    r"before|two|several|many|most|more|other|others|own|so|than|then|there|they|their|them|to)\b",
    re.IGNORECASE,
)

# By package: the number of docstrings with a marker, and of those that do not begin with a verb. Otherwise 0.
MOST: dict[str, tuple[int, int]] = {
    "dnspanel/cli": (2, 0),
    "dnspanel/fleet": (1, 0),
    "dnspanel/publish": (2, 0),
    "dnspanel/transfer": (1, 0),
    "dnspanel/zones": (1, 0),
    "replication/wire": (1, 0),
    "tests/alone": (1, 0),
    "tests/dnspanel/webhooks": (1, 0),
    "tests/faults": (1, 0),
}

# A lone participle as a function's name hides the action at the call site: `_locked` instead of `_lock_zone`.
LONE_PARTICIPLE = re.compile(
    r"_?(?:[a-z]+ed|told|found|known|kept|made|given|taken|written|sent|held|seen|built|done|gone|begun|left|said|shown|"
    r"put|met|chosen|drawn|bound|brought|sought|thrown|broken|hidden|gotten|got)"
)
# Functions of the panel and of `replication` with such a name. The remaining names belong to interfaces.
MOST_PARTICIPLES = 46

# "Return what the zone brings" hides the noun. Better: "Return the signatures in the zone file".
CLAUSE = re.compile(r"^\w+ (what|whether|which|who|those)\b|^[^.]*\bwhat\b")
# Docstrings of the panel and of `replication` with such a clause in their first sentence.
MOST_CLAUSES = 25

# English texts of pages with a marker, of 25 characters or more.
MOST_TEXTS = 5

# Lines of documents with a marker.
MOST_LINES = 1


def package_of(path: str) -> str:
    """Return the package that a file is counted in: its first two folders, or three for tests."""
    folders = path.split("/")[:-1]
    return "/".join(folders[: 3 if folders[:1] == ["tests"] else 2])


@cache
def python_files() -> tuple[str, ...]:
    """Return all Python files of the repository except migrations."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(path for path in listed.split() if "/migrations/" not in path and (ROOT / path).exists())


def is_exempt(node: ast.FunctionDef) -> bool:
    """Return True for a property, which is a noun phrase, and for a test, whose name says what it does."""
    decorators = {getattr(each, "id", getattr(each, "attr", "")) for each in node.decorator_list}
    return bool(decorators & {"property", "cached_property"}) or node.name.startswith("test_")


@cache
def docstrings() -> list[tuple[str, ast.AST, str]]:
    """Return file, node and text of every docstring."""
    return [
        (path, node, text)
        for path in python_files()
        for node in nodes_of(ROOT / path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        and (text := ast.get_docstring(node))
    ]


@cache
def found() -> dict[str, tuple[list[str], list[str]]]:
    """Return by package the places of docstrings with a marker, and those of functions that don't begin with a verb."""
    places: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for path, node, text in docstrings():
        place = f"{path}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        if MARKERS.search(text):
            places[package_of(path)][0].append(place)
        if isinstance(node, ast.FunctionDef) and not is_exempt(node) and NOT_A_VERB.match(text):
            places[package_of(path)][1].append(place)
    return places


PACKAGES = sorted({package_of(path) for path in python_files()})


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_have_no_more_markers_than_before(package: str):
    places = found().get(package, ([], []))[0]
    most = MOST.get(package, (0, 0))[0]
    assert len(places) <= most, "\n".join(
        [f"{package}: {len(places)} docstrings with a marker, {most} before", *places]
    )


def test_no_more_docstrings_have_a_clause_for_an_object_than_before():
    firsts = [(path, text.split("\n\n")[0]) for path, _, text in docstrings() if not path.startswith("tests/")]
    places = [f"{path}: {first}" for path, first in firsts if CLAUSE.search(first)]
    assert len(places) <= MOST_CLAUSES, "\n".join(places)


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_of_functions_begin_with_a_verb(package: str):
    places = found().get(package, ([], []))[1]
    most = MOST.get(package, (0, 0))[1]
    assert len(places) <= most, "\n".join([f"{package}: {len(places)} without a verb, {most} before", *places])


def test_no_more_functions_are_named_by_a_lone_participle_than_before():
    places = [
        f"{path}:{node.lineno}: {node.name}"
        for path in python_files()
        if path.startswith(("dnspanel/", "replication/"))
        for node in nodes_of(ROOT / path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and LONE_PARTICIPLE.fullmatch(node.name)
    ]
    most = MOST_PARTICIPLES
    assert len(places) <= most, "\n".join([f"{len(places)} functions by a participle, {most} before", *places])


def test_packages_with_a_limit_exist():
    assert MOST.keys() <= set(PACKAGES)


def test_texts_of_pages_have_no_more_markers_than_before():
    catalog = (ROOT / "locale/de/LC_MESSAGES/django.po").read_text()
    odd = [text for text in re.findall(r'^msgid "(.{25,})"$', catalog, re.MULTILINE) if MARKERS.search(text)]
    assert len(odd) <= MOST_TEXTS, f"{len(odd)} texts of pages have a marker, {MOST_TEXTS} before"


def test_documents_have_no_more_markers_than_before():
    texts = {path: re.sub(r"`[^`\n]*`", "", prose(path)) for path in DOCUMENTS}
    odd = [
        f"{path.relative_to(ROOT)}: {line}"
        for path, text in texts.items()
        for line in text.splitlines()
        if MARKERS.search(line)
    ]
    assert len(odd) <= MOST_LINES, "\n".join(
        [f"{len(odd)} lines of documents have a marker, {MOST_LINES} before", *odd]
    )
