"""Read another program's SQL database (PostgreSQL, MySQL or SQLite) as of one moment.

    postgresql://user:password@host:port/database?sslmode=verify-full
    mysql://user:password@host:port/database?tls=verify        also ?unix_socket=/path
    sqlite:///absolute/path

Values are passed on as the driver returns them. Text can be str or bytes, because guessing an encoding could lose
bytes; `text` converts both. Errors never contain the password, not even in their cause.
"""

import os
import re
import socket
import sqlite3
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from dnspanel.texts import gettext
from dnspanel.transfer.allowed_servers import DATABASE_PORTS, MOST_ADDRESSES, Addresses
from dnspanel.transfer.errors import SourceAway, SourceRefused
from dnspanel.transfer.sources.source_connections import Connections, connect

FETCH_ROWS = 5000
CONNECT_SECONDS = 10
QUIET_SECONDS = 300  # the longest time that a server can take for the next rows

_OTHER_SCHEMES = {"postgres": "postgresql", "mariadb": "mysql", "sqlite3": "sqlite"}

Row = tuple[Any, ...]


class Snapshot(Protocol):
    """A read-only transaction that sees the same state of the database from start to end."""

    def columns(self, table: str) -> frozenset[str]:
        """Return the lowercase names of a table's columns, or an empty set if the table does not exist."""

    def rows(self, query: str) -> Iterator[Row]:
        """Yield the rows of a query as they are fetched. Only one query can be open at a time."""


@contextmanager
def open_snapshot(
    url: str, addresses: Addresses | None = None, connections: Connections | None = None
) -> Iterator[Snapshot]:
    """Open the database at a URL. Raise SourceAway if it does not respond, or SourceRefused if it cannot be read.

    If `addresses` is set, the database must be on a server, and only the addresses that it returns for the URL's host
    are used. Otherwise, the database can also be in a file or behind a Unix socket. Connections to a server are added
    to `connections`, so another thread can abort them.
    """
    parts = _split(url)
    opened = _OPENERS.get(parts.scheme)
    if opened is None:
        raise SourceRefused(gettext("the address must start with postgresql://, mysql:// or sqlite:///"))
    found = (
        None
        if addresses is None
        else addresses(parts.hostname or "", parts.port or DATABASE_PORTS.get(parts.scheme, 0))
    )
    with opened(parts, found, connections or Connections()) as snapshot:
        yield snapshot


def text(value: Any) -> str:
    """Return a text column as str. Bytes that are not UTF-8 become lone surrogates, and an SQL null becomes ""."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def flag(value: Any, *, default: bool = False) -> bool:
    """Parse a boolean column in any form used by databases and dumps. Return `default` for an SQL null."""
    if value is None:
        return default
    return value not in (0, False) and text(value).strip().lower() not in ("0", "f", "false", "n", "no", "\0", "")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SourceRefused(gettext("the database address isn’t a URL")) from None
    # The scheme can name a driver, as in SQLAlchemy: `mysql+pymysql`.
    scheme = parts.scheme.partition("+")[0]
    return parts._replace(scheme=_OTHER_SCHEMES.get(scheme, scheme))


def _options(parts: SplitResult, allowed: frozenset[str]) -> dict[str, str]:
    options = dict(parse_qsl(parts.query))
    unknown = sorted(options.keys() - allowed)
    if unknown:
        raise SourceRefused(gettext("unknown option in the database address: {unknown}").format(unknown=unknown[0]))
    return options


def _message(exc: BaseException, parts: SplitResult) -> str:
    """Return a driver's error message on one line, without the password."""
    message = " ".join(str(arg) for arg in exc.args if not isinstance(arg, int)) or type(exc).__name__
    for secret in {parts.password or "", unquote(parts.password or "")} - {""}:
        message = message.replace(secret, "…")
    return re.sub(r"\s+", " ", message).strip()[:300]


class _PostgresSnapshot:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def columns(self, table: str) -> frozenset[str]:
        query = (
            "SELECT attname::text FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
        )
        return frozenset(text(name).lower() for (name,) in self._connection.execute(query, (table,)))

    def rows(self, query: str) -> Iterator[Row]:
        with self._connection.cursor(name="panel_import") as cursor:
            cursor.itersize = FETCH_ROWS
            yield from cursor.execute(query)


