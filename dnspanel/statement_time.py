"""How long one statement of PostgreSQL may take, by what it is for: `STATEMENT_SECONDS` in the settings has the limits.

A process says at its start what it is. Its connections are opened with that limit, so no request pays a statement for
it. Web processes are for reads; a request that writes, and a search, change the limit for as long as they last.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections, transaction

READ, SEARCH, WRITE = "read", "search", "write"
WORKER, GATEWAY, COLLECTOR = "worker", "gateway", "collector"
COMMAND = "command"  # a process that does not say what it is

RETRY_AFTER = 10  # seconds, for who asks again after a statement that took too long

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_process = COMMAND


class SearchTooGeneral(Exception):
    """A search would look through too much, or took too long; the message says what would help."""


def begin(kind: str) -> None:
    """Connections that this process opens from now on have the limit of this kind."""
    global _process
    _process = kind
    options = connections.settings["default"].setdefault("OPTIONS", {})
    limited = f"-c statement_timeout={_milliseconds(kind)}"
    options["options"] = " ".join(filter(None, [options.get("options", ""), limited]))


@contextmanager
def searching() -> Iterator[None]:
    """Within, a statement may take as long as one of a search. Raises SearchTooGeneral for one that takes longer.

    It is a transaction, and not within another one: the limit ends with it.
    """
    try:
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {_milliseconds(SEARCH)}")
            yield
    except OperationalError as exc:
        if not was_ended(exc):
            raise
        seconds = settings.STATEMENT_SECONDS[SEARCH]
        raise SearchTooGeneral(
            f"The search took longer than {seconds:g} s and was ended. Look for something longer, or for a full name or"
            " value."
        ) from exc


def searching_for(text: str) -> Any:
    """`searching` for a list that has a text to look for; else nothing."""
    return searching() if text else nullcontext()


def was_ended(exc: BaseException) -> bool:
    """Whether this is the error of a statement that took too long, or was cancelled by a person."""
    return isinstance(exc, OperationalError) and isinstance(exc.__cause__, psycopg.errors.QueryCanceled)


class StatementTimeMiddleware:
    """Statements of a request that writes may take as long as those of writes."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        if _process != READ or request.method in _SAFE_METHODS:
            return self.get_response(request)
        # Whoever cannot reach the database now will hear of it from the view, which has an answer for it.
        with suppress(DatabaseError, InterfaceError):
            _set(f"SET statement_timeout = {_milliseconds(WRITE)}")
        try:
            return self.get_response(request)
        finally:
            with suppress(DatabaseError, InterfaceError):
                _set("RESET statement_timeout")


def _set(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _milliseconds(kind: str) -> int:
    return int(settings.STATEMENT_SECONDS[kind] * 1000)
