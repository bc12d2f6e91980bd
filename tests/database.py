"""The database of a test run: a copy of a template that was migrated once. Each test's changes are undone.

Django itself migrates in each process of a run, and truncates every table after each test that commits: on PostgreSQL
this takes half a second for 70 tables, although such a test fills five. It also closes the connection. A new connection
has no caches or plans, which costs PostgreSQL more than most tests. So this module keeps the connection too.
"""

import fcntl
import hashlib
import io
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from psycopg import sql
from psycopg.pq import TransactionStatus
from pytest_django import DjangoDbBlocker

from tests.workers import WORKER

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "var" / "test" / "template.lock"
TEMPLATES = "panel_template_"
KEPT = "django_migrations"


@contextmanager
def test_database() -> Iterator[None]:
    """Connect Django to this process's test database, which is migrated and has only the rows of the migrations."""
    made, name = settings.DATABASES["default"]["NAME"], f"test_panel_{WORKER}"
    with _server() as server:
        template = _template(server)
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        server.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    _connect_to(name)
    initial.read()
    yield
    initial.close()
    _connect_to(made)
    with _server() as server:
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def lasting_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep the rows written at the start of the block for all tests within it, and roll them back at its end.

    This is for a module-scoped fixture. Each test of the module runs in a savepoint, which pytest-django rolls back.
    """
    # Like a test's own block, so that verbs with durable transactions accept it.
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    with blocker.unblock(), block:
        yield
        transaction.set_rollback(True)


class InitialRows:
    """The initial rows of a migrated database, by table. They are restored after a test that commits.

    A separate connection restores them. It keeps its plans, and its deletions fire no triggers.
    """

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._changed = ""
        self._cleaner: psycopg.Connection | None = None

    def read(self) -> None:
        """Store the current rows of the database as the initial rows."""
        with connection.cursor() as cursor:
            tables = [name for name in connection.introspection.table_names(cursor) if name != KEPT]
            self._rows = {name: _copy_out(cursor, name) for name in tables}
            filled = {name: self._fingerprint(cursor, name) for name, rows in self._rows.items() if rows}
        found = [
            f"SELECT '{name}' WHERE ({_FINGERPRINT.format(name)}) <> {filled[name]}"
            if name in filled
            else f"SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\")"
            for name in tables
        ]
        self._changed = " UNION ALL ".join(found)

    def restore(self) -> None:
        """Make the database contain the initial rows and no others."""
        cleaner = self._open()
        changed = [name for (name,) in cleaner.execute(self._changed, prepare=True)]
        with cleaner.pipeline(), cleaner.transaction():
            for name in changed:
                cleaner.execute(f'DELETE FROM "{name}"', prepare=True)
        for name in changed:
            if self._rows[name]:
                _copy_in(cleaner.cursor(), name, self._rows[name])

    def close(self) -> None:
        """Close the separate connection."""
        if self._cleaner is not None:
            self._cleaner.close()
            self._cleaner = None

    def _open(self) -> psycopg.Connection:
        """Return the separate connection. Open a new one if a test has ended all sessions of the server."""
        if self._cleaner is not None and not _is_at_rest(self._cleaner):
            self.close()
        if self._cleaner is None:
            self._cleaner = _server(
                settings.DATABASES["default"]["NAME"],
                application_name="tests: puts tables back",
                options="-c jit=off -c session_replication_role=replica",
            )
            self._cleaner.prepared_max = None
        return self._cleaner

    def _fingerprint(self, cursor: Any, name: str) -> int:
        cursor.execute(_FINGERPRINT.format(name))
        return int(cursor.fetchone()[0])


def put_back() -> None:
    """Undo the changes of a test that commits. Its open transaction ends first, to release its row locks."""
    session.reset()
    initial.restore()


class KeptSession:
    """Django's connection, which is kept after a test that commits, just as after other tests."""

    def __init__(self) -> None:
        self._opened: Any = None

    def open(self) -> None:
        """Connect before the test can change connection settings. A connection opened by the test isn't kept."""
        connection.ensure_connection()
        self._opened = connection.connection

    def reset(self) -> None:
        """Reset the session state that the test left. Close the connection if the test broke or opened it."""
        kept = connection.connection
        if kept is None or kept is not self._opened or connection.in_atomic_block or not _is_at_rest(kept):
            connection.close()
        else:
            kept.execute("UNLISTEN *; SELECT pg_advisory_unlock_all(); CLOSE ALL; DISCARD TEMP; RESET ALL")


_FINGERPRINT = 'SELECT count(*) + sum(hashtextextended(one::text, 0)::numeric) FROM "{}" AS one'
initial = InitialRows()
session = KeptSession()


def _copy_out(cursor: Any, name: str) -> bytes:
    rows = io.BytesIO()
    with cursor.copy(f'COPY "{name}" TO STDOUT') as copy:
        for block in copy:
            rows.write(block)
    return rows.getvalue()


def _copy_in(cursor: Any, name: str, rows: bytes) -> None:
    with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
        copy.write(rows)


def _template(server: psycopg.Connection) -> str:
    """Return the name of the template database, with all migrations applied. The first process creates it."""
    name = TEMPLATES + _migrations_digest()
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = server.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [TEMPLATES])
        known = {row[0] for row in found}
        if name not in known:
            for old in (*known, f"new_{name}"):
                server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(old)))
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(f"new_{name}")))
            _connect_to(f"new_{name}")
            call_command("migrate", verbosity=0)
            connection.close()
            server.execute(
                sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(f"new_{name}"), sql.Identifier(name))
            )
    return name


def _migrations_digest() -> str:
    """Return a digest of the migrations and models of all installed applications."""
    digest = hashlib.sha256()
    for config in apps.get_app_configs():
        folder = Path(config.path)
        for path in sorted([*folder.glob("migrations/*.py"), *folder.glob("models.py"), *folder.glob("models/*.py")]):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _connect_to(name: str) -> None:
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


def _server(name: str = "postgres", **parameters: str) -> psycopg.Connection:
    """Open a connection to a database of the cluster, separate from Django's connection."""
    there = settings.DATABASES["default"]
    return psycopg.connect(
        host=there["HOST"], port=there["PORT"], user=there["USER"], password=there["PASSWORD"], dbname=name,
        autocommit=True, **parameters,
    )  # fmt: skip


def _is_at_rest(session: psycopg.Connection[Any]) -> bool:
    """Return True if the session is open, outside of a transaction, and the server hasn't announced its end."""
    if session.closed or session.info.transaction_status != TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(session.fileno(), select.POLLIN)
    return not poll.poll(0)
