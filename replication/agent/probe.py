"""Read every row of the node's files once, in a process of its own that a damaged file may take down.

LMDB trusts what it maps: a torn page can end the process that touches it with a signal. So an agent whose predecessor
did not end by itself has this read everything first.

The panel reads uploaded LMDB files with a page reader of its own instead (`dnspanel.transfer.sources.lmdb_pages`), and
neither way serves for both. A hostile upload must not reach the LMDB library at all, not even in a process of its own.
A node's files are written to while they are read: only a reader that LMDB knows of is safe from pages being reused.
What counts here is whether LMDB, and so PowerDNS, can read them; a stricter reader would quarantine files that are
served without trouble. And the page reader takes four times as long (250,000 rows: 1.9 s instead of 0.4 s).

python -m replication.agent.probe LMDB_PATH      status 0: all of it could be read
"""

import sys
from itertools import islice

import lmdb

_MAX_DBS = 128
_PIECE = 10_000


def read_everything(path: str) -> int:
    """Count the rows in both files at `path`. Raise lmdb.Error for an unreadable one."""
    return sum(_read_file(name) for name in (path, f"{path}-0"))


def _read_file(path: str) -> int:
    rows = 0
    with lmdb.open(path, subdir=False, readonly=True, max_dbs=_MAX_DBS, readahead=False) as env:
        with env.begin() as txn:
            names = [key for key, _ in txn.cursor()]
        for name in names:
            table = env.open_db(name, create=False)
            with env.begin() as txn, txn.cursor(db=table) as cursor:
                following = cursor.iternext()
                while piece := len(list(islice(following, _PIECE))):
                    rows += piece
    return rows


if __name__ == "__main__":
    try:
        read_everything(sys.argv[1])
    except lmdb.Error as exc:
        sys.exit(str(exc))
