"""Read every row of the node's files once, in a process of its own that a damaged file may take down.

LMDB trusts what it maps: a torn page can end whoever touches it with a signal. So an agent that finds that the one
before it did not end by itself has this read everything first.

python -m replication.agent.probe LMDB_PATH      status 0: all of it could be read
"""

import sys
from itertools import islice

import lmdb

_MAX_DBS = 128
_PIECE = 10_000


def read_everything(path: str) -> int:
    """How many rows both files at `path` have. Raises lmdb.Error for one that cannot be read."""
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
