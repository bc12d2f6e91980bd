"""Recognize PostgreSQL outages, and define the interfaces' responses and the log lines for them.

PostgreSQL is unavailable ("away") if it is stopped, hangs, restarts, starts up, has no free connection, or is a replica
after a failover. All interfaces respond with 503 and Retry-After, each in its own format. If a disk is full, the
panel's own or PostgreSQL's, they respond with 507 in the same formats. A person who changed
something must learn whether the change was saved. It was not saved, unless the request had already committed, or the
connection was lost during a commit (`CommitInDoubt`).
"""

import errno
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.db import InterfaceError, InternalError, OperationalError, connections
from django.db.transaction import TransactionManagementError
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from dnspanel.database import statement_time
from dnspanel.database.base import CommitInDoubt
from dnspanel.texts import gettext

RETRY_AFTER = 5  # seconds
LOG_EVERY = 10.0  # seconds, in which a thousand requests get one line while PostgreSQL is away

# PostgreSQL reports these as internal errors, but another server, or this one later, would accept the request:
# a read-only transaction, and the end of a connection that was idle in a transaction.
_REFUSED_FOR_NOW = frozenset({"25006", "25P03"})
READ_ONLY = "25006"
_DISK_FULL = "53100"
_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
# A statement that exceeds these limits fails every time.
_PROGRAM_LIMITS = "54"

# The number of transactions that a thread had committed when its request began to write. A failure after a commit,
# such as while the answer is read, must not be reported as a refusal.
_commits_before = threading.local()

logger = logging.getLogger(__name__)


def is_away(exc: BaseException | None) -> bool:
    """Return True if the error means that PostgreSQL is unavailable or too busy, not that the statement is wrong."""
    if isinstance(exc, TransactionManagementError):  # raised by a statement after the one that failed
        exc = exc.__cause__
    if isinstance(exc, OperationalError | psycopg.OperationalError):
        return not (sqlstate_of(exc) or "").startswith(_PROGRAM_LIMITS)
    if isinstance(exc, InternalError | psycopg.InternalError):
        return sqlstate_of(exc) in _REFUSED_FOR_NOW
    return isinstance(exc, InterfaceError | psycopg.InterfaceError)


def is_full(exc: BaseException | None) -> bool:
    """Return True if the error means that a disk is full: the panel's own, or PostgreSQL's."""
    if isinstance(exc, OSError):
        return exc.errno in _FULL_ERRNOS
    if isinstance(exc, sqlite3.Error):
        return getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return exc is not None and sqlstate_of(exc) == _DISK_FULL


def is_outage(exc: BaseException | None) -> bool:
    """Return True if the failed request can succeed later: PostgreSQL is unavailable, or a disk is full."""
    return is_away(exc) or is_full(exc)


def status_of(exc: BaseException) -> int:
    """Return the HTTP status for an outage: 507 if a disk is full, else 503."""
    return 507 if is_full(exc) else 503


def sqlstate_of(exc: BaseException) -> str | None:
    """Return the SQLSTATE of a Django or psycopg error, or None if the error does not come from the server."""
    found = exc if isinstance(exc, psycopg.Error) else exc.__cause__
    return found.sqlstate if isinstance(found, psycopg.Error) else None


def begin_write() -> None:
    """Mark this thread's request as a write. Later commits count as part of the write."""
    _commits_before.of_request = _commits()


def begin_read() -> None:
    """Mark this thread's request as a read."""
    _commits_before.of_request = None


def is_in_doubt(exc: BaseException) -> bool:
    """Return True if the failed request may have saved changes, in the failed commit or in an earlier one."""
    before = getattr(_commits_before, "of_request", None)
    return isinstance(exc, CommitInDoubt) or (before is not None and _commits() > before)


def _commits() -> int:
    return int(getattr(connections["default"], "commits", 0))


