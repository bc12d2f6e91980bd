"""A search for sentences glued together from parts, which other languages can't put in their own order.

A text in a template continues what is before it if both are in the same element, without the end of a sentence between
them. Separators such as "·" end a text. Used by `tests/test_languages.py`.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.syntax import dotted, nodes_of

ROOT = Path(__file__).resolve().parent.parent
# Words that are the end of a text only if the text continues. "Sign in" and "on" don't.
_OPEN_END = re.compile(
    r"(?:,|\(|\b(?:a|an|and|as|at|because|between|but|by|for|from|if|of|or|since|than|the|to|until|up to|with))$"
)
_CONTINUES = re.compile(r"[,;.:)·]")
_FINISHED = re.compile(r"[.!?:…·|→–/(”]$|^[)]?$")
# Elements within a sentence. All others begin a new text.
_WITHIN = re.compile(r"</?(?:b|code|em|i|kbd|small|strong)\b")
_MARKS = re.compile(r"</?(?:a|b|code|em|i|kbd|small|span|strong)\b")
_TOKEN = re.compile(
    r"(?P<comment>{#.*?#}|{%\s*comment\b.*?{%\s*endcomment\s*%}|<!--.*?-->)"
    r"|{%-?\s*blocktranslate\b(?P<options>.*?)%}(?P<block>.*?){%-?\s*endblocktranslate\s*-?%}"
    r"""|{%-?\s*translate\s+(?P<quote>["'])(?P<plain>.*?)(?P=quote)(?P<more>.*?)%}"""
    r"|{%-?\s*(?P<tag>\w+).*?%}|(?P<value>{{.*?}})|(?P<element><[^>]*>)|(?P<bare>[^<{]+|.)",
    re.DOTALL,
)
_ADDED = re.compile(r"""\|add:_\(.*?\)""")
_OF_DJANGO = re.compile(r"{[%{].*?[%}]}", re.DOTALL)
_TRANSLATING = frozenset({"_", "gettext", "gettext_lazy", "ngettext"})
_LETTER = re.compile(r"[^\W\d_]{2}")


def glued_in_template(source: str) -> Iterator[str]:
    """Yield each text that continues the text or value before it, or that a text or value behind it continues."""
    yield from _ADDED.findall(source)
    flow = _Flow()
    for found in _TOKEN.finditer(_OF_DJANGO.sub(_without_angles, source)):
        text = _text_of(found)
        if text is not None:
            yield from flow.add_text(text)
        elif found["value"]:
            yield from flow.add_value(found["value"])
        elif found["element"]:
            flow.pass_element(found["element"])
        elif found["tag"]:
            flow.pass_tag(found["tag"])
        elif (found["bare"] or "").strip():
            flow.before, flow.open_text = found["bare"].strip(), ""


def _without_angles(found: re.Match[str]) -> str:
    return found[0].replace("<", "\0").replace(">", "\1")


@dataclass(slots=True)
class _Flow:
    """The text that a following text could continue.

    `before` is what is directly before, and `open_text` is a text that needs a continuation.
    """

    before: str = ""
    open_text: str = ""
    branches: list[tuple[str, str]] = field(default_factory=list)

    def add_text(self, text: str) -> Iterator[str]:
        if _CONTINUES.match(text) or (self.before and not _may_follow(self.before, text)):
            yield f"{self.before} + {text}" if self.before else text
        elif self.open_text:
            yield f"{self.open_text} + {text}"
        self.before, self.open_text = text, text if _OPEN_END.search(text) else ""

    def add_value(self, value: str) -> Iterator[str]:
        if self.open_text:
            yield f"{self.open_text} + {value}"
        self.before, self.open_text = value, ""

    def pass_element(self, element: str) -> None:
        self.before = self.before if _WITHIN.match(element) else ""
        self.open_text = self.open_text if _MARKS.match(element) else ""

    def pass_tag(self, tag: str) -> None:
        if tag in {"if", "for"}:
            self.branches.append((self.before, self.open_text))
        elif tag in {"elif", "else", "empty"} and self.branches:
            self.before, self.open_text = self.branches[-1]
        elif tag in {"endif", "endfor"} and self.branches:
            before, open_text = self.branches.pop()
            self.before, self.open_text = self.before or before, self.open_text or open_text
        elif tag in {"include", "block", "endblock"}:
            self.before = self.open_text = ""


def _text_of(found: re.Match[str]) -> str | None:
    """Return a translated text that the template displays here, or None. A text with a plural is its singular."""
    if found["block"] is not None and " asvar " not in found["options"]:
        singular = re.split(r"{%-?\s*plural\s*-?%}", found["block"])[0]
        return re.sub(r"<[^>]*>", "", " ".join(singular.replace("\0", "<").replace("\1", ">").split())).strip()
    if found["plain"] is not None and not re.match(r"\s+as\s", found["more"]):
        return found["plain"]
    return None


def _may_follow(before: str, text: str) -> bool:
    """Return True if the text is not a part of the sentence before it."""
    is_start = not text[:1].islower()
    if before.endswith("}}"):
        return is_start  # a value can be a whole sentence
    return bool(_FINISHED.search(before)) and (is_start or not before.endswith((".", "!", "?")))


def glued_in_module(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield each text that can't begin a text, and each translated text that `+` or an f-string joins with others."""
    for node in nodes:
        if isinstance(node, ast.Call) and dotted(node.func) in _TRANSLATING:
            yield from (
                text.value
                for text in node.args
                if isinstance(text, ast.Constant) and (_CONTINUES.match(str(text.value)) or str(text.value)[-1:] == ",")
            )
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [node.left, node.right]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            parts = [node.target, node.value]
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        else:
            continue
        if any(map(_is_translated, parts)) and sum(map(_has_letters, parts)) > 1:
            yield ast.unparse(node)


def _is_translated(node: ast.expr) -> bool:
    """Return True for a call of `gettext`, also with `.format`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return isinstance(node, ast.Call) and dotted(node.func) in _TRANSLATING


def _has_letters(node: ast.expr) -> bool:
    """Return False for marks, such as "- ", and for constants, such as the start of a mail's subject."""
    if isinstance(node, ast.Constant):
        return bool(_LETTER.search(str(node.value).removeprefix("[dnspanel] ")))
    return not (isinstance(node, ast.Name) and node.id.isupper())


def glued() -> Iterator[str]:
    """Yield each glued text of the templates and modules, with its file."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from (f"{path.relative_to(ROOT)}: {text}" for text in glued_in_template(path.read_text()))
    for package in ("dnspanel", "replication"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from (f"{path.relative_to(ROOT)}: {text}" for text in glued_in_module(nodes_of(path)))
