"""Make dnspanel/zones/rules/confusables.txt from Unicode's own files: `python -m tests.unicode_letters DIRECTORY`.

The directory has confusables.txt of https://www.unicode.org/Public/security/latest/ and Scripts.txt,
ScriptExtensions.txt and PropertyValueAliases.txt of https://www.unicode.org/Public/UCD/latest/ucd/. The table contains
only characters that are allowed in labels (RFC 5892, as implemented by the package `idna`).
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import idna.idnadata

from dnspanel.zones.rules.confusables import TABLE

FILES = ("confusables.txt", "Scripts.txt", "ScriptExtensions.txt", "PropertyValueAliases.txt")
NO_SCRIPT = frozenset(("Common", "Inherited"))
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def table_of(directory: Path) -> str:
    """Return the table, with the Unicode version and the checksums of its source files."""
    texts = {name: (directory / name).read_text(encoding="utf-8") for name in FILES}
    version = texts["Scripts.txt"].split("\n", 1)[0].removeprefix("# Scripts-").removesuffix(".txt")
    lines = [
        f"# Scripts of letters, and letters that look like plain ones, of Unicode {version}.",
        "# Made by tests/unicode_letters.py; not to be edited. © Unicode, Inc., https://www.unicode.org/license.txt",
    ]
    for name in FILES:
        lines.append(f"# sha256 {hashlib.sha256((directory / name).read_bytes()).hexdigest()} {name}")
    allowed = set(_allowed())
    scripts = _scripts(texts, allowed)
    lines += [f"{first:X} {last:X} {' '.join(names)}" for first, last, names in _ranges(scripts)]
    plain = _plain(texts["confusables.txt"], allowed)
    lines += [
        f"{point:X} = {text}"
        for point, text in sorted(plain.items())
        if len(text) == 1 or not _is_latin(scripts, point)
    ]
    return "\n".join(lines) + "\n"


def _is_latin(scripts: dict[int, tuple[str, ...]], point: int) -> bool:
    return scripts.get(point) == ("Latin",)


def _allowed() -> Iterator[int]:
    for kind in ("PVALID", "CONTEXTJ", "CONTEXTO"):
        for packed in idna.idnadata.codepoint_classes[kind]:
            yield from range(packed >> 32, packed & 0xFFFFFFFF)


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.removeprefix("\ufeff").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) > 1:
            yield fields


def _points(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


def _scripts(texts: dict[str, str], allowed: set[int]) -> dict[int, tuple[str, ...]]:
    """Return the scripts in which each letter is used (UAX 24), without letters that have none."""
    full = {fields[1]: fields[2] for fields in _rows(texts["PropertyValueAliases.txt"]) if fields[0] == "sc"}
    found = {p: (script,) for points, script, *_ in _rows(texts["Scripts.txt"]) for p in _points(points)}
    for points, used, *_ in _rows(texts["ScriptExtensions.txt"]):
        for point in _points(points):
            found[point] = tuple(sorted(full[short] for short in used.split()))
    return {p: names for p, names in found.items() if p in allowed and not NO_SCRIPT.intersection(names)}


def _ranges(scripts: dict[int, tuple[str, ...]]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield ranges of letters with the same scripts. Characters that labels can't contain don't interrupt a range."""
    first = last = -1
    names: tuple[str, ...] = ()
    for point in sorted(scripts):
        if scripts[point] == names and not any(p in scripts for p in range(last + 1, point)):
            last = point
            continue
        if names:
            yield first, last, names
        first, last, names = point, point, scripts[point]
    yield first, last, names


def _plain(text: str, allowed: set[int]) -> dict[int, str]:
    """Return the ASCII text that each look-alike letter beyond ASCII resembles, by code point."""
    found = {}
    for source, target, *_ in _rows(text):
        looks = "".join(chr(int(point, 16)) for point in target.split()).lower()
        point = int(source, 16)
        if point > 0x7F and point in allowed and PLAIN.issuperset(looks):
            found[point] = looks
    return found


if __name__ == "__main__":
    TABLE.write_text(table_of(Path(sys.argv[1])), encoding="utf-8")
