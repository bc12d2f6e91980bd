"""Texts that can make a regular expression backtrack: a matching start, a repeated part, and an end that doesn't match.

They are derived from the pattern itself, so that new patterns are also tested with texts that suit them.
"""

import random
import re
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

from re import _compiler as compiler  # isort: skip
from re import _constants as ops  # isort: skip
from re import _parser as parser  # isort: skip

from tests.regex_steps import ONE_CHARACTER

Made = Callable[[int], str]

# Characters of zone files, names, headers, JSON and SQL, in addition to those of the pattern.
_SIGNS = "a0 ;\n\"\\.*,()='-\t:/_é\0\r"
_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}
_SAMPLES = 3  # for each part
_PUMPS = 16
_TEXTS = 25


def texts(pattern: re.Pattern[Any]) -> list[Made]:
    """Return functions from a size to a text. Every run gets the same functions."""
    tree = parser.parse(
        pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    reader = _Samples(tree)
    starts, pumps = [""], list(dict.fromkeys([*islice(_SIGNS, 0, 12), *reader.characters()]))
    words: list[str] = []
    repeated_alone: list[str] = []
    # The beginnings of something that does not end, for example `/*` or an opening quote.
    for before, repeated in reader.repeats(list(tree)):
        starts.append(before)
        words += reader.of(repeated)
        repeated_alone += [each for each in reader.of(repeated) if len(each) == 1]
    words += reader.of(list(tree))
    words = [part for word in words for part in (word, word[:-1], word[:-2], word[:1], word[:2], word[:2] + "a")]
    chance = random.Random(0)
    words = [word for word in dict.fromkeys(words) if word and word not in pumps]
    mixed = [first + second for first, second in chance.sample(list(product(pumps, pumps)), 12)]
    starts = list(dict.fromkeys(starts))[:8]
    ends = ["", "\0", "!", *reader.endings()]
    pumps = words[:_PUMPS] + pumps + mixed
    plain = [_made("", pump, "", end) for pump in pumps[: 2 * _PUMPS] for end in ("", "\0")]
    every = list(product(starts, pumps, ["", *pumps[:12]], ends))
    chosen = [_made(*each) for each in chance.sample(every, min(_TEXTS, len(every)))]
    # Repetitions of each part at the places of all others, because two parts can match the same characters.
    shared = [
        _made(start, pump, "", end)
        for start in starts
        for pump in list(dict.fromkeys([" ", *repeated_alone]))[:6]
        for end in ("", "\0")
    ]
    return (
        plain
        + shared[:100]
        + [_made(start, word, "", end) for start in starts for word in words[:8] for end in ends[:2]]
        + chosen
    )


def _made(start: str, pump: str, second: str, end: str) -> Made:
    if second:
        return lambda size: start + pump * (size // (2 * len(pump))) + second * (size // (2 * len(second))) + end
    return lambda size: start + pump * (size // len(pump)) + end


class _Samples:
    """Short texts that match parts of a pattern. Parts that only assert a position (`^`, lookahead) count as empty."""

    def __init__(self, tree: Any) -> None:
        self._state = tree.state
        self._tree = list(tree)

    def characters(self) -> list[str]:
        found = [text for node in _nodes(self._tree) if node[0] in ONE_CHARACTER for text in self._one(node)]
        return list(dict.fromkeys(found))[:20]

    def endings(self) -> list[str]:
        """Return up to three texts that match the pattern, each without its last character."""
        return list(dict.fromkeys(text[:-1] for text in self.of(self._tree) if len(text) > 1))[:3]

    def repeats(self, nodes: list[Any], before: str = "") -> Iterator[tuple[str, list[Any]]]:
        """Yield each repeated part, with a text that matches everything before it."""
        for op, value in nodes:
            if op in _REPEATS:
                yield before, list(value[2])
                yield from self.repeats(list(value[2]), before)
            for inner in _inner(op, value):
                if op not in _REPEATS:
                    yield from self.repeats(inner, before)
            before += (self.of([(op, value)]) or [""])[0]

    def of(self, nodes: list[Any]) -> list[str]:
        options = [self._of_node(node) for node in nodes]
        shortest = "".join(option[0] for option in options)
        others = (
            "".join(option[index % len(option)] for option in options)
            for index in range(1, max((len(option) for option in options), default=1))
        )
        return list(dict.fromkeys([shortest, *others]))[: 2 * _SAMPLES]

    def _of_node(self, node: Any) -> list[str]:
        op, value = node
        if op in ONE_CHARACTER:
            return self._one(node)
        if op in _REPEATS:
            least, _, inner = value
            once = self.of(list(inner))
            return [text * max(least, 1) for text in once] + ([""] if least == 0 else [])
        if op is ops.BRANCH:
            return [text for branch in value[1] for text in self.of(list(branch))[:_SAMPLES]]
        if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
            return self.of(list(value[3] if op is ops.SUBPATTERN else value))
        return [""]

    def _one(self, node: Any) -> list[str]:
        if node[0] is ops.LITERAL:
            return [chr(node[1])]
        one = compiler.compile(parser.SubPattern(self._state, [node]), self._state.flags)
        is_bytes = not self._state.flags & re.UNICODE and not self._state.flags & re.ASCII
        signs = (chr(byte) for byte in [*_SIGNS.encode("latin-1"), *range(33, 127)])
        fitting = (sign for sign in signs if _fits(one, sign, is_bytes))
        return list(islice(fitting, _SAMPLES)) or ["x"]


def _fits(one: re.Pattern[Any], sign: str, is_bytes: bool) -> bool:
    try:
        return one.fullmatch(sign) is not None
    except TypeError:
        return one.fullmatch(sign.encode("latin-1")) is not None


def _inner(op: Any, value: Any) -> list[list[Any]]:
    if op is ops.BRANCH:
        return [list(each) for each in value[1]]
    if op is ops.SUBPATTERN:
        return [list(value[3])]
    if op is ops.ATOMIC_GROUP:
        return [list(value)]
    if op in _REPEATS:
        return [list(value[2])]
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [list(value[1])]
    return []


def _nodes(nodes: list[Any]) -> Iterator[Any]:
    for node in nodes:
        yield node
        for inner in _inner(*node):
            yield from _nodes(inner)