def retry_after(exc: BaseException) -> int:
    """Return the number of seconds after which a client should try again."""
    return statement_time.RETRY_AFTER if statement_time.was_ended(exc) else RETRY_AFTER


def sentence(exc: BaseException) -> str:
    """Return a message about the error for users and clients. It does not contain the server's message."""
    if is_in_doubt(exc):
        return gettext(
            "The database connection was lost while the change was being saved. Check whether it was saved "
            "before you send it again."
        )
    if is_full(exc):
        return gettext(
            "A disk of the panel is full, so no further changes were saved. Free space on the disk, then try again."
        )
    if statement_time.was_ended(exc):
        return gettext("The database took too long to respond.")
    if sqlstate_of(exc) == READ_ONLY:
        return gettext(
            "The database is currently read-only, so no further changes were saved. Try again in a few seconds."
        )
    return gettext("The database isn’t responding, so no further changes were saved. Try again in a few seconds.")


class WritesMiddleware:
    """Middleware that marks requests as reads or writes, so that users learn if a failed write may have been saved."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method in statement_time.SAFE_METHODS:
            begin_read()
        else:
            begin_write()
        return self.get_response(request)


class Notes:
    """A logger for requests and tasks that failed in an outage. It writes at most one line per LOG_EVERY seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._written_at, self._left_out = float("-inf"), 0

    def note(self, what: str, exc: BaseException) -> None:
        """Log one line with the failed request or task, and the reason.

        If a line was written recently, only count the event. The next line contains the count.
        """
        with self._lock:
            now = self._clock()
            if now - self._written_at < LOG_EVERY:
                self._left_out += 1
                return
            self._written_at, others, self._left_out = now, self._left_out, 0
        also = f"; {others} others since the last such line" if others else ""
        kind = "a disk is full" if is_full(exc) else "PostgreSQL is away"
        kind = "in doubt" if is_in_doubt(exc) else kind
        logger.warning("%s: %s: %s%s", kind, what, reason_of(exc), also)


def reason_of(exc: BaseException) -> str:
    """Return the first line of an error's message, or the name of its class if the message is empty."""
    lines = str(exc).strip().splitlines()
    return lines[0].strip()[:300] if lines else type(exc).__name__


_notes = Notes()


def note(what: str, exc: BaseException) -> None:
    """Log that a request failed in an outage. All requests of this process share one `Notes` and its limit."""
    _notes.note(what, exc)


def finish(request: HttpRequest | Request, exc: BaseException, response: HttpResponse) -> HttpResponse:
    """Add the headers Retry-After and Cache-Control to the response for an outage, and log the error.

    The response is marked as logged, so that Django doesn't log the request again.
    """
    note(f"{request.method} {request.path}", exc)
    response["Retry-After"] = str(retry_after(exc))
    response["Cache-Control"] = "no-store"
    response._has_been_logged = True  # type: ignore[attr-defined]  # as Django marks it
    return response


class Outage:
    """A PostgreSQL outage in a worker, shared by all threads. It is logged when it begins and when it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: float | None = None

    def begin(self, exc: BaseException) -> None:
        """Log that PostgreSQL is unavailable, unless this outage was already logged."""
        with self._lock:
            if self._since is None:
                self._since = time.monotonic()
                logger.warning("PostgreSQL is away, work waits for it: %s", reason_of(exc))

    def end(self) -> None:
        """Log that PostgreSQL is available again, if there was an outage."""
        if self._since is None:
            return
        with self._lock:
            if self._since is not None:
                logger.warning("PostgreSQL is back after %.0f s", time.monotonic() - self._since)
                self._since = None


outage = Outage()


@contextmanager
def outlasting() -> Iterator[None]:
    """Suppress errors in the block if PostgreSQL is unavailable, except for a canceled statement. Log each outage."""
    try:
        yield
    except Exception as exc:
        if not is_away(exc) or statement_time.was_ended(exc):
            raise
        outage.begin(exc)
    else:
        outage.end()
