"""A counter for the work of Python code without a clock: lines, steps of regular expressions, and copied characters.

A line that copies the rest of a text (`text = text[1:]`) or appends bytes one by one is a single line for any length of
text. So each variable with a new text after a line also counts as a copy of that length. If the new text extends the
old one, only the added part counts, because Python extends a `str` in place. `bytes` are always copied. Patterns that
are module constants are counted by `tests/regex_steps.py`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, NamedTuple, Self

import pytest

from tests.regex_steps import CountedPattern, deep_recursion

_KEPT = str | bytes


class Work(NamedTuple):
    """The work of a call. Steps and copies are compared separately, because steps would hide the cheap copies."""

    steps: int
    copied: int

    def is_at_most_twice(self, other: Self) -> bool:
        """Return True if the work is at most twice the other work, plus a constant that is independent of the text."""
        return all(mine <= 2.15 * its + 150 for mine, its in zip(self, other, strict=True))


class _Tracer:
    def __init__(self) -> None:
        self.steps = 0
        self.copied = 0
        self._variables: dict[FrameType, dict[str, _KEPT]] = {}

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Count a line, as a trace function for `sys.settrace`."""
        if frame.f_code.co_filename == __file__:
            return None
        self.steps += 1
        if event == "return":
            self._variables.pop(frame, None)
            return None
        now = {name: value for name, value in frame.f_locals.items() if isinstance(value, _KEPT)}
        # A call's arguments are not copied.
        before = now if event == "call" else self._variables.get(frame, now)
        self.copied += sum(_copied(before.get(name), value) for name, value in now.items())
        self._variables[frame] = now
        return self.trace


def _copied(before: _KEPT | None, now: _KEPT) -> int:
    if now is before or len(now) < 2:
        return 0
    if isinstance(now, str) and isinstance(before, str) and now.startswith(before):
        return len(now) - len(before)
    return len(now)


def work_of(function: Callable[[], object]) -> Work:
    """Return the work of a call, even if the call raises an error because of its text."""
    tracer = _Tracer()
    before = sys.gettrace()
    sys.settrace(tracer.trace)
    try:
        function()
    except Exception as exc:
        if not _is_refusal(exc):
            raise
    finally:
        sys.settrace(before)
    return Work(tracer.steps, tracer.copied)


def _is_refusal(exc: Exception) -> bool:
    return type(exc).__name__ in {"BadName", "BadRdata", "BadRRset", "Unreadable", "ValueError"}


class _Counting:
    """A pattern that matches like `re` and counts its steps."""

    def __init__(self, pattern: re.Pattern[Any], steps: Callable[[int], None]) -> None:
        self._real = pattern
        self._counted = CountedPattern(pattern)
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        counted = {"match": "match", "fullmatch": "fullmatch", "search": "search"}.get(name, "finditer")

        def call(*arguments: Any, **options: Any) -> Any:
            text = next(each for each in arguments if isinstance(each, str | bytes))
            at = next((each for each in arguments if isinstance(each, int)), 0)
            before = sys.gettrace()
            sys.settrace(None)
            self._counted.steps = 0
            with deep_recursion():
                getattr(self._counted, counted)(text, *([at] if counted != "finditer" else []))
            self._steps(self._counted.steps)
            sys.settrace(before)
            return real(*arguments, **options)

        return call if callable(real) else real


@contextmanager
def counted_patterns(*modules: ModuleType) -> Iterator[Callable[[], int]]:
    """Count the steps of these modules' patterns. Yield a function that returns the steps since its last call."""
    total = 0

    def add(steps: int) -> None:
        nonlocal total
        total += steps

    def since() -> int:
        nonlocal total
        found, total = total, 0
        return found

    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, re.Pattern):
                    patch.setattr(module, name, _Counting(value, add))
        yield since
