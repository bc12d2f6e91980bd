"""Read a PowerDNS SQL database from a text dump, compressed or not, or from an SQLite file.

A dump's rows are first loaded into an SQLite file, which `powerdns_sql` then reads like a live database. The file stays
until everything is read, so an interrupted import does not have to parse the dump again.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dnspanel.texts import gettext
from dnspanel.transfer.archives.decompress import Meter, compression_of, unpacked_chunks
from dnspanel.transfer.documents import Item, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources.powerdns_sql import PowerdnsSqlSource
from dnspanel.transfer.sources.sql_dump import BadLine, dump_rows
from dnspanel.transfer.sources.sql_literals import Value
from replication.message_texts import format_text, parse_text

MOST_BAD_LINES = 1000
_BATCH_ROWS = 2000
_SQLITE_MAGIC = b"SQLite format 3\0"
_FINISHED = 1  # user_version of a file with the complete dump

# All columns that are read and that exist in some release of PowerDNS, integers first.
_TABLES = {
    "domains": (("id",), ("name", "type", "account", "master", "options", "catalog")),
    "records": (("id", "domain_id", "ttl", "prio"), ("name", "type", "content", "disabled")),
    "domainmetadata": (("id", "domain_id"), ("kind", "content")),
    "cryptokeys": (("id", "domain_id", "flags"), ("active", "published", "content")),
    "comments": (("id", "domain_id", "modified_at"), ("name", "type", "comment")),
    "tsigkeys": (("id",), ("name", "algorithm", "secret")),
}


class PowerdnsDumpSource:
    """The zones of the dump at `path`, as a `documents.Source`.

    The SQLite file with the dump's rows is stored in `directory`. `total` is twice the dump's size (two passes).
    """

    unit = "bytes"

    def __init__(self, path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._loaded = Path(directory) / "dump.sqlite"
        self.total = 0
        self.done = 0

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield faults for the dump's unreadable lines, and then all items of `PowerdnsSqlSource`.

        The first `skip` items are omitted. Raise SourceRefused if the file is not a PowerDNS dump or has more than
        MOST_BAD_LINES unreadable lines. Raise UploadRefused if it is damaged or an archive bomb.
        """
        return islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        size = self._path.stat().st_size
        self.total, self.done = 2 * size, 0
        with self._path.open("rb") as file:
            is_database = file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
        if not is_database:
            if not self._is_loaded():
                self._load(size)
            yield from self._faults()
        self.done = size
        source = PowerdnsSqlSource(f"sqlite://{quote(str((self._path if is_database else self._loaded).absolute()))}")
        for item in source.items():
            self.done = size + size * source.done // max(1, source.total)
            yield item
        self.done = self.total
        self._loaded.unlink(missing_ok=True)

    def _is_loaded(self) -> bool:
        if not self._loaded.exists():
            return False
        with closing(sqlite3.connect(self._loaded)) as database:
            return bool(database.execute("PRAGMA user_version").fetchone()[0] == _FINISHED)

    def _load(self, size: int) -> None:
        """Load the dump's rows into the SQLite file, and mark it as complete at the end."""
        self._loaded.unlink(missing_ok=True)
        # The file will contain private keys, so it is created without access for other users.
        os.close(os.open(self._loaded, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(self._loaded, isolation_level=None)) as database, self._path.open("rb") as file:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("BEGIN")
            _create_tables(database)
            compression = compression_of(file.read(16))
            file.seek(0)
            meter = Meter(size)
            loader = _Loader(database)
            for row in dump_rows(unpacked_chunks(file, compression, meter), _TABLES):
                self.done = min(meter.read, size)
                if isinstance(row, BadLine):
                    loader.add_fault(row)
                else:
                    loader.add(row.table, row.columns, row.values)
            loader.finish()
            for table, (numbers, _) in _TABLES.items():
                if "domain_id" in numbers:
                    database.execute(f"CREATE INDEX {table}_domain ON {table}(domain_id)")
            database.execute("COMMIT")
            database.execute(f"PRAGMA user_version = {_FINISHED}")

    def _faults(self) -> Iterator[SourceFault]:
        with closing(sqlite3.connect(self._loaded)) as database:
            rows = database.execute("SELECT line, source, reason FROM dump_faults ORDER BY rowid").fetchall()
        for line, source, reason in rows:
            yield SourceFault(self._path.name, line, 1, source, parse_text(reason), "dump-line")


def _create_tables(database: sqlite3.Connection) -> None:
    for table, (numbers, others) in _TABLES.items():
        columns = [f"{name} INTEGER" for name in numbers] + list(others)
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    database.execute("CREATE TABLE dump_faults (line INTEGER, source TEXT, reason TEXT)")


class _Loader:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._seen: set[str] = set()
        self._shape: tuple[str, tuple[str, ...]] = ("", ())
        self._places: list[int] = []
        self._insert = ""
        self._rows: list[list[Any]] = []
        self._faults = 0

    def add(self, table: str, columns: tuple[str, ...], values: list[Value]) -> None:
        if (table, columns) != self._shape:
            self._flush()
            known = {name for group in _TABLES[table] for name in group}
            chosen = [name for name in columns if name in known]
            self._seen.add(table)
            self._shape = (table, columns)
            self._places = [columns.index(name) for name in chosen]
            marks = ", ".join("?" * len(chosen))
            self._insert = f"INSERT INTO {table} ({', '.join(chosen)}) VALUES ({marks})"
        self._rows.append([values[place] for place in self._places])
        if len(self._rows) >= _BATCH_ROWS:
            self._flush()

    def add_fault(self, bad: BadLine) -> None:
        self._faults += 1
        if self._faults > MOST_BAD_LINES:
            raise SourceRefused(
                gettext("more than {most_bad_lines:,} lines in the dump can’t be read").format(
                    most_bad_lines=MOST_BAD_LINES
                )
            )
        source = bad.source.replace("\0", "�")
        self._database.execute("INSERT INTO dump_faults VALUES (?, ?, ?)", (bad.line, source, format_text(bad.reason)))

    def finish(self) -> None:
        self._flush()
        if not {"domains", "records"} <= self._seen:
            raise SourceRefused(
                gettext("this isn’t a dump of a PowerDNS database: rows in “domains” and “records” are missing")
            )

    def _flush(self) -> None:
        if self._rows:
            self._database.executemany(self._insert, self._rows)
            self._rows.clear()
