"""Texts on buttons begin with a verb of docs/develop/languages.md, so that an act has the same name on every page."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.syntax import dotted, nodes_in, nodes_of

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "develop" / "languages.md"
# Fields and arguments in Python whose text is on a button.
_ON_BUTTONS = frozenset({"act", "button"})

_TAG_OF_DJANGO = re.compile(r"{[%{#].*?[#}%]}", re.DOTALL)
_ELEMENT = re.compile(r"<(?P<name>a|button)\b(?P<tag>[^>]*)>(?P<body>.*?)</(?P=name)>", re.DOTALL)
_MENU = re.compile(r'<div class="menu-list[^"]*">.*?</div>', re.DOTALL)
_BLOCK_OF_ACT = re.compile(r"{% block act %}(.*?){% endblock", re.DOTALL)
_ARGUMENT = re.compile(
    r"""{% include (?:[^%]*?\bbutton|["']_more_rows\.html["'][^%]*?\blabel)=_\((["'])(?P<text>.*?)\1\)"""
)
_BUTTON = re.compile(r'class="[^"]*\bbtn\b')
# A button that switches the view names a view. One that no person sees only keeps the Enter key from pressing another.
_NO_ACT = re.compile(r"\baria-(?:current|pressed)=|\bdisabled hidden\b")
_HIDDEN = re.compile(r'<span class="sr-only">.*?</span>', re.DOTALL)
_TEXT = re.compile(
    r"""{%-?\s*translate\s+(["'])(?P<plain>.*?)\1"""
    r"|{%-?\s*blocktranslate\b(?P<options>(?:(?!%}).)*)%}(?P<block>.*?){%-?\s*endblocktranslate",
    re.DOTALL,
)
_PLURAL = re.compile(r"{%-?\s*plural\s*-?%}")
_MARKUP = re.compile(r"<[^>]*>")


def verbs() -> set[str]:
    """Return the verbs of the table in docs/develop/languages.md."""
    table = LIST.read_text().partition("## Buttons")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)[1:]
    return {verb for row in rows for verb in row.split(", ")}


def button_texts(source: str) -> Iterator[str]:
    """Yield each text on a button of a template, on a link that looks like a button, or on a link in a menu."""
    # A ">" or '"' in a tag of Django, as in {% if a > b %}, would end the element's tag or attribute too early.
    source = _TAG_OF_DJANGO.sub(lambda found: found[0].replace(">", " ").replace('"', "'"), source)
    menus = [found.span() for found in _MENU.finditer(source)]
    for found in _ELEMENT.finditer(source):
        in_menu = any(start < found.start() < end for start, end in menus)
        if found["name"] == "a" and not _BUTTON.search(found["tag"]) and not in_menu:
            continue
        if not _NO_ACT.search(found["tag"]):
            seen = _HIDDEN.sub("", found["body"])
            if "{{" in _TEXT.sub("", seen):
                yield from _texts_in(seen)  # the rest is a value, such as a text from Python
            else:
                yield from list(_texts_in(seen)) or list(_texts_in(found["body"])) or _texts_in(found["tag"])
    for found in _BLOCK_OF_ACT.finditer(source):
        yield from _texts_in(found[1])
    for found in _ARGUMENT.finditer(source):
        yield found["text"]


def _texts_in(body: str) -> Iterator[str]:
    """Yield the texts of a button, except those that are only inserted into another text."""
    for found in _TEXT.finditer(body):
        if found["plain"]:
            yield found["plain"]
        elif " asvar " not in found["options"]:
            yield from (" ".join(_MARKUP.sub("", part).split()) for part in _PLURAL.split(found["block"]))


def texts_in_python(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield each text that is passed as `act` or `button` to a function, or for such a field of a class."""
    places = {
        node.name: [field.target.id for field in node.body if isinstance(field, ast.AnnAssign)]  # type: ignore[union-attr]  # fields have names
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    for node in nodes:
        if isinstance(node, ast.Call):
            given = [keyword.value for keyword in node.keywords if keyword.arg in _ON_BUTTONS]
            names = places.get(dotted(node.func), [])
            given += [value for name, value in zip(names, node.args, strict=False) if name in _ON_BUTTONS]
            yield from (text for value in given for text in _marked(value))


def _marked(value: ast.AST) -> Iterator[str]:
    """Yield the texts in an expression that are marked for translation."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and dotted(node.func) in {"_", "gettext", "gettext_lazy", "ngettext"}:
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def begins_with_a_verb(text: str, known: set[str]) -> bool:
    """Return True if the text begins with one or two words that are a verb of the list."""
    first, _, rest = text.rstrip("…").partition(" ")
    return first in known or f"{first} {rest.partition(' ')[0]}" in known


def test_buttons_begin_with_a_verb_of_the_list() -> None:
    known, folder = verbs(), ROOT / "templates"
    wrong = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted(folder.rglob("*.html"))
        for text in button_texts(path.read_text())
        if not begins_with_a_verb(text, known)
    ]
    wrong += [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted((ROOT / "dnspanel" / "web").rglob("*.py"))
        for text in texts_in_python(nodes_of(path))
        if not begins_with_a_verb(text, known)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('<button class="btn">{% icon "x" %}{% translate "Make it" %}</button>', ["Make it"]),
        ('<a class="btn" href="{% url "a" %}">{% translate "Take up" %}</a>', ["Take up"]),
        ('<a href="/">{% translate "Zones" %}</a>', []),
        ('<div class="menu-list"><a href="/">{% translate "Look" %}</a></div>', ["Look"]),
        ('<button {% if a > b %}disabled{% endif %}>{% translate "Save" %}</button>', ["Save"]),
        ('<button aria-pressed="true">{% translate "Table" %}</button>', []),
        ("<button aria-label=\"{% translate 'Close' %}\">{% icon 'x' %}</button>", ["Close"]),
        (
            "<button>{% blocktranslate count n=n %}Drop it{% plural %}Drop {{ n }} zones{% endblocktranslate %}"
            '<span class="sr-only">{% translate "of the list" %}</span></button>',
            ["Drop it", "Drop {{ n }} zones"],
        ),
        ("{% include \"_act.html\" with button=_('Keep') %}", ["Keep"]),
    ],
)
def test_texts_on_buttons_are_found(source: str, texts: list[str]) -> None:
    assert list(button_texts(source)) == texts


def test_texts_on_buttons_are_found_in_python() -> None:
    module = """class Line:
    text: str
    act: str
Line(gettext("A node is late."), gettext("Look"))
Question(title=gettext("Delete"), button=gettext("Drop {name}").format(name=name) if name else gettext("Keep"))"""
    assert sorted(texts_in_python(nodes_in(module))) == ["Drop {name}", "Keep", "Look"]
