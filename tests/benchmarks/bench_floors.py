"""The lower limits of this machine (floors): the cost of unavoidable steps, compared with dnspanel's times.

An edit waits for several steps in sequence: commits to disk, round trips on loopback, wake-ups through Redis, and
commits of LMDB. Each step is measured separately, with the files and stores of the running stack. Their sum is the
floor of an edit. Computing between the steps is not included.

An import must write its rows to PostgreSQL and to the LMDB of the panel, of ring 0 and of three nodes. The rows of an
import are copied into an equal empty table, and put into an empty LMDB in order. The processor time for this alone is
the floor of an import.
"""

import argparse
import json
import os
import socket
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb

from tests import zonegen
from tests.benchmarks import answers, bench_import, bench_push, estate, peaks, stacks
from tests.benchmarks.say import say

REPEATED = 200
LMDB_COPIES = 5  # of the panel, ring 0 and three nodes
ROW = b"x" * 64

# How many times each happens one after another in an edit: `docs/architecture/life-of-an-edit.md`.
EDIT_STEPS = {
    "commit of PostgreSQL": 3,  # the publication, the segment's row, the ack of ring 0
    "fsync": 1,  # the segment's file
    "round trip to Redis": 2,  # to wake the publisher and the push worker
    "round trip over TCP": 2,  # to ring 0 and a node
    "commit of LMDB": 2,
    "DNS question": 4,  # position and RRset, both on ring 0 and a node
}


def median_ms(act: Callable[[], object], times: int = REPEATED) -> float:
    """Return the median time of a call, in milliseconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append((time.perf_counter() - began) * 1000)
    return statistics.median(found)


def steps(stack: stacks.BenchStack, directory: Path) -> dict[str, float]:
    """Return the milliseconds of each step, measured separately."""
    from django.conf import settings
    from django.db import connection
    from redis import Redis

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE floors (id serial PRIMARY KEY, text text)")
        commit = median_ms(lambda: cursor.execute("INSERT INTO floors (text) VALUES ('x')"))
        cursor.execute("DROP TABLE floors")
    redis = Redis.from_url(settings.CELERY_BROKER_URL)
    node, name = stack.dns_addresses[0], estate.address_names(count=1, seed=1)[0][1]
    found = {
        "commit of PostgreSQL": commit,
        "fsync": median_ms(lambda: write_durably(directory / "file")),
        "round trip to Redis": median_ms(redis.ping),
        "round trip over TCP": tcp_round_trip(),
        "commit of LMDB": lmdb_commit(directory / "lmdb"),
        "DNS question": median_ms(lambda: answers.ask(node, answers.query(name))),
    }
    redis.close()
    return found


def write_durably(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        file.write(ROW)
        os.fsync(file.fileno())


def tcp_round_trip() -> float:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=echo, args=(listener,), daemon=True)
        thread.start()
        with socket.create_connection(listener.getsockname()) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = median_ms(lambda: (client.sendall(ROW), client.recv(len(ROW))))
        thread.join()
    return found


def echo(listener: socket.socket) -> None:
    with listener.accept()[0] as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := peer.recv(len(ROW)):
            peer.sendall(data)


def lmdb_commit(path: Path) -> float:
    with lmdb.open(str(path), subdir=False, map_size=1 << 26) as env:

        def put() -> None:
            with env.begin(write=True) as txn:
                txn.put(b"key", time.perf_counter_ns().to_bytes(8, "big"))

        return median_ms(put)


def copy_seconds(directory: Path) -> float:
    """Return the seconds of a `COPY` of all RRsets into an empty table with the same keys and checks, no triggers."""
    from django.db import connection

    with connection.cursor() as cursor:
        with (directory / "rrsets").open("wb") as file, cursor.copy("COPY zones_rrset TO STDOUT") as copy:
            for piece in copy:
                file.write(piece)
        cursor.execute("CREATE TABLE floors_rrset (LIKE zones_rrset INCLUDING ALL)")
        began = time.perf_counter()
        with (directory / "rrsets").open("rb") as file, cursor.copy("COPY floors_rrset FROM STDIN") as copy:
            while piece := file.read(1 << 20):
                copy.write(piece)
        seconds = time.perf_counter() - began
        cursor.execute("DROP TABLE floors_rrset")
    return seconds


def lmdb_seconds(records: Path, directory: Path) -> float:
    """Return the seconds to put all rows of a node's records into an empty LMDB, in order, in a synced transaction."""
    with lmdb.open(str(records), subdir=False, readonly=True, max_dbs=16) as source:
        with source.begin() as txn, txn.cursor() as cursor:
            name = next(key for key, _ in cursor if key.startswith(b"records"))
        with source.begin(db=source.open_db(name, create=False)) as txn, txn.cursor() as cursor:
            rows = list(cursor)
    with lmdb.open(str(directory / "filled"), subdir=False, map_size=1 << 32, max_dbs=1) as env:
        db = env.open_db(b"records")
        began = time.perf_counter()
        with env.begin(write=True, db=db) as txn, txn.cursor() as cursor:
            cursor.putmulti(rows, append=True)
        return time.perf_counter() - began


