"""A probe of how long other processes hold the write lock of an LMDB file: `python -m ... FILE` until its input ends.

It begins a write transaction and aborts it, again and again. Each must wait for other writers, so the longest wait is
about their longest transaction. It is printed in milliseconds. The first line of output reports that the probe runs.
"""

import select
import sys
import time

import lmdb

MAP_SIZE = 16_000 << 20  # the size in PowerDNS; with a smaller one, a larger file cannot be opened
EVERY_SECONDS = 0.001


def longest_ms(path: str) -> float:
    """Probe until standard input is closed. Return the longest wait in milliseconds."""
    longest = 0.0
    with lmdb.open(path, subdir=False, max_dbs=128, map_size=MAP_SIZE, create=False) as env:
        print("begun", flush=True)
        while not select.select([sys.stdin], [], [], EVERY_SECONDS)[0]:
            began = time.perf_counter()
            env.begin(write=True).abort()
            longest = max(longest, time.perf_counter() - began)
    return longest * 1000


if __name__ == "__main__":
    print(f"{longest_ms(sys.argv[1]):.2f}")
