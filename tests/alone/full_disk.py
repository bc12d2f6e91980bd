"""Applies a large segment while no file can grow beyond 1 MiB."""

import resource
import signal
import sys
from pathlib import Path

from replication.errors import DiskFull
from replication.store.store import Store
from replication.wire.segment import open_segment
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store.open(sys.argv[1], 4, MAP_SIZE, cluster=CLUSTER) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    for _ in range(2):
        try:
            store.apply(open_segment(Path(sys.argv[2]).read_bytes(), PUBLIC_KEYS))
        except DiskFull:
            print("full at", store.position().sequence)
