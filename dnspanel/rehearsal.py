"""Rehearse a change: run it to its end and roll it back, to show its effects or the reasons against it.

A rehearsal is one transaction for all writes, including the log and the audit log. It has no effects outside the
database. Workers are only woken after a commit, publish hooks aren't called, and the panel doesn't wait for nodes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from django.db import transaction

T = TypeVar("T")


@dataclass
class Rehearsal:
    """The results of a rehearsed action: plans, revisions, and refusals that a person can override."""

    notes: list[object] = field(default_factory=list)

    def notes_of(self, kind: type[T]) -> list[T]:
        return [note for note in self.notes if isinstance(note, kind)]


_under_way: ContextVar[Rehearsal | None] = ContextVar("rehearsal", default=None)


@contextmanager
def rehearse() -> Iterator[Rehearsal]:
    """Roll back everything written within the block, even by functions that use durable transactions."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # otherwise inner durable blocks fail
    rehearsal = Rehearsal()
    reset = _under_way.set(rehearsal)
    try:
        with block:
            yield rehearsal
            transaction.set_rollback(True)
    finally:
        _under_way.reset(reset)


def under_way() -> Rehearsal | None:
    """Return the current rehearsal, or None if no rehearsal is running."""
    return _under_way.get()


def note(*notes: object) -> None:
    """Add notes to the current rehearsal. Outside a rehearsal, do nothing."""
    if (rehearsal := _under_way.get()) is not None:
        rehearsal.notes.extend(notes)


def hold(refusal: Exception) -> None:
    """Raise a refusal that a person can override. In a rehearsal, note it and continue, to find all refusals."""
    if _under_way.get() is None:
        raise refusal
    note(refusal)
