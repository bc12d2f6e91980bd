"""Rehearsals: a verb runs to its end and is rolled back, so that the caller learns its effect, or its refusal.

A rehearsal is one transaction with all rows, the log and the audit log. Effects outside of the database do not happen:
no worker is woken, since that waits for the commit, publish hooks are not asked, and nothing waits for nodes.
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
    """What an act noted of itself while it was rehearsed: plans, revisions, refusals that a person may confirm."""

    notes: list[object] = field(default_factory=list)

    def notes_of(self, kind: type[T]) -> list[T]:
        """Return the notes of this class in their order."""
        return [note for note in self.notes if isinstance(note, kind)]


_under_way: ContextVar[Rehearsal | None] = ContextVar("rehearsal", default=None)


@contextmanager
def rehearse() -> Iterator[Rehearsal]:
    """Take back whatever is written within, also by verbs whose transactions have to be outermost ones."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # else a durable block within raises RuntimeError
    rehearsal = Rehearsal()
    reset = _under_way.set(rehearsal)
    try:
        with block:
            yield rehearsal
            transaction.set_rollback(True)
    finally:
        _under_way.reset(reset)


def under_way() -> Rehearsal | None:
    """Return the rehearsal that this code runs in; None: it is meant."""
    return _under_way.get()


def note(*notes: object) -> None:
    """Store these notes for the rehearsal, if there is one."""
    if (rehearsal := _under_way.get()) is not None:
        rehearsal.notes.extend(notes)


def hold(refusal: Exception) -> None:
    """Raise what a person may confirm; in a rehearsal note it and go on, so that all that would ask is known."""
    if _under_way.get() is None:
        raise refusal
    note(refusal)