def of_edit(stack: stacks.BenchStack, directory: Path, edits: int) -> dict[str, Any]:
    each = steps(stack, directory)
    floor = sum(each[name] * times for name, times in EDIT_STEPS.items())
    bench_push.measure(stack, edits=20, seed=1)
    ours = bench_push.measure(stack, edits=edits, seed=2)["p50_ms"]
    for name, times in EDIT_STEPS.items():
        say(f"  {times} × {name:<22} {each[name]:7.3f} ms")
    say(f"one edit to the last of three nodes: {ours:.1f} ms, {ours / floor:.1f} times the floor of {floor:.1f} ms")
    return {"edit_ms": ours, "edit_floor_ms": round(floor, 2)}


def of_import(stack: stacks.BenchStack, directory: Path, zones: int) -> dict[str, Any]:
    archive, records = directory / "estate.tar.gz", zonegen.provider_records(zones)
    last = zonegen.write_archive(archive, zones, records, seed=3, prefix="floor")
    with peaks.Peaks(stack.supervisor_pid()) as processes:
        timing = bench_import.run_import(stack, bench_import.uploaded(archive), zones=zones, last=last)
        stack.wait_until_in_sync(timeout=bench_import.STALLS_AFTER)
    ours = sum(row.seconds for row in processes.by_name())
    shard = stack.stack.nodes[0].lmdb.with_name("pdns.lmdb-0")
    copied, put = copy_seconds(directory), lmdb_seconds(shard, directory)
    floor, cores = copied + LMDB_COPIES * put, os.cpu_count() or 1
    say(f"  1 × COPY into PostgreSQL {copied:7.2f} s")
    say(f"  {LMDB_COPIES} × rows into LMDB      {put:7.2f} s")
    say(f"{records:,} records imported: {ours:.1f} s of a core, {timing.answered:.1f} s until answered;")
    say(f"  the floor is {floor:.1f} s of a core, {floor / cores:.1f} s on {cores} cores")
    return {
        "import_core_s": round(ours, 1),
        "import_floor_core_s": round(floor, 1),
        "import_s": round(timing.answered, 1),
        "import_floor_s": round(floor / cores, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--zones", type=int, default=26_324)
    args = parser.parse_args()
    with stacks.bench_stack("floors") as stack:
        estate.fill(first=0, zones=1_000, of=1_000, records=zonegen.provider_records(1_000), say=say)
        stack.wait_until_in_sync(timeout=600)
        directory = stack.stack.directory / "floors"
        directory.mkdir()
        figures = of_edit(stack, directory, args.edits) | of_import(stack, directory, args.zones)
    say(json.dumps({"bench": "floors", **figures}))


if __name__ == "__main__":
    main()
