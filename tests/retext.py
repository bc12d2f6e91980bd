"""`./dev retext OLD NEW`: change an English text in the source and in all catalogs, so that its translations stay.

The text is changed where it is marked for translation: in strings of Python, in `translate` and `blocktranslate` of
templates, and in `translated` of scripts. Documents that name it in italics, and equal strings of tests, follow. Other
lines of tests and documents with the text are listed, because only a person can tell whether they mean it.

`--file FILE` changes many texts: lines `- OLD`, each followed by a line `+ NEW`. Texts are written as in the catalogs:
`%(count)s` for a variable of a template, `{count}` for a value in Python.
"""

import argparse
import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 120
# A literal in several parts has parts of this length, which fit at most indentations.
PART = 96
# Shorter texts, such as Save, are too frequent in tests to be the same text.
SHORTEST_IN_TESTS = 12

_BLOCK = re.compile(r"({%-?\s*blocktranslate\b[^%]*%})(.*?)({%-?\s*endblocktranslate\s*-?%})", re.DOTALL)
_PLURAL = re.compile(r"({%-?\s*plural\s*-?%})")
_VARIABLE = re.compile(r"{{\s*(\w+)\s*}}")
_ENTRY = re.compile(r"\n\n+")

Change = Callable[[str, str, str], str]


class TextMissing(Exception):
    """The source does not have the text."""


