"""Create dataclass instances from rows, forms or other objects with the same field names. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

Copy = TypeVar("Copy")


def copy_fields(kind: type[Copy], source: object, /, **others: Any) -> Copy:
    """Create a dataclass instance from `others`. Copy the remaining fields from the source's attributes or items.

    Lists become tuples. Missing fields keep their defaults. Raise TypeError if a missing field has no default.
    """
    names = _names_of(kind) - others.keys()  # type: ignore[arg-type]  # mypy: a type has no hash
    return kind(**values_of(source, names), **others)


def values_of(source: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the source's attributes or items with these names. Skip missing names, and convert lists to tuples."""
    found = source if isinstance(source, Mapping) else {n: getattr(source, n) for n in names if hasattr(source, n)}
    return {n: tuple(found[n]) if isinstance(found[n], list) else found[n] for n in names if n in found}


@cache
def _names_of(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))
