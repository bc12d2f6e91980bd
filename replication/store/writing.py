"""Write many rows to a file in short transactions, because PowerDNS and the agent wait during a transaction."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, NamedTuple

from replication.codec.schema import Dbi, Schema
from replication.store.file_row import INSTALLING_KEY, ROW_KEY, Database, FileRow
from replication.store.lock_time import Hold, Stopwatch
from replication.store.own_commits import note_commit

# Changes wait until there are this many. A transaction ends after the group that makes it too long.
_ROWS_PER_TRANSACTION = 1_500
# Writing stops at this part of a transaction's time limit. The rest is for the current group and the sync.
WRITE_SHARE = 0.3
# Up to this many following rows are removed and put back, so that the new rows can be appended.
_MOST_ROWS_BEHIND = 4
# This many rows are deleted between two checks of the clock.
_PIECE = 1_000

Row = tuple[bytes, bytes]


class RowChange(NamedTuple):
    """A row to put or delete. For a deletion, `value` is None and `old` is the row's current value."""

    key: bytes
    value: bytes | None
    old: bytes | None


class Writer:
    """A writer to one file. Its transactions are short, and open only while rows are written."""

    def __init__(
        self, database: Database, schema: Schema, hold_seconds: float, release_pages: Callable[[], None]
    ) -> None:
        self.database = database
        self._has_duplicates = [schema.dbi(dbi).dupsort for dbi in schema.all_dbis]
        self._write_seconds = hold_seconds * WRITE_SHARE
        self._release_pages = release_pages
        self._waiting: list[tuple[Dbi, Sequence[RowChange]]] = []
        self._rows_waiting = 0
        self.rows = self.commits = 0
        self._stopwatch = Stopwatch()

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open a write transaction. At the end of the block, commit it and mark the commit as ours."""
        with self.database.writing(self._stopwatch) as txn:
            yield txn
            note_commit(txn, self.database)
        self.commits += 1
        self._release_pages()

    @property
    def longest(self) -> Hold:
        """The longest time that the file was locked."""
        return self._stopwatch.longest

    def add(self, dbi: Dbi, group: Sequence[RowChange]) -> None:
        """Queue these changes, to write them soon in one transaction."""
        self._waiting.append((dbi, group))
        self._rows_waiting += len(group)
        if self._rows_waiting >= _ROWS_PER_TRANSACTION:
            self.flush()

    def flush(self) -> None:
        """Write the queued changes in as few short transactions as possible, without splitting a group."""
        waiting, self._waiting, self._rows_waiting = self._waiting, [], 0
        groups = iter(waiting)
        left = len(waiting)
        while left:
            with self.transaction() as txn:
                began = time.monotonic()
                for dbi, group in groups:
                    self._write(txn, dbi, group)
                    left -= 1
                    if time.monotonic() - began > self._write_seconds:
                        break

    def put_all(self, dbi: Dbi, rows: Sequence[Row]) -> None:
        """Put rows that are all new, in one transaction. If few rows come after them, append them (`put_before`)."""
        with self.transaction() as txn, txn.cursor(db=self.database.tables[dbi]) as cursor:
            if self._has_duplicates[dbi]:
                cursor.putmulti(rows)
            else:
                put_before(cursor, rows, rows_behind(cursor, rows[0][0]))
            self.rows += len(rows)

    def delete_below(self, dbi: Dbi, prefixes: Iterable[bytes]) -> None:
        """Delete the rows whose keys begin with one of the prefixes, in several short transactions."""
        left = deque(prefixes)
        while left:
            with self.transaction() as txn, txn.cursor(db=self.database.tables[dbi]) as cursor:
                until = time.monotonic() + self._write_seconds
                while left and time.monotonic() < until:
                    if self._delete_some(cursor, left[0]):
                        left.popleft()

    def _delete_some(self, cursor: Any, prefix: bytes) -> bool:
        """Delete some of the rows below a prefix. Return True if none are left."""
        found = cursor.set_range(prefix)
        for _ in range(_PIECE):
            if not found or not cursor.key().startswith(prefix):
                return True
            found = cursor.delete()
            self.rows += 1
        return False

    def put_row(self, txn: Any, row: FileRow) -> None:
        """Write the position of the file, and mark the snapshot's installation as finished."""
        txn.put(ROW_KEY, row.encode(), db=self.database.own)
        txn.delete(INSTALLING_KEY, db=self.database.own)

    def _write(self, txn: Any, dbi: Dbi, group: Sequence[RowChange]) -> None:
        table = self.database.tables[dbi]
        put: list[Row] = []
        for key, value, old in group:
            if value is not None:
                put.append((key, value))
            else:
                txn.delete(key, old if self._has_duplicates[dbi] else b"", db=table)
        with txn.cursor(db=table) as cursor:
            cursor.putmulti(put)
        self.rows += len(group)


def rows_behind(cursor: Any, key: bytes) -> list[Row]:
    """Return the rows starting at `key`, at most one more than `put_before` is able to move."""
    return list(islice(cursor.iternext(), _MOST_ROWS_BEHIND + 1)) if cursor.set_range(key) else []


def put_before(cursor: Any, rows: Iterable[Row], behind: Sequence[Row]) -> None:
    """Put rows in a key range that contains no rows.

    If only a few rows follow that range, remove those rows and append all rows, which fills pages completely.
    """
    if len(behind) > _MOST_ROWS_BEHIND:
        cursor.putmulti(rows)
        return
    for key, _ in behind:
        cursor.pop(key)
    cursor.putmulti(chain(rows, behind), append=True)
