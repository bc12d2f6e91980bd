r"""Match owner names against the patterns in grants and scopes. Pure.

A pattern that ends in a dot is compared with the whole name. Other patterns are compared with the name relative to the
zone, where "@" is the apex. `*` matches any characters, including dots. `\*` matches an asterisk. Case is ignored.

Users write these patterns, and each changed RRset is matched inside the transaction that publishes it. Regular
expressions could be too slow: for `*a*a*a…`, they backtrack over every way to split the name.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from dnspanel.texts import gettext
from replication.dns import names

LONGEST_PATTERN = 255
MOST_STARS = 8

_STAR = re.compile(r"(\\\*|\*+)")


class NamePatterns:
    """A compiled set of patterns. All patterns without a wildcard are matched with one set lookup."""

    def __init__(self, patterns: Iterable[str]) -> None:
        compiled = {pattern: _pieces(pattern) for pattern in patterns}
        self._exact = frozenset(pieces[0] for pieces in compiled.values() if len(pieces) == 1)
        starred = [(pattern, pieces) for pattern, pieces in compiled.items() if len(pieces) > 1]
        self._absolute = [pieces for pattern, pieces in starred if pattern.endswith(".")]
        self._relative = [pieces for pattern, pieces in starred if not pattern.endswith(".")]

    def fit(self, name: str, zone_name: str) -> bool:
        """Return True if an owner name of a zone matches one of the patterns."""
        relative = names.relative_text(name, zone_name)
        # An absolute pattern is not the relative text of a name whose last label ends in an escaped dot.
        if name in self._exact or (relative in self._exact and not relative.endswith(".")):
            return True
        return any(_fits(pieces, name) for pieces in self._absolute) or any(
            _fits(pieces, relative) for pieces in self._relative
        )


@lru_cache(maxsize=256)
def compile_patterns(patterns: tuple[str, ...]) -> NamePatterns:
    """Compile a grant's patterns. The result is cached, because every changed RRset is compared with the patterns."""
    return NamePatterns(patterns)


def stars(pattern: str) -> int:
    """Count the wildcards in a pattern. Consecutive wildcards count as one."""
    return len(_pieces(pattern)) - 1


def fault(pattern: str) -> str:
    """Return the error message if a grant can't contain this pattern, or ""."""
    if not pattern or not pattern.isprintable() or any(char.isspace() for char in pattern):
        return gettext(
            "{pattern!a} isn’t a valid pattern. Use a pattern such as www, *.dev or _acme-challenge*."
        ).format(pattern=pattern)
    if len(pattern) > LONGEST_PATTERN:
        return gettext("A pattern can have at most {longest_pattern} characters.").format(
            longest_pattern=LONGEST_PATTERN
        )
    return (
        ""
        if stars(pattern) <= MOST_STARS
        else gettext("A pattern can have at most {most_stars} asterisks: {pattern}").format(
            most_stars=MOST_STARS, pattern=pattern
        )
    )


def _pieces(pattern: str) -> tuple[str, ...]:
    """Split a pattern at its wildcards and return the parts in lowercase. A pattern without a wildcard is one part."""
    pieces = [""]
    for part in _STAR.split(pattern):
        if part.startswith("*"):
            pieces.append("")
        else:
            pieces[-1] += "*" if part == "\\*" else part.lower()
    return tuple(pieces)


def _fits(pieces: tuple[str, ...], text: str) -> bool:
    """Return True if the text consists of the pieces, in order, with any characters between them.

    Each middle piece is matched at its first occurrence. If any match exists, this finds one, so backtracking isn't
    necessary.
    """
    first, *middle, last = pieces
    end = len(text) - len(last)
    if end < len(first) or not text.startswith(first) or not text.endswith(last):
        return False
    at = len(first)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
