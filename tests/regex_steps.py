r"""A counter of the steps that Python's regular expression engine takes, without a clock.

The engine itself doesn't report its work. So this is a second, simple and slow engine. It backtracks over the same
parsed pattern (`re._parser`) in the same order. `tests/test_regular_expressions.py` compares it with `re` on random
patterns and texts, because an engine with other matches would count other steps. `re` itself decides about single
characters and positions (`^`, `\b`).

A step is a look at one character, or the start of one part of the pattern. Backreferences are not supported.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from re import _compiler as compiler  # isort: skip
from re import _constants as ops  # isort: skip
from re import _parser as parser  # isort: skip

Text = str | bytes
# Both return the end of the match or None. Rest starts at a place. Part also gets what follows it in the pattern.
Rest = Callable[[int], int | None]
Part = Callable[[int, Rest], int | None]

ONE_CHARACTER = {ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY}


class TooManySteps(Exception):
    """The count passed the limit, so the result of the match is unknown."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow deep recursion. Each repetition of a group is a nested call, so long texts exceed Python's limit."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class CountedPattern:
    """A compiled pattern, with the total number of steps of all calls in `steps`."""

    def __init__(self, pattern: re.Pattern[Any], limit: int = 10_000_000) -> None:
        self.real = pattern
        self.limit = limit
        self.steps = 0
        self._text: Text = ""
        tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if _is_bytes(pattern) else pattern.flags)
        self._state = tree.state
        self._part = self._sequence(list(tree), tree.state.flags)

    # The methods of `re.Pattern`, but they return the end of the match.

    def match(self, text: Text, at: int = 0) -> int | None:
        self._text = text
        return self._part(at, lambda end: end)

    def fullmatch(self, text: Text, at: int = 0) -> int | None:
        self._text = text
        return self._part(at, lambda end: end if end == len(text) else None)

    def search(self, text: Text, at: int = 0) -> tuple[int, int] | None:
        for start in range(at, len(text) + 1):
            self._count()
            if (end := self.match(text, start)) is not None:
                return start, end
        return None

    def finditer(self, text: Text) -> list[tuple[int, int]]:
        """Return the spans of all matches, like `finditer`, `sub`, `split` and `findall` of `re`."""
        found: list[tuple[int, int]] = []
        at = 0
        while at <= len(text) and (span := self.search(text, at)) is not None:
            found.append(span)
            at = span[1] + (span[0] == span[1])
        return found

    def follow(self, text: Text) -> int:
        """Match repeatedly, each time at the end of the last match, like a tokenizer. Return the final position."""
        at = 0
        while at < len(text) and (end := self.match(text, at)) is not None and end > at:
            at = end
        return at

    # The parts of a pattern.

    def _count(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise TooManySteps(self.real.pattern)

    def _sequence(self, nodes: list[Any], flags: int) -> Part:
        parts = [self._of_node(node, flags) for node in nodes]
        if len(parts) == 1:
            return parts[0]

        def sequence(at: int, rest: Rest, index: int = 0) -> int | None:
            if index == len(parts):
                return rest(at)
            return parts[index](at, lambda end: sequence(end, rest, index + 1))

        return sequence

    def _of_node(self, node: Any, flags: int) -> Part:
        op, value = node
        if op in ONE_CHARACTER:
            return self._character(node, flags)
        if op is ops.AT:
            return self._place(node, flags)
        if op is ops.BRANCH:
            return self._branch([self._sequence(list(each), flags) for each in value[1]])
        if op is ops.SUBPATTERN:
            _, added, removed, inner = value
            return self._sequence(list(inner), (flags | added) & ~removed)
        if op is ops.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(value), flags))
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            direction, inner = value
            back = inner.getwidth()[0] if direction < 0 else 0
            return self._look(self._sequence(list(inner), flags), back, op is ops.ASSERT)
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            return self._repeat(op, *value, flags)
        raise NotImplementedError(f"{op} in {self.real.pattern!r}")

    def _compiled(self, node: Any, flags: int) -> re.Pattern[Any]:
        return compiler.compile(parser.SubPattern(self._state, [node]), flags)

    def _fits(self, node: Any, flags: int) -> Callable[[int], bool]:
        """Return a function that returns True if the character at a position matches the node."""
        one = self._compiled(node, flags)
        known = cache(lambda character: one.fullmatch(character) is not None)

        def fits(at: int) -> bool:
            self._count()
            return at < len(self._text) and known(self._text[at : at + 1])

        return fits

    def _character(self, node: Any, flags: int) -> Part:
        fits = self._fits(node, flags)
        return lambda at, rest: rest(at + 1) if fits(at) else None

    def _place(self, node: Any, flags: int) -> Part:
        place = self._compiled(node, flags)

        def here(at: int, rest: Rest) -> int | None:
            self._count()
            return rest(at) if place.match(self._text, at) else None

        return here

    def _branch(self, branches: list[Part]) -> Part:
        def branch(at: int, rest: Rest) -> int | None:
            for each in branches:
                self._count()
                if (end := each(at, rest)) is not None:
                    return end
            return None

        return branch

    def _atomic(self, inner: Part) -> Part:
        def atomic(at: int, rest: Rest) -> int | None:
            self._count()
            end = inner(at, lambda end: end)
            return None if end is None else rest(end)

        return atomic

    def _look(self, inner: Part, back: int, wanted: bool) -> Part:
        def look(at: int, rest: Rest) -> int | None:
            self._count()
            found = at >= back and inner(at - back, lambda end: end) is not None
            return rest(at) if found is wanted else None

        return look

    def _repeat(self, op: Any, least: int, most: Any, inner: Any, flags: int) -> Part:
        most = sys.maxsize if most is ops.MAXREPEAT else most
        if (node := _one_character(inner)) is not None:
            fits = self._fits(*node(flags))
            return {
                ops.MAX_REPEAT: self._greedy_characters,
                ops.MIN_REPEAT: self._lazy_characters,
                ops.POSSESSIVE_REPEAT: self._possessive_characters,
            }[op](fits, least, most)
        part = self._sequence(list(inner), flags)
        return {
            ops.MAX_REPEAT: self._greedy,
            ops.MIN_REPEAT: self._lazy,
            ops.POSSESSIVE_REPEAT: self._possessive,
        }[op](part, least, most)

    def _run(self, fits: Callable[[int], bool], at: int, most: int) -> int:
        end = at
        while end - at < most and fits(end):
            end += 1
        return end

    def _greedy_characters(self, fits: Callable[[int], bool], least: int, most: int) -> Part:
        def greedy(at: int, rest: Rest) -> int | None:
            for end in range(self._run(fits, at, most), at + least - 1, -1):
                self._count()
                if (found := rest(end)) is not None:
                    return found
            return None

        return greedy

    def _lazy_characters(self, fits: Callable[[int], bool], least: int, most: int) -> Part:
        def lazy(at: int, rest: Rest) -> int | None:
            end = self._run(fits, at, least)
            if end < at + least:
                return None
            while (found := rest(end)) is None and end - at < most and fits(end):
                end += 1
            return found

        return lazy

    def _possessive_characters(self, fits: Callable[[int], bool], least: int, most: int) -> Part:
        def possessive(at: int, rest: Rest) -> int | None:
            end = self._run(fits, at, most)
            return rest(end) if end >= at + least else None

        return possessive

    def _greedy(self, part: Part, least: int, most: int) -> Part:
        def greedy(at: int, rest: Rest, count: int = 0, before: int = -1) -> int | None:
            self._count()
            if count < least:
                return part(at, lambda end: greedy(end, rest, count + 1, before))
            # A round without a character is not repeated at the same place.
            if count < most and at != before:
                found = part(at, lambda end: greedy(end, rest, count + 1, at))
                if found is not None:
                    return found
            return rest(at)

        return greedy

    def _lazy(self, part: Part, least: int, most: int) -> Part:
        def lazy(at: int, rest: Rest, count: int = 0, before: int = -1) -> int | None:
            self._count()
            if count < least:
                return part(at, lambda end: lazy(end, rest, count + 1, before))
            if (found := rest(at)) is not None:
                return found
            if count >= most or at == before:
                return None
            return part(at, lambda end: lazy(end, rest, count + 1, at))

        return lazy

    def _possessive(self, part: Part, least: int, most: int) -> Part:
        def possessive(at: int, rest: Rest) -> int | None:
            count, before = 0, -1
            while count < most and (count < least or at != before):
                self._count()
                if (end := part(at, lambda end: end)) is None:
                    break
                before, at, count = at, end, count + 1
            return rest(at) if count >= least else None

        return possessive


def _is_bytes(pattern: re.Pattern[Any]) -> bool:
    return isinstance(pattern.pattern, bytes)


def _one_character(inner: Any) -> Callable[[int], tuple[Any, int]] | None:
    """Return the only node of a repeat that needs no call per round (`a*`, `(?:[ab])*`), or None (`(a)*`)."""
    if len(inner) != 1:
        return None
    op, value = inner[0]
    if op in ONE_CHARACTER:
        return lambda flags: (inner[0], flags)
    if op is ops.SUBPATTERN and value[0] is None and (below := _one_character(value[3])) is not None:
        return lambda flags: below((flags | value[1]) & ~value[2])
    return None
