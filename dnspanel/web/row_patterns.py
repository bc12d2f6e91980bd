"""Render one row of each shape, and only fill in the texts of the other rows. Pure.

A template takes 40 steps for a row of the editor, and most steps give the same result in each of a hundred rows.
Therefore a row class declares the attributes that the template's conditions use (`SHAPED_BY`), and the texts that the
template only writes (`FILLED_IN`). Rows with equal values for `SHAPED_BY` share a pattern: the template's output with a
placeholder for each text.
"""

import html
import inspect
import secrets
from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from types import MethodType
from typing import Any, ClassVar

from django.utils.safestring import SafeString, mark_safe

# Chosen at process start, so that no record can contain it.
_PLACEHOLDER = secrets.token_hex(12)


class NotOfPattern(Exception):
    """A pattern would be wrong for other rows: the template tests a string or reads an undeclared attribute."""


class PatternRow:
    """A row that a pattern can render. Templates can use only its declared attributes and properties based on them."""

    SHAPED_BY: ClassVar[tuple[str, ...]]  # values that the template tests or writes; few different ones in a table
    FILLED_IN: ClassVar[tuple[str, ...]]  # texts and finished HTML that the template only writes
    _shape_of: ClassVar[Callable[[Any], tuple[object, ...]]]

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "SHAPED_BY" in cls.__dict__:
            cls._shape_of = attrgetter(*cls.SHAPED_BY)

    @property
    def has_pattern(self) -> bool:
        """True if a pattern can render the row. Otherwise the template renders it."""
        return True

    @property
    def shape(self) -> tuple[object, ...]:
        """The values of the attributes in `SHAPED_BY`. Rows with equal values share a pattern."""
        return type(self)._shape_of(self)


class _Placeholder(str):
    """A placeholder for a string. It records a fault if the template tests or compares the string."""

    __slots__ = ("_faults",)
    _faults: list[str]

    def __new__(cls, name: str, faults: list[str]) -> "_Placeholder":
        made = super().__new__(cls, f"{_PLACEHOLDER}{name}{_PLACEHOLDER}")
        made._faults = faults
        return made

    def __bool__(self) -> bool:
        self._note()
        return True

    def __eq__(self, other: object) -> bool:
        self._note()
        return False

    __hash__ = str.__hash__

    def _note(self) -> None:
        self._faults.append(f"it decides by {self.split(_PLACEHOLDER)[1]}")


class _Outline:
    """A stand-in for a row that renders its pattern: real values for `SHAPED_BY`, placeholders for `FILLED_IN`."""

    def __init__(self, row: PatternRow, faults: list[str]) -> None:
        self._row, self._faults = row, faults

    def __getattr__(self, name: str) -> Any:
        row = self._row
        if name in row.FILLED_IN:
            return _Placeholder(name, self._faults)
        if name in row.SHAPED_BY:
            return getattr(row, name)
        derived = inspect.getattr_static(type(row), name, None)
        if isinstance(derived, property) and derived.fget is not None:
            return derived.fget(self)
        if isinstance(derived, cached_property):
            return derived.func(self)
        if inspect.isfunction(derived):
            return MethodType(derived, self)
        self._faults.append(f"it asks for {name}")
        raise AttributeError(name)


class RowPatterns:
    """The patterns of one table, created while the table is rendered."""

    def __init__(self) -> None:
        self._patterns: dict[tuple[object, ...], tuple[str, ...]] = {}

    def draw_row(self, row: PatternRow, draw: Callable[[object], str]) -> SafeString:
        """Return the row's HTML, equal to the result of `draw`. Raise NotOfPattern if no correct pattern exists."""
        if not row.has_pattern:
            return mark_safe(draw(row))
        shape = row.shape
        pattern = self._patterns.get(shape)
        if pattern is None:
            pattern = self._patterns[shape] = _pattern_of(row, draw)
        parts = list(pattern)
        for place in range(1, len(parts), 2):
            text = getattr(row, parts[place])
            parts[place] = text if isinstance(text, SafeString) else html.escape(str(text))
        return mark_safe("".join(parts))


def _pattern_of(row: PatternRow, draw: Callable[[object], str]) -> tuple[str, ...]:
    """Return the row's pattern: HTML parts alternating with attribute names. Raise NotOfPattern if it is wrong."""
    faults: list[str] = []
    drawn = draw(_Outline(row, faults))
    if faults:
        raise NotOfPattern(f"{type(row).__name__}: {'; '.join(dict.fromkeys(faults))}")
    return tuple(drawn.split(_PLACEHOLDER))
