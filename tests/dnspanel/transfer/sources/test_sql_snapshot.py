import socket
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from dnspanel.transfer.errors import SourceAway, SourceRefused
from dnspanel.transfer.sources.sql_snapshot import flag, open_snapshot, text
from tests.dnspanel.transfer.databases import mysql_estate as mysql_estate
from tests.dnspanel.transfer.databases import postgres_estate as postgres_estate
from tests.dnspanel.transfer.databases import postgres_url
from tests.dnspanel.transfer.running import MariaDB
from tests.ports import free_port

PASSWORD = "p@ss:word/ü"


def shape(url: str) -> tuple[frozenset[str], frozenset[str], int]:
    with open_snapshot(url) as snapshot:
        ((count,),) = snapshot.rows("SELECT COUNT(*) FROM domains")
        return snapshot.columns("domains"), snapshot.columns("nothing"), count


def test_postgresql_and_mysql_tell_their_columns(postgres_estate: str, mysql_estate: MariaDB) -> None:
    found = shape(postgres_estate)
    assert {"id", "name", "type", "account", "catalog"} <= found[0]
    assert found[1] == frozenset()
    assert shape(mysql_estate.url("pdns")) == found


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    path = tmp_path / "a file.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE Domains (ID INTEGER, name TEXT)")
        connection.execute("CREATE VIEW 'nothing' AS SELECT 1 AS a")
        connection.execute("INSERT INTO domains VALUES (1, 'a.test')")
        connection.commit()
    return path


def test_sqlite_tells_its_columns_but_none_of_views(sqlite_file: Path) -> None:
    assert shape(f"sqlite://{quote(str(sqlite_file))}") == (frozenset({"id", "name"}), frozenset(), 1)


def test_nothing_can_be_written(postgres_estate: str, mysql_estate: MariaDB, sqlite_file: Path) -> None:
    for url in (postgres_estate, mysql_estate.url("pdns"), f"sqlite://{quote(str(sqlite_file))}"):
        before = shape(url)
        with pytest.raises(SourceRefused), open_snapshot(url) as snapshot:
            list(snapshot.rows("DELETE FROM domains"))
        with pytest.raises(SourceRefused), open_snapshot(url) as snapshot:
            # The only kind of write that a PostgreSQL cursor would accept.
            list(snapshot.rows("SELECT 1; DELETE FROM domains"))
        assert shape(url) == before


def test_a_database_in_wal_mode_in_a_place_that_is_not_ours_is_read(sqlite_file: Path) -> None:
    with closing(sqlite3.connect(sqlite_file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert sorted(path.name for path in sqlite_file.parent.iterdir()) == [sqlite_file.name]
    sqlite_file.parent.chmod(0o555)
    try:
        assert shape(f"sqlite://{quote(str(sqlite_file))}")[2] == 1
    finally:
        sqlite_file.parent.chmod(0o755)


def test_a_database_that_is_written_to_is_read_as_it_was_at_the_start(sqlite_file: Path) -> None:
    with closing(sqlite3.connect(sqlite_file, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO domains VALUES (2, 'b.test')")
        with open_snapshot(f"sqlite://{quote(str(sqlite_file))}") as snapshot:
            assert list(snapshot.rows("SELECT COUNT(*) FROM domains")) == [(2,)]
            writer.execute("INSERT INTO domains VALUES (3, 'c.test')")
            assert list(snapshot.rows("SELECT COUNT(*) FROM domains")) == [(2,)]


@pytest.mark.parametrize("url", ["", "oracle://h/db", "/etc/passwd", "http://h:1", "postgresql://h:port/db"])
def test_what_is_no_address_of_a_database_is_refused(url: str) -> None:
    with pytest.raises(SourceRefused, match="address"), open_snapshot(url):
        pass


@pytest.mark.parametrize("option", ["service=x", "passfile=/etc/passwd", "options=-cx"])
def test_options_that_reach_further_are_refused(option: str) -> None:
    for scheme in ("postgresql", "mysql"):
        with pytest.raises(SourceRefused, match="option"), open_snapshot(f"{scheme}://h/db?{option}"):
            pass


def test_a_server_that_does_not_answer_is_away_and_no_error_has_the_password() -> None:
    port = free_port()
    for scheme in ("postgresql", "mysql"):
        url = f"{scheme}://user:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/pdns"
        with pytest.raises(SourceAway, match="no connection") as raised, open_snapshot(url):
            pass
        check_silence(raised.value)


def check_silence(error: BaseException | None) -> None:
    """Check that no error of a traceback, with its causes and contexts, contains the password."""
    while error is not None:
        assert PASSWORD not in str(error)
        assert quote(PASSWORD, safe="") not in str(error)
        error = error.__cause__ if error.__suppress_context__ else error.__cause__ or error.__context__


def test_a_wrong_password_or_database_is_refused(mysql_estate: MariaDB) -> None:
    mysql_estate.client("CREATE USER someone@localhost IDENTIFIED BY 'right'")
    url = mysql_estate.url("pdns", "someone", quote(PASSWORD, safe=""))
    with pytest.raises(SourceRefused, match="Access denied") as raised, open_snapshot(url):
        pass
    check_silence(raised.value)
    with pytest.raises(SourceRefused, match="does not exist"), open_snapshot(postgres_url("no_such_database")):
        pass


def test_a_server_that_goes_away_meanwhile_is_away(postgres_estate: str) -> None:
    def read() -> None:
        with open_snapshot(postgres_estate) as snapshot:
            ((own,),) = snapshot.rows("SELECT pg_backend_pid()")
            with psycopg.connect(postgres_estate, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", (own,))
            list(snapshot.rows("SELECT COUNT(*) FROM domains"))

    with pytest.raises(SourceAway, match="connection to the database was lost"):
        read()


def test_a_mysql_that_kills_the_connection_is_away(mysql_estate: MariaDB) -> None:
    def read() -> None:
        with open_snapshot(mysql_estate.url("pdns")) as snapshot:
            ((own,),) = snapshot.rows("SELECT connection_id()")
            mysql_estate.client(f"KILL {own}")
            list(snapshot.rows("SELECT COUNT(*) FROM domains"))

    with pytest.raises(SourceAway, match="connection to the database was lost"):
        read()


def test_something_else_at_the_port_of_mysql_is_away_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"220 mail.test ESMTP\r\n")

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        with pytest.raises(SourceAway), open_snapshot(f"mysql://u:p@127.0.0.1:{listener.getsockname()[1]}/db"):
            pass
        thread.join(10)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a database" * 1000)
    with (
        pytest.raises(SourceRefused, match="x couldn’t be read as an SQLite database"),
        open_snapshot(f"sqlite://{tmp_path}/x"),
    ):
        pass
    with pytest.raises(SourceRefused, match="file y not found"), open_snapshot(f"sqlite://{tmp_path}/y"):
        pass


def test_values_of_all_databases_and_their_dumps_mean_the_same() -> None:
    assert [flag(value) for value in (True, 1, "1", b"1", "t", "true", b"\x01")] == [True] * 7
    assert [flag(value) for value in (False, 0, "0", b"0", "f", "false", b"\x00", "", b"")] == [False] * 9
    assert [flag(None), flag(None, default=True)] == [False, True]
    assert [text(value) for value in ("a", b"a", None, 7, "ü".encode())] == ["a", "a", "", "7", "ü"]
    assert text(b"\xff").encode("utf-8", "surrogateescape") == b"\xff"
