"""How long others hold the write lock of an LMDB file, seen from outside: `python -m ... FILE` until its input ends.

A write transaction begins and is given up, again and again. Beginning one waits for every writer, so the longest wait
is about the longest transaction of the others; it is printed in milliseconds. The first line says that it has begun.
"""

import select
import sys
import time

import lmdb

MAP_SIZE = 16_000 << 20  # what PowerDNS has for the file: with less, a file that grew could not be opened
EVERY_SECONDS = 0.001


def longest_ms(path: str) -> float:
    """Return the longest wait until our standard input is closed."""
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
