"""Which texts of templates and pages are not marked for translation. Used by `tests/test_languages.py`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a person reads, or hears, of an element besides what stands in it.
READ_ATTRIBUTES = ("alt", "aria-label", "data-label", "label", "placeholder", "title")
# Keyword arguments of forms and pages that are texts.
READ_ARGUMENTS = ("button", "help_text", "label", "title")
_MARKED = re.compile(
    r"\{% (blocktranslate|comment)\b.*?\{% end\1 %\}|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->"
    r"|<(script|style|svg|pre|code|kbd|textarea)\b.*?</\2>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rf'\s({"|".join(READ_ATTRIBUTES)})="([^"]*)"')
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W\d_]{2,}")
# Names that are the same in every language, and words of a keyboard.
_NAMES = re.compile(
    r"&\w+;|\b(dnspanel|PowerDNS|DNS(?:SEC|KEY)?|C?D(?:NSKEY|S)|TTL|SOA|NS|[AI]XFR|NOTIFY|TSIG|RRsets?)\b"
    r"|\b(API|URL|UDP|TCP|TLS|SAML|SCIM|JSON|CSV|Ctrl|Esc|Enter|ms|min|q/s)\b"
    r"|\S+@\S+|https?://\S+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)+\b|\b[a-z]+(?:-[a-z]+)+\b"
)


def unmarked_in_template(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of what a person would read in English whatever their language is."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    bare = _MARKED.sub(blank, text)
    for found in _ATTRIBUTE.finditer(bare):
        if _WORD.search(_NAMES.sub("", found[2])):
            yield bare.count("\n", 0, found.start()) + 1, found[2]
    for number, line in enumerate(_TAG.sub(blank, bare).splitlines(), 1):
        if _WORD.search(_NAMES.sub("", line)):
            yield number, line.strip()


def unmarked_in_module(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of labels and messages that are plain strings."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        read = [keyword.value for keyword in node.keywords if keyword.arg in READ_ARGUMENTS]
        if ast.unparse(node.func) in {f"messages.{level}" for level in ("success", "info", "warning", "error")}:
            read += node.args[1:2]
        for value in read:
            parts = value.values if isinstance(value, ast.JoinedStr) else [value]
            said = "…".join(
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            if " " in said and _WORD.search(_NAMES.sub("", said)):
                yield value.lineno, said


def unmarked() -> Iterator[str]:
    """Every unmarked text of our pages, with its place."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for number, said in unmarked_in_template(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{number}: {said}"
    for path in sorted((ROOT / "dnspanel" / "web").rglob("*.py")):
        for number, said in unmarked_in_module(path.read_text()):
            yield f"{path.relative_to(ROOT)}:{number}: {said}"
