"""A walk along a table in one test: each step finds the database unchanged, and the end names all steps that failed.

A test for each row of a table pays for its own fixtures and its own sign-in, which cost more than what it asks.
"""

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db import transaction

LONGEST = 600  # letters of one failure

Step = Callable[..., AbstractContextManager[None]]


@contextmanager
def put_back() -> Iterator[None]:
    """Undo what is written within, also what durable verbs write."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    with block:
        yield
        transaction.set_rollback(True)


@contextmanager
def walk() -> Iterator[Step]:
    """Yield what each step is taken in; raise AssertionError at the end with the names of all steps that failed."""
    failures: list[str] = []

    @contextmanager
    def step(*names: object) -> Iterator[None]:
        try:
            with put_back():
                yield
        except Exception as fault:
            failures.append(f"{', '.join(map(str, names))}: {_reason(fault)}")

    yield step
    assert not failures, f"{len(failures)} steps failed:\n" + "\n".join(failures)


def _reason(fault: Exception) -> str:
    """Return the message of a failed assert; of any other exception its type and place too."""
    if isinstance(fault, AssertionError):
        return str(fault)[:LONGEST]
    place = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__} in {place.filename}:{place.lineno}: {fault}"[:LONGEST]
