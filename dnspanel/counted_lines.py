"""Limit the number of lines in texts that people send, before the texts are parsed. Pure.

A text of two megabytes can have a million lines, and parsing them takes a web worker many seconds. Therefore, a text
with too many lines is rejected before its first line is parsed.
"""

import io
from collections.abc import Iterable, Iterator
from typing import TypeVar

from dnspanel.texts import gettext

# The limit for all lines, including empty ones, is this many times the limit for lines with content.
_WITH_EMPTY_LINES = 10

_Line = TypeVar("_Line")


class TooManyLines(ValueError):
    """The text has more lines than allowed. The message contains the number of lines and the limit."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(gettext("Enter at most {most:,} lines, not {count:,}.").format(count=count, most=most))
        self.count = count
        self.most = most


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text's lines with their numbers. Split like `str.splitlines`, but without building a list."""
    number = 0
    for piece in io.StringIO(text, newline=None):
        for line in piece.splitlines():
            number += 1
            yield number, line


def counted_lines(text: str, most: int) -> list[tuple[int, str]]:
    """Return the non-blank lines with their numbers. Raise TooManyLines in the cases of `limit_lines`."""
    return limit_lines(((number, line) for number, line in numbered_lines(text) if line.strip()), text, most)


def limit_lines(lines: Iterable[_Line], text: str, most: int) -> list[_Line]:
    """Return the lines as a list. Raise TooManyLines as soon as there are more than `most`.

    Including blank lines, `text` can have at most ten times as many lines, because blank lines also take time.
    """
    in_all = text.strip().count("\n") + 1
    if in_all > most * _WITH_EMPTY_LINES:
        raise TooManyLines(in_all, most)
    found: list[_Line] = []
    for line in lines:
        if len(found) == most:
            raise TooManyLines(max(in_all, most + 1), most)
        found.append(line)
    return found
