"""Applies segments in child processes that kill themselves at a chosen point."""

import os
import signal
import sys
from pathlib import Path

from replication.store import applying, prepared_write
from replication.store.store import Store
from replication.wire import operations
from replication.wire.segment import open_segment
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS

path, segment_file = Path(sys.argv[1]), Path(sys.argv[2])
applying._ROWS_PER_TRANSACTION = 25
if sys.argv[5] == "batches":
    applying._SMALLEST_BATCH = applying._BATCH_ROWS_PER_ROW = 1
    operations._LONGEST_RUN = 20
seen = 0
at_which = ""


def at(point):
    global seen
    seen += 1
    if str(seen) == at_which:
        os.kill(os.getpid(), signal.SIGKILL)


commit = applying._Writer._commit


def dying_commit(self, *arguments):
    at("before")
    commit(self, *arguments)
    at("after")


applying._Writer._commit = dying_commit
write = prepared_write.Plan.write


def dying_write(self, *arguments):
    write(self, *arguments)
    at("in a transaction")


prepared_write.Plan.write = dying_write
add_run = applying._Writer._add_run
batches = 0


def dying_add_run(self, puts):
    global batches
    done = add_run(self, puts)
    batches += done
    return done


applying._Writer._add_run = dying_add_run


def apply_all():
    with Store.open(path, int(sys.argv[4]), MAP_SIZE, cluster=CLUSTER) as store:
        for sealed in sorted(segment_file.iterdir()):
            store.apply(open_segment(sealed.read_bytes(), PUBLIC_KEYS))
    print(seen, batches, flush=True)


# One process for each death; the modules are imported only once.
for point in sys.argv[3].split(","):
    at_which = point
    child = os.fork()
    if child == 0:
        apply_all()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != -signal.SIGKILL:
        sys.exit(status)
os.kill(os.getpid(), signal.SIGKILL)
