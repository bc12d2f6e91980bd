"""Detection of foreign commits: those of other processes to a file of ours.

LMDB numbers its commits one by one, so it is enough to remember the number of our own last one in the file itself:

    offset  size  row `commits` of the table `dnspanel`
    0       8     number of the transaction that wrote this row
    8       8     the newest foreign commit that no check has covered since; 0: there was none

Every writer of ours calls `note_commit` last of all in the transaction. A transaction that finds another number
than its own less one follows a foreign commit and records that, until a check that began later has read every
row. PowerDNS opens its tables inside write transactions but changes nothing there, and such a commit gets no number.
"""

import struct
from typing import Any

from replication.store.file_row import Database

COMMITS_KEY = b"commits"
_ROW = struct.Struct(">QQ")


def note_commit(txn: Any, database: Database, *, checked: int = 0) -> None:
    """Note that this write transaction is ours.

    Every commit up to number `checked` was followed by a check of all rows.
    """
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
    """Return the number of the newest foreign commit that is not known to be checked; 0 without one."""
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
