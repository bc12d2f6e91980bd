"""Read every row of the node's files once, in a separate process. Only that process crashes if a file is damaged.

LMDB trusts the file that it maps. A torn page can end the process that touches it with a signal. Therefore, if the
previous agent was killed, the agent first runs this process.

The panel reads uploaded LMDB files with its own page reader instead (`dnspanel.transfer.sources.lmdb_pages`). The two
cases need different readers. A hostile upload must not reach the LMDB library at all, not even in a separate process. A
node's files are written while they are read, and LMDB reuses pages unless it knows that a reader needs them. For a node
it matters whether LMDB, and so PowerDNS, can read the files. A stricter reader would quarantine files that PowerDNS
serves without errors. The page reader also takes four times as long (250,000 rows: 1.9 s instead of 0.4 s).

    python -m replication.agent.probe LMDB_PATH      exits with status 0 if every row could be read
"""

import sys
from itertools import islice

import lmdb

_MAX_DBS = 128
_PIECE = 10_000


def read_everything(path: str) -> int:
    """Count the rows in both files at `path`. Raise lmdb.Error if a file is unreadable."""
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