class Tree:
    """The texts of a checkout's files. They are read once, because a batch changes hundreds of texts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        python = [path for folder in ("dnspanel", "replication") for path in sorted((root / folder).rglob("*.py"))]
        templates = sorted([*(root / "templates").rglob("*.html"), *(root / "templates").rglob("*.txt")])
        documents = sorted([*(root / "docs").rglob("*.md"), *root.glob("README.md")])
        self.sources: dict[Path, Change] = {
            **{path: change_python for path in python if "migrations" not in path.parts},
            **dict.fromkeys(templates, change_template),
            **dict.fromkeys(sorted((root / "static" / "js").glob("*.js")), change_script),
        }
        self.followers: dict[Path, Change] = {
            **dict.fromkeys(sorted((root / "tests").rglob("*.py")), _change_test),
            **dict.fromkeys(documents, _change_document),
        }
        self.catalogs = sorted((root / "locale").glob("*/LC_MESSAGES/django.po"))
        self._texts: dict[Path, str] = {}
        self._changed: set[Path] = set()

    def change_text(self, old: str, new: str) -> None:
        """Change a text. Raise TextMissing, and change nothing, if no source has it."""
        if not self._change(self.sources, old, new):
            raise TextMissing(f"no source has the text {old!r}")
        self._change(dict.fromkeys(self.catalogs, change_catalog), old, new)
        self._change(self.followers, old, new)

    def mentions(self, text: str) -> list[str]:
        """Return the lines of tests and documents that contain the text, with their places."""
        return [
            f"{path.relative_to(self.root)}:{number}: {line.strip()}"
            for path in self.followers
            if text in self._text(path)
            for number, line in enumerate(self._text(path).splitlines(), 1)
            if text in line
        ]

    def write(self) -> list[Path]:
        """Write the changed files and return their paths."""
        for path in self._changed:
            path.write_text(self._texts[path])
        return sorted(self._changed)

    def _text(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = path.read_text()
        return self._texts[path]

    def _change(self, files: dict[Path, Change], old: str, new: str) -> bool:
        """Change the text in these files. Return True if one of them has it."""
        changed = {
            path: after
            for path, change in files.items()
            if (after := change(text := self._text(path), old, new)) != text
        }
        self._texts |= changed
        self._changed |= changed.keys()
        return bool(changed)


def change_python(source: str, old: str, new: str) -> str:
    """Replace string literals that are equal to the old text. Literals may have several parts."""
    if not _mentions(source, old):
        return source
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    raw = source.encode()
    places = [
        (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and node.value == old and node.end_lineno and node.end_col_offset
    ]
    for start, end in sorted(places, reverse=True):
        raw = raw[:start] + _literal(new).encode() + raw[end:]
    return raw.decode()


def _mentions(source: str, text: str) -> bool:
    """Return True if the source has each word of the text. Only such sources are parsed, because parsing is slow."""
    plain = source.replace("\\'", "'").replace('\\"', '"')
    return bool(text.strip()) and all(word in plain for word in sorted(text.split(), key=len, reverse=True))


def _literal(text: str) -> str:
    """Return a literal of one or more parts. `ruff format` puts the parts on lines of their own where they are long."""
    parts: list[str] = []
    for word in re.findall(r"\S*\s*", text):
        if parts and len(parts[-1]) + len(word.rstrip()) <= PART:
            parts[-1] += word
        elif word:
            parts.append(word)
    return " ".join(f'"{_escape(part)}"' for part in parts)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def change_template(source: str, old: str, new: str) -> str:
    """Replace the text in `translate` tags, `_()` and `blocktranslate` blocks."""

    def in_tag(found: re.Match[str]) -> str:
        quote = '"' if '"' not in new else "'"
        return f"{found[1]}{quote}{new}{quote}"

    def in_block(found: re.Match[str]) -> str:
        parts = _PLURAL.split(found[2])
        return found[1] + "".join(_changed_part(part, old, new) for part in parts) + found[3]

    marked = r"({%-?\s*translate\s+|\b_\()"
    for quote in "\"'":
        source = re.sub(f"{marked}{quote}{re.escape(old)}{quote}", in_tag, source)
    return _BLOCK.sub(in_block, source)


def _changed_part(part: str, old: str, new: str) -> str:
    """Return a part of a block with the new text, wrapped as before, or unchanged if it has another text."""
    msgid = _VARIABLE.sub(r"%(\1)s", " ".join(part.replace("%", "%%").split()))
    if msgid != " ".join(old.split()):
        return part
    text = re.sub(r"%\((\w+)\)s", r"{{ \1 }}", new).replace("%%", "%")
    before, after = re.match(r"\s*", part)[0], re.search(r"\s*$", part)[0]  # type: ignore[index]  # they match any text
    if "\n" not in before:
        return before + text + after
    indent = before.rpartition("\n")[2]
    kept = re.sub(r"{{ (\w+) }}", "{{\x00\\1\x00}}", text)  # a variable stays on one line
    wrapped = textwrap.wrap(kept, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return before + f"\n{indent}".join(wrapped).replace("\x00", " ") + after


def change_script(source: str, old: str, new: str) -> str:
    """Replace the text in calls of `translated`."""
    return re.sub(rf'(\btranslated\()"{re.escape(_escape(old))}"', lambda found: f'{found[1]}"{_escape(new)}"', source)


def change_catalog(source: str, old: str, new: str) -> str:
    """Replace the text of an entry. An entry whose text another entry has already is dropped."""
    entries = _ENTRY.split(source.rstrip("\n"))
    old_line, new_line = f'msgid "{_escape(old)}"', f'msgid "{_escape(new)}"'
    is_known = any(new_line in entry.splitlines() for entry in entries)
    kept = []
    for entry in entries:
        lines = entry.splitlines()
        if old_line in lines and is_known:
            continue
        lines = [new_line if line == old_line else line for line in lines]
        plural = f'msgid_plural "{_escape(old)}"'
        kept.append("\n".join(f'msgid_plural "{_escape(new)}"' if line == plural else line for line in lines))
    return "\n\n".join(kept) + "\n"


def _change_test(source: str, old: str, new: str) -> str:
    return change_python(source, old, new) if len(old) >= SHORTEST_IN_TESTS else source


def _change_document(source: str, old: str, new: str) -> str:
    return source.replace(f"*{old}*", f"*{new}*")


def read_pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of old and new texts in a file. Raise ValueError with the line that is neither."""
    pairs: list[tuple[str, str]] = []
    old: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("- ") and old is None:
            old = line[2:].replace("\\n", "\n")
        elif line.startswith("+ ") and old is not None:
            pairs.append((old, line[2:].replace("\\n", "\n")))
            old = None
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"line {number} is not the next line of a pair: {line}")
    if old is not None:
        raise ValueError(f"the last text has no new text: {old}")
    return pairs


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./dev retext", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="*", metavar="OLD NEW")
    parser.add_argument("--file", type=Path)
    args = parser.parse_args(arguments)
    if len(args.texts) != (0 if args.file else 2):
        parser.error("give the old text and the new text, or --file")
    tree, missing = Tree(ROOT), 0
    for old, new in read_pairs(args.file.read_text()) if args.file else [tuple(args.texts)]:
        try:
            tree.change_text(old, new)
        except TextMissing as exc:
            missing += 1
            sys.stderr.write(f"{exc}\n")
        else:
            sys.stdout.writelines(f"{mention}\n" for mention in tree.mentions(old))
    python = [path for path in tree.write() if path.suffix == ".py"]
    if python:
        subprocess.run([ROOT / ".venv" / "bin" / "ruff", "format", "--quiet", *python], check=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