@contextmanager
def _open_postgres(parts: SplitResult, addresses: Sequence[str] | None, connections: Connections) -> Iterator[Snapshot]:
    import psycopg

    options = _options(parts, frozenset({"sslmode", "sslrootcert", "host", "port"}))
    if addresses is not None:
        # libpq connects to `hostaddr` and compares the certificate with `host`, which needs an entry for each address.
        chosen = addresses[:MOST_ADDRESSES]
        options |= {"host": ",".join([parts.hostname or ""] * len(chosen)), "hostaddr": ",".join(chosen)}
        options |= {"port": str(parts.port or DATABASE_PORTS["postgresql"])}
    try:
        connection = psycopg.connect(
            host=options.pop("host", None) or parts.hostname or "",
            port=options.pop("port", None) or parts.port or DATABASE_PORTS["postgresql"],
            user=unquote(parts.username or "") or None,
            password=unquote(parts.password or "") or None,
            dbname=unquote(parts.path.lstrip("/")) or None,
            connect_timeout=CONNECT_SECONDS,
            application_name="dnspanel import",
            options=f"-c default_transaction_read_only=on -c statement_timeout={QUIET_SECONDS * 1000}",
            **options,  # type: ignore[arg-type]
        )
    except psycopg.OperationalError as exc:
        message = _message(exc, parts)
        # libpq has no SQLSTATE for a refused password, and the message is in the server's language.
        if any(phrase in message for phrase in ("authentication failed", "does not exist", "no pg_hba.conf entry")):
            raise SourceRefused(
                gettext("the PostgreSQL server rejected the connection: {message}").format(message=message)
            ) from None
        raise SourceAway(gettext("no connection to the PostgreSQL server: {message}").format(message=message)) from None
    except psycopg.Error as exc:
        raise SourceRefused(
            gettext("the PostgreSQL server couldn’t be used: {exc}").format(exc=_message(exc, parts))
        ) from None
    # libpq owns the socket and waits on it without a limit. A second descriptor makes it possible to abort the wait.
    with (
        socket.socket(fileno=os.dup(connection.fileno())) as line,
        _closing(connection),
        _refusing(psycopg.Error, lambda exc: isinstance(exc, psycopg.OperationalError), parts),
    ):
        connections.add(line)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield _PostgresSnapshot(connection)


class _MysqlSnapshot:
    def __init__(self, connection: Any, unbuffered: Any) -> None:
        self._connection, self._unbuffered = connection, unbuffered

    def columns(self, table: str) -> frozenset[str]:
        query = "SELECT column_name FROM information_schema.columns WHERE table_schema=database() AND table_name=%s"
        with self._connection.cursor() as cursor:
            cursor.execute(query, (table,))
            return frozenset(text(name).lower() for (name,) in cursor.fetchall())

    def rows(self, query: str) -> Iterator[Row]:
        with self._connection.cursor(self._unbuffered) as cursor:
            cursor.execute(query)
            yield from cursor


# MySQL's codes for a wrong user, password or database. Any other failure to connect can be temporary.
_MYSQL_REFUSALS = frozenset({1044, 1045, 1049, 1130, 1142, 1698})
# The codes for a lost connection: shut down, gone away, lost during a query, killed.
_MYSQL_LOST = frozenset({(0,), (1053,), (2006,), (2013,), (1927,)})


