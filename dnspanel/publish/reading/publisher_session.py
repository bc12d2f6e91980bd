"""The publisher's own connection to PostgreSQL. Only one process can publish at a time.

The connection is separate from Django's connections, which Celery can close around a task. The advisory lock must live
exactly as long as the connection that inserts segments. A publisher that loses its lock has lost that connection too,
and can no longer insert anything.

As in `prepared_statements`, a statement that every edit uses is planned once per connection (`planned_once`), without
its parameters, and again after large publications (`plan_anew`). All other statements have their parameters in the text
and are planned with them. A plan for the average range of the log would read whole tables for the last edit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

from dnspanel import advisory_locks
from dnspanel.database.base import application_name, connect

# If a publisher's machine disappears, its lock must end before the two hours that TCP would wait.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}

Connection = psycopg.Connection[tuple[Any, ...]]


class Session:
    """A PostgreSQL connection in autocommit mode. It is opened when needed, and reopened after it broke."""

    def __init__(self) -> None:
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    @contextmanager
    def publishing(self, *, wait_seconds: float = 0.0) -> Iterator[Connection | None]:
        """Provide the connection with the publisher's lock, or None if the lock isn't free within `wait_seconds`.

        Any PostgreSQL error closes the connection and thereby releases the lock.
        """
        try:
            conn = self._open()
            if not _lock(conn, wait_seconds):
                yield None
                return
            try:
                yield conn
            finally:
                if not conn.broken:
                    advisory_locks.release(conn, advisory_locks.Lock.PUBLISHER)
        except psycopg.Error:
            self.close()
            raise

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = _connect("log", prepare_threshold=1, cursor_factory=psycopg.ClientCursor)
            self._connection.execute("SET plan_cache_mode = force_generic_plan")
        return self._connection


@contextmanager
def reading() -> Iterator[Connection]:
    """Provide a separate connection whose reads all see the database as of the first read."""
    with _connect("reader", prepare_threshold=None) as conn, snapshot(conn):
        yield conn


def planned_once(conn: Connection) -> psycopg.Cursor[tuple[Any, ...]]:
    """Return a cursor for statements that every edit uses and that have the same best plan for all parameters.

    The publisher's connection keeps the plans. A connection from `reading` plans each time.
    """
    return psycopg.Cursor(conn)


def plan_anew(conn: Connection) -> None:
    """Discard all plans, because they were made for other table sizes."""
    conn.execute("DISCARD PLANS")


def _connect(purpose: str, **options: Any) -> Connection:
    params = connection.get_connection_params()
    for of_django in ("cursor_factory", "context", "prepare_threshold"):
        params.pop(of_django, None)
    params |= _KEEPALIVE | options | {"application_name": application_name(purpose), "autocommit": True}
    return connect(params)


@contextmanager
def snapshot(conn: Connection) -> Iterator[None]:
    """Make all reads inside the block see the database as of the first read."""
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        yield
    finally:
        if not conn.broken:
            conn.execute("ROLLBACK")


def _lock(conn: Connection, wait_seconds: float) -> bool:
    if wait_seconds <= 0:
        return advisory_locks.try_take(conn, advisory_locks.Lock.PUBLISHER)
    with conn.transaction():
        conn.execute("SELECT set_config('lock_timeout', %s, true)", (f"{int(wait_seconds * 1000)}ms",))
        try:
            with conn.transaction():
                advisory_locks.take(conn, advisory_locks.Lock.PUBLISHER)
        except psycopg.errors.LockNotAvailable:
            return False
    return True
