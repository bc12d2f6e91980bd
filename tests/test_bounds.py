"""Code that splits external text into lines, rows or members has a limit, listed in `docs/develop/bounds.md`.

Forms and bodies of API v2 are checked at run time: each text has a maximum length, and each list a maximum size.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django import forms
from django.urls import get_resolver
from rest_framework import serializers

import dnspanel.api
import dnspanel.web
from dnspanel.api.v2.schema.fields import Members, Shape
from dnspanel.api.v2.schema.provider_serializers import SHAPES
from tests.syntax import dotted, tree_of

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "develop" / "bounds.md"
# Packages that read no texts from outside.
_OURS = ("dnspanel/demo/", "dnspanel/cli/", "dnspanel/backup/")
_METHODS = {"splitlines", "getlist", "raw_decode"}
_FUNCTIONS = {"json.loads", "parse_json", "csv.reader", "numbered_lines", "counted_lines", "limit_lines"}
# Fields with a limit that is not a length.
_OTHERWISE = {
    "PasteForm.text": "limits.MOST_PASTE_BYTES, in `clean_text`",
    "ZoneDefaultsForm.seen": "a time",
    "DecisionForm.choice": "compared with few words",
}
# `schema.parsing` reads and counts these. The serializers only document them.
_READ_OTHERWISE = {
    *("BulkSerializer", "ChangesSerializer", "NewZoneSerializer"),
    *("RRsetContentSerializer", "RRsetPatchSerializer"),
}


def places() -> Iterator[tuple[str, str]]:
    """Yield the file and function of each call that splits a text."""
    for path in sorted((ROOT / "dnspanel").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(_OURS):
            yield from ((name, function) for function in sorted(set(_functions(tree_of(path), ""))))


def _functions(node: ast.AST, function: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and _cuts(child):
            yield function or "(module)"
        yield from _functions(child, child.name if isinstance(child, ast.FunctionDef) else function)


def _cuts(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        return True
    of_lines = isinstance(call.func, ast.Attribute) and call.func.attr == "split" and call.args
    if of_lines and isinstance(call.args[0], ast.Constant) and call.args[0].value == "\n":
        return True
    return dotted(call.func) in _FUNCTIONS


def documented() -> dict[tuple[str, str], str]:
    found = {}
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("| `"):
            file, functions, bound = (cell.strip() for cell in line.strip("|").split("|"))
            for function in functions.split(", "):
                found[file.strip("`"), function.strip("`")] = bound
    return found


def test_whatever_cuts_a_text_has_a_bound() -> None:
    found, known = set(places()), documented()
    assert (found - known.keys(), known.keys() - found) == (set(), set()), "a row of bounds.md each"
    assert [place for place, bound in known.items() if not bound] == []


@cache
def _everything() -> None:
    """Import every module of the web pages and the API, and the URL configuration."""
    assert get_resolver().url_patterns
    for package in (dnspanel.web, dnspanel.api):
        for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(each.name)


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("dnspanel."):
            yield each
        yield from _below(each)


def test_every_text_of_a_form_has_a_length() -> None:
    _everything()
    unbounded = set()
    for form in _below(forms.BaseForm):
        for name, field in form.base_fields.items():
            is_text = isinstance(field, forms.CharField) and not isinstance(field, forms.UUIDField)
            if is_text and field.max_length is None:
                unbounded.add(f"{form.__name__}.{name}")
    assert unbounded == _OTHERWISE.keys()


def test_every_list_of_a_body_has_a_size() -> None:
    _everything()
    source = "".join(path.read_text() for path in sorted((ROOT / "dnspanel" / "api" / "v2").rglob("*.py")))
    requested = set(re.findall(r"\b(?:read\(|request=)\s*(\w+Serializer)\b", source))
    requested |= {shape.__name__ for shape in SHAPES.values()}  # chosen by the kind in the body
    unbounded = []
    for shape in _below(Shape):
        if shape.__name__ in requested - _READ_OTHERWISE:
            unbounded += [f"{shape.__name__}{path}" for path in _unbounded(shape(), "")]
    assert unbounded == []


def _unbounded(field: Any, path: str) -> Iterator[str]:
    if field.read_only:
        return
    if isinstance(field, serializers.ListSerializer | serializers.ListField):
        if field.max_length is None:
            yield path
        yield from _unbounded(field.child, f"{path}[]")
    elif isinstance(field, serializers.DictField):
        if not isinstance(field, Members):
            yield path
    elif isinstance(field, serializers.Serializer):
        for name, each in field.fields.items():
            yield from _unbounded(each, f"{path}/{name}")
