"""Detect foreign commits, which other processes make to our files.

LMDB numbers its commits one by one, so it is enough to store the number of our own last commit in the file itself:

    offset  size  row `commits` of the table `dnspanel`
    0       8     number of the transaction that wrote this row
    8       8     the newest foreign commit that no check has covered since; 0: none

Each of our writers calls `note_commit` as the last step of its transaction. If the stored number isn't the
transaction's own number minus one, a foreign commit happened in between. This is recorded until a check that started
later has read every row. PowerDNS opens its tables inside write transactions but changes nothing there, and such a
commit gets no number.
"""

import struct
from typing import Any

from replication.store.file_row import Database

COMMITS_KEY = b"commits"
_ROW = struct.Struct(">QQ")


def note_commit(txn: Any, database: Database, *, checked: int = 0) -> None:
    """Mark this write transaction as ours. `checked` is the number of the last commit that a full check covered."""
    number = txn.id()
    last, foreign = _read(txn, database)
    if last != number - 1:
        foreign = number - 1
    txn.put(COMMITS_KEY, _ROW.pack(number, 0 if foreign <= checked else foreign), db=database.own)


def newest_commit(database: Database) -> int:
    """Return the number of the last commit, ours or foreign."""
    with database.env.begin() as txn:
        return int(txn.id())


def foreign_commit(database: Database) -> int:
    """Return the number of the newest foreign commit that no check has covered, or 0 if all are covered."""
    with database.env.begin() as txn:
        last, foreign = _read(txn, database)
        number = int(txn.id())
        return foreign if last == number else number


def _read(txn: Any, database: Database) -> tuple[int, int]:
    value = txn.get(COMMITS_KEY, db=database.own)
    if value is None or len(value) != _ROW.size:
        return 0, 0
    last, foreign = _ROW.unpack(value)
    return last, foreign
