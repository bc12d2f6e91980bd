"""Find the scripts of letters in internationalized labels, and look-alikes of ASCII letters. Pure.

confusables.txt is an extract of Unicode's tables (UTS 39) with the letters that a label can contain.
"""

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("confusables.txt")
LATIN = "Latin"
# Scripts that one language combines (UTS 39 5.1). Each combination counts as one script.
_WITH = {
    "Han": ("Japanese", "Korean", "Chinese with Bopomofo"),
    "Hiragana": ("Japanese",),
    "Katakana": ("Japanese",),
    "Hangul": ("Korean",),
    "Bopomofo": ("Chinese with Bopomofo",),
}
_BESIDE_LATIN = frozenset(script for written in _WITH.values() for script in written) | {"Han"}


@dataclass(frozen=True, slots=True)
class _Letters:
    """The table of letters: sorted ranges with their scripts, and the ASCII look-alikes of letters."""

    firsts: tuple[int, ...]
    lasts: tuple[int, ...]
    scripts: tuple[frozenset[str], ...]
    plain: dict[str, str]


@cache
def _letters() -> _Letters:
    ranges: list[tuple[int, int, frozenset[str]]] = []
    plain: dict[str, str] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        first, last, *rest = line.split(" ")
        if last == "=":
            plain[chr(int(first, 16))] = rest[0]
        else:
            ranges.append((int(first, 16), int(last, 16), frozenset(rest)))
    firsts, lasts, scripts = zip(*ranges, strict=True)
    return _Letters(firsts, lasts, scripts, plain)


def scripts_of(letter: str) -> frozenset[str]:
    """Return the Unicode names of a letter's scripts: none for digits and for marks and signs used in all scripts."""
    table = _letters()
    at = bisect_right(table.firsts, ord(letter)) - 1
    return table.scripts[at] if at >= 0 and ord(letter) <= table.lasts[at] else frozenset()


def mixed_scripts(label: str) -> tuple[str, ...]:
    """Return the scripts of a label if no language mixes them, else (). Each letter adds at most one script.

    "Highly restrictive" labels (UTS 39 5.2) are accepted: one script, or Latin with Japanese, Korean or Chinese.
    """
    used = [scripts for letter in label if (scripts := scripts_of(letter))]
    written = [scripts.union(*(_WITH.get(script, ()) for script in scripts)) for scripts in used]
    if not written or frozenset.intersection(*written):
        return ()
    others = [scripts for scripts in written if LATIN not in scripts]
    if _BESIDE_LATIN & frozenset.intersection(*others):
        return ()
    clear = {script for scripts in used if len(scripts) == 1 for script in scripts}
    return tuple(sorted(script.replace("_", " ") for script in clear or {min(scripts) for scripts in used}))


def looks_like(label: str) -> str:
    """Return the ASCII label that this label looks like, or an empty string."""
    plain = _letters().plain
    text = "".join(letter if letter.isascii() else plain.get(letter, letter) for letter in label)
    return text if text.isascii() and text != label and unicodedata.is_normalized("NFC", label) else ""