@contextmanager
def _open_mysql(parts: SplitResult, addresses: Sequence[str] | None, connections: Connections) -> Iterator[Snapshot]:
    import pymysql
    import pymysql.cursors

    options = _options(parts, frozenset({"unix_socket", "tls"}))
    path = options.get("unix_socket")
    where: dict[str, Any] = {"unix_socket": path} if path else {"host": parts.hostname or "localhost"}
    if options.get("tls", "off") != "off":
        where["ssl"] = ssl.create_default_context()
    try:
        connection = pymysql.connect(
            user=unquote(parts.username or "") or None,
            password=unquote(parts.password or ""),
            database=unquote(parts.path.lstrip("/")) or None,
            port=parts.port or DATABASE_PORTS["mysql"],
            connect_timeout=CONNECT_SECONDS,
            read_timeout=QUIET_SECONDS,
            use_unicode=False,
            local_infile=False,
            defer_connect=True,
            **where,
        )
        plain = None if addresses is None else connect(addresses, connection.port, CONNECT_SECONDS)
        if plain is not None:
            connections.add(plain)  # so that the wait for the server's greeting can be aborted
        connection.connect(plain)
        connections.add(connection._sock)  # a different socket if TLS was started
    except (pymysql.Error, OSError) as exc:
        message = _message(exc, parts)
        if exc.args and exc.args[0] in _MYSQL_REFUSALS:
            raise SourceRefused(
                gettext("the MySQL server rejected the connection: {message}").format(message=message)
            ) from None
        raise SourceAway(gettext("no connection to the MySQL server: {message}").format(message=message)) from None
    with _closing(connection), _refusing(pymysql.Error, lambda exc: exc.args[:1] in _MYSQL_LOST, parts):
        with connection.cursor() as cursor:
            # Return the stored bytes, because PowerDNS can have used another character set than the tables.
            cursor.execute("SET character_set_results = NULL")
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        yield _MysqlSnapshot(connection, pymysql.cursors.SSCursor)


class _SqliteSnapshot:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def columns(self, table: str) -> frozenset[str]:
        # Only real tables, because a view in an uploaded file could compute anything.
        query = (
            "SELECT column.name FROM sqlite_master AS found, pragma_table_info(found.name) AS column"
            " WHERE found.type = 'table' AND lower(found.name) = ?"
        )
        return frozenset(text(name).lower() for (name,) in self._connection.execute(query, (table,)))

    def rows(self, query: str) -> Iterator[Row]:
        cursor = self._connection.execute(query)
        cursor.arraysize = FETCH_ROWS
        yield from cursor


@contextmanager
def _open_sqlite(parts: SplitResult, addresses: Sequence[str] | None, connections: Connections) -> Iterator[Snapshot]:
    if addresses is not None:
        raise SourceRefused(gettext("database files can only be read on the command line"))
    path = Path("/" + unquote(parts.path).lstrip("/"))
    if not path.is_file():
        raise SourceRefused(gettext("file {name} not found").format(name=path.name))
    try:
        connection = _connect_sqlite(path)
    except sqlite3.Error as exc:
        raise SourceRefused(
            gettext("{name} couldn’t be read as an SQLite database: {exc}").format(name=path.name, exc=exc)
        ) from None
    with _closing(connection), _refusing(sqlite3.Error, lambda exc: False, parts):
        yield _SqliteSnapshot(connection)


def _connect_sqlite(path: Path) -> sqlite3.Connection:
    """Open a database read-only. If that fails without a `-wal` file, open it as immutable.

    SQLite can't open a WAL database in a read-only directory in any other way.
    """
    immutable = not path.with_name(path.name + "-wal").exists()
    for option in ("mode=ro", "mode=ro&immutable=1")[: 1 + immutable]:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?{option}", uri=True, timeout=CONNECT_SECONDS, isolation_level=None
        )
        try:
            connection.text_factory = bytes
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection
        except sqlite3.OperationalError:
            connection.close()
            if not immutable or option != "mode=ro":
                raise
        except sqlite3.Error:
            connection.close()
            raise
    raise AssertionError("the last way to open a file returns or raises")


@contextmanager
def _closing(connection: Any) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(Exception):  # the connection can already be closed
            connection.close()


@contextmanager
def _refusing(errors: type[Exception], is_lost: Callable[[Any], bool], parts: SplitResult) -> Iterator[None]:
    """Convert a driver's errors to SourceAway if the connection is lost, otherwise to SourceRefused."""
    try:
        yield
    except errors as exc:
        message = _message(exc, parts)
        if is_lost(exc):
            raise SourceAway(
                gettext("the connection to the database was lost: {message}").format(message=message)
            ) from None
        raise SourceRefused(gettext("the database couldn’t be read: {message}").format(message=message)) from None


_OPENERS: dict[str, Callable[[SplitResult, Sequence[str] | None, Connections], Any]] = {
    "postgresql": _open_postgres,
    "mysql": _open_mysql,
    "sqlite": _open_sqlite,
}
