"""Dataclasses whose values come from a row, a form or another object with the same names. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

Copy = TypeVar("Copy")


def copy_fields(kind: type[Copy], source: object, /, **others: Any) -> Copy:
    """Create a dataclass from `others`, and from the source's attributes or items of the other fields' names.

    A list becomes a tuple. A field that neither has keeps its default. Raise TypeError if the field has none.
    """
    names = _names_of(kind) - others.keys()  # type: ignore[arg-type]  # mypy: a type has no hash
    return kind(**values_of(source, names), **others)


def values_of(source: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the source's attributes or items with these names, as far as it has them. A list becomes a tuple."""
    found = source if isinstance(source, Mapping) else {n: getattr(source, n) for n in names if hasattr(source, n)}
    return {n: tuple(found[n]) if isinstance(found[n], list) else found[n] for n in names if n in found}


@cache
def _names_of(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))
