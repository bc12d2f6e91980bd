"""Checks of the layout of templates, style sheets and scripts: `python -m tests.markup` prints complaints.

Also a function that folds invisible white space in HTML, so that tests compare only what is shown.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_LINE = 120
# Elements that begin a new line. White space beside any other element can be visible, so it is optional.
_BLOCK_ELEMENTS = """
    article aside body dd details dialog div dl dt fieldset figure footer form h1 h2 h3 h4 head header hr html legend li
    main nav ol optgroup option p pre section summary table tbody td tfoot th thead tr ul
"""
BLOCK_ELEMENTS = frozenset(_BLOCK_ELEMENTS.split())
_START_TAG = re.compile(r"<([a-z][a-z0-9]*)\b")
_DJANGO = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}")
# Django reads a tag only on one line, even if a message has many names.
_MESSAGE_TAG = re.compile(r"\{% (?:blocktranslate|url) [^%]*%\}")
_STRING = re.compile(r"""(["']).*?\1""")

_VERBATIM = re.compile(r"(<(pre|textarea)\b.*?</\2>)", re.DOTALL)
_BLOCK_TAG = re.compile(rf"\s*(</?(?:{'|'.join(sorted(BLOCK_ELEMENTS - {'pre'}))})\b[^>]*>)\s*")


def folded(html: str) -> str:
    """Return the HTML with one space for each run of white space, and none beside block elements or at a tag's end."""
    pieces = _VERBATIM.split(html)  # text, a verbatim element, its name, text, …
    for index in range(0, len(pieces), 3):
        text = re.sub(r"\s+(?=/?>)", "", re.sub(r"\s+", " ", pieces[index]))
        pieces[index] = _BLOCK_TAG.sub(r"\1", text)
    return "".join(piece for index, piece in enumerate(pieces) if index % 3 != 2).strip()


def complaints_of_template(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and complaint for a line that is too long or starts two block elements."""
    yield from _long_lines(_MESSAGE_TAG.sub("", text))
    for number, line in enumerate(text.splitlines(), 1):
        started = [name for name in _START_TAG.findall(_DJANGO.sub("", line)) if name in BLOCK_ELEMENTS]
        if len(started) > 1:
            yield number, f"<{started[0]}> and <{started[1]}> begin on one line"


def complaints_of_style_sheet(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and complaint for a line that is too long or has two declarations or selectors."""
    yield from _long_lines(text)
    # The comment's line breaks stay, so that line numbers stay right.
    code = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(code.splitlines(), 1):
        bare = _STRING.sub('""', line)
        if bare.count(";") > 1 or re.search(r"\{.*\S", bare):
            yield number, "more than one declaration or rule on one line"
        if bare.rstrip().endswith(("{", ",")) and not bare.lstrip().startswith("@") and _selectors(bare) > 1:
            yield number, "more than one selector on one line"


def _selectors(line: str) -> int:
    """Return the number of selectors on the line. Commas in parentheses don't count."""
    depth, found, head = 0, 1, line.rstrip(" {,")
    if re.match(r"\s*[\w-]+: ", head):
        return 0  # the first line of a declaration with several lines
    for character in head:
        depth += {"(": 1, ")": -1}.get(character, 0)
        found += character == "," and depth == 0
    return found


def complaints_of_script(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and complaint for a line that is too long."""
    yield from _long_lines(text)


def _long_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            yield number, f"{len(line)} columns"


def complaints() -> Iterator[str]:
    """Yield every complaint about the panel's files, with file and line."""
    checks = (
        ("templates", "*.html", complaints_of_template),
        ("static/css", "*.css", complaints_of_style_sheet),
        ("static/js", "*.js", complaints_of_script),
    )
    for folder, pattern, check in checks:
        for path in sorted((ROOT / folder).rglob(pattern)):
            for number, complaint in check(path.read_text()):
                yield f"{path.relative_to(ROOT)}:{number}: {complaint}"


if __name__ == "__main__":
    found = list(complaints())
    sys.exit("\n".join(found) or 0)
