"""A loop over many cases in one test. Each case starts with the unchanged database, and all failures are reported.

Separate tests for the rows of a table would each pay for fixtures and a sign-in, which cost more than the checks.
"""

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db import transaction

LONGEST = 600  # characters in one failure

Step = Callable[..., AbstractContextManager[None]]


@contextmanager
def put_back() -> Iterator[None]:
    """Roll back everything written within the block, even by verbs with durable transactions."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    with block:
        yield
        transaction.set_rollback(True)


@contextmanager
def walk() -> Iterator[Step]:
    """Yield a context manager for each step. At the end, raise AssertionError with the names of all failed steps."""
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
    """Return the message of a failed assert, or the type, place and message of any other exception."""
    if isinstance(fault, AssertionError):
        return str(fault)[:LONGEST]
    place = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__} in {place.filename}:{place.lineno}: {fault}"[:LONGEST]
