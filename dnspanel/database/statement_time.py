"""Limit the time of PostgreSQL statements by purpose. The setting `STATEMENT_SECONDS` contains the limits.

A process sets its kind when it starts. Its connections are opened with the limit of this kind, so requests don't need a
statement to set it. The limit of web processes is for reads. A request that writes raises the limit of its connection,
and the next request that reads lowers it again. A search sets its own limit for its duration.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any
from weakref import WeakSet

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections, transaction

from dnspanel.database import silence
from dnspanel.database.base import open_with
from dnspanel.texts import gettext

READ, SEARCH, WRITE = "read", "search", "write"
WORKER, GATEWAY, COLLECTOR = "worker", "gateway", "collector"
COMMAND = "command"  # a process that doesn't set its kind

RETRY_AFTER = 10  # seconds after which the client may ask again, if a statement took too long

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_process = COMMAND
# The connections with the time limit of writes. A reopened connection is not among them.
_raised: WeakSet[psycopg.Connection[Any]] = WeakSet()


class SearchTooGeneral(Exception):
    """A search is too general: it needs too many rows or too much time. The message suggests how to narrow it."""


def begin(kind: str) -> None:
    """Apply the limits of this kind of process to new connections. Detect a hanging server, except in commands.

    All limits are in the packet that opens a connection, so requests don't need a round trip for them. The current
    connection lacks them and is closed.
    """
    global _process
    _process = kind
    connection.close()
    options = connections.settings["default"].setdefault("OPTIONS", {})
    options["options"] = " ".join(filter(None, [options.get("options", ""), *_limits(kind)]))
    patience = settings.SILENCE_SECONDS[kind]
    open_with(silence.limits_of_tcp(patience))
    silence.begin(
        lambda: connection.get_connection_params(),  # of the calling thread
        patience=0 if kind == COMMAND else patience,
        statement_seconds=settings.STATEMENT_SECONDS[kind],
    )


@contextmanager
def searching() -> Iterator[None]:
    """Apply the time limit for searches to statements in the block. Raise SearchTooGeneral if a statement exceeds it.

    The block runs in its own transaction, which also ends the limit. It must not be inside another transaction.
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
            gettext(
                "The search took longer than {seconds:g} s and was stopped. Enter more characters, or a full name "
                "or value."
            ).format(seconds=seconds)
        ) from exc


def searching_for(search: object) -> Any:
    """Return `searching()` if `search` isn't empty. Otherwise, return a context manager that does nothing."""
    return searching() if search else nullcontext()


def was_ended(exc: BaseException) -> bool:
    """Return True if the error means that a statement was canceled, by its time limit or by a person."""
    return isinstance(exc, OperationalError) and isinstance(exc.__cause__, psycopg.errors.QueryCanceled)


class StatementTimeMiddleware:
    """Middleware that applies the time limit of writes to the statements of a request that writes.

    A connection keeps its limit until a request needs another limit, so repeated writes don't need extra statements.
    """

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        if _process == READ:
            # If the database can't be reached now, the view fails too and has its own answer for that.
            with suppress(DatabaseError, InterfaceError):
                _let_take(READ if request.method in SAFE_METHODS else WRITE)
        return self.get_response(request)


def _let_take(kind: str) -> None:
    """Set the statement limit of this thread's connection to the limit for reads or for writes."""
    before = connection.connection
    if (before in _raised) is (kind == WRITE):
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = {_milliseconds(kind)}")
    if isinstance(connection.connection, silence.PatientConnection):
        connection.connection.statement_seconds = settings.STATEMENT_SECONDS[kind]
    if kind == WRITE:
        _raised.add(connection.connection)
    else:
        _raised.discard(before)


def _limits(kind: str) -> Iterator[str]:
    """Yield connection options with PostgreSQL's limits for statements, idle transactions and lost clients."""
    yield f"-c statement_timeout={_milliseconds(kind)}"
    # A process that is stopped in a transaction would hold its locks forever, and so block all publishing.
    longest = WRITE if kind == READ else kind
    yield f"-c idle_in_transaction_session_timeout={_milliseconds(longest)}"
    if patience := int(settings.SILENCE_SECONDS[kind] * 1000):
        yield f"-c tcp_user_timeout={patience}"
        yield f"-c client_connection_check_interval={max(1000, patience // 3)}"


def _milliseconds(kind: str) -> int:
    return int(settings.STATEMENT_SECONDS[kind] * 1000)
