"""Whether somebody else has committed to a file of ours.

LMDB numbers its commits one by one, so it is enough to remember the number of our own last one in the file itself:

    offset  size  row `commits` of the table `dnspanel`
    0       8     number of the transaction that wrote this row
    8       8     the newest commit of somebody else that no check has covered since; 0: none

Whoever writes to a file calls `note_commit` last of all in the transaction. A transaction that finds another number
than its own less one follows a foreign commit and records that, until a check that began later has read every
row. PowerDNS opens its tables inside write transactions but changes nothing there, and such a commit gets no number.
"""

import struct
from typing import Any

from replication.store.file_row import Database

COMMITS_KEY = b"commits"
_ROW = struct.Struct(">QQ")


def note_commit(txn: Any, database: Database, *, checked: int = 0) -> None:
    """This write transaction is ours. Every commit up to number `checked` was followed by a check of all rows."""
    number = txn.id()
    last, foreign = _read(txn, database)
    if last != number - 1:
        foreign = number - 1
    txn.put(COMMITS_KEY, _ROW.pack(number, 0 if foreign <= checked else foreign), db=database.own)


def newest_commit(database: Database) -> int:
    """The number of the last commit, whoever made it."""
    with database.env.begin() as txn:
        return int(txn.id())


def foreign_commit(database: Database) -> int:
    """The newest commit of somebody else that is not known to be checked; 0 if there is none."""
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
