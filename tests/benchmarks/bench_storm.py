"""Stale answers after "in sync": 10,000 changes under query load. The expected number is zero.

Each round has four steps: query every node for a record, so that its caches contain the old value; publish a change of
that record; wait until the panel reports that all nodes are in sync; query every node again in five ways (plain, with
EDNS, with EDNS and DO, through a CNAME in the same zone, and through a CNAME in another zone). All the time one dnsperf
per node queries the same names as fast as `--qps` allows, so that threads are always between reading LMDB and filling a
cache.

An answer is stale if it isn't exactly the value that was just published.
"""

import argparse
import contextlib
import json
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dnspanel.demo.stack import Stack
from tests.benchmarks import answers, estate, stacks
from tests.benchmarks.say import say

UPDATES = 10_000
NAMES = 200
SECONDS_PER_UPDATE = 1.0  # upper bound, so that dnsperf ends even if this process dies
PRINTED = 100  # number of stale answers to print
WAYS = ("plain", "edns", "do", "cname", "far cname")


@dataclass(frozen=True, slots=True)
class Answer:
    """One node's answer to a query for a name's A records, made in one way."""

    node: answers.Address
    way: str
    addresses: frozenset[str]


@dataclass(slots=True)
class Storm:
    """The results: the number of stale answers by kind of query, and the milliseconds until each change was in sync."""

    stale: Counter[str] = field(default_factory=Counter)
    waited: list[float] = field(default_factory=list)
    qps: float = 0.0


def owner(number: int) -> str:
    return f"n{number % NAMES}.{estate.STORM_ZONE}"


def alias(number: int) -> str:
    return f"c{number % NAMES}.{estate.STORM_ZONE}"


def far_alias(number: int) -> str:
    return f"c{number % NAMES}.{estate.ALIAS_ZONE}"


def address(update: int) -> str:
    return f"198.18.{update // 250 % 250}.{update % 250 + 1}"


def dnsperf(host: str, port: int, queries: Path, *, seconds: int, qps: int, options: list[str]) -> list[str]:
    """Return a dnsperf command that ends after `seconds`."""
    target = ["-s", host, "-p", str(port), "-d", str(queries)]
    return ["dnsperf", *target, "-l", str(seconds), "-Q", str(qps), "-c", "4", "-q", "20", *options]


def ask_every_way(nodes: Sequence[answers.Address], update: int) -> list[Answer]:
    """Query every node for the update's name: plain, with EDNS, with EDNS and DO, and through CNAMEs in two zones."""
    name = owner(update)
    wires = (
        answers.query(name),
        answers.query(name, edns=True),
        answers.query(name, edns=True, do=True),
        answers.query(alias(update)),
        answers.query(far_alias(update)),
    )
    return [
        Answer(node, way, frozenset(map(socket.inet_ntoa, answers.ask(node, wire))))
        for node in nodes
        for way, wire in zip(WAYS, wires, strict=True)
    ]


@contextlib.contextmanager
def load(nodes: Sequence[answers.Address], *, qps: int, seconds: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Run one dnsperf per node over the storm's names, with and without EDNS, during the block."""
    with tempfile.TemporaryDirectory() as folder:
        queries = Path(folder) / "queries"
        queries.write_text("".join(f"{owner(n)} A\n{alias(n)} A\n{far_alias(n)} A\n" for n in range(NAMES)))
        running = [
            subprocess.Popen(
                dnsperf(host, port, queries, seconds=seconds, qps=qps // 2, options=options),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for host, port in nodes
            for options in ([], ["-e"])
        ]
        try:
            yield running
        finally:
            for process in running:
                process.send_signal(signal.SIGINT)  # dnsperf then prints its results
                process.wait(10)


def queries_per_second(process: subprocess.Popen[str]) -> float:
    """Return the query rate that a finished dnsperf printed."""
    output = process.stdout.read() if process.stdout else ""
    found = re.search(r"Queries per second:\s+([\d.]+)", output)
    return float(found.group(1)) if found else 0.0


def storm(nodes: Sequence[answers.Address], publish: Callable[[str, str], object], *, updates: int, qps: int) -> Storm:
    """Make the updates in sequence. `publish` sets a name's address, and returns when every node should serve it."""
    found = Storm()
    with load(nodes, qps=qps, seconds=int(updates * SECONDS_PER_UPDATE) + 60) as running:
        time.sleep(1)
        for update in range(1, updates + 1):
            ask_every_way(nodes, update)
            start = time.monotonic()
            publish(owner(update), address(update))
            found.waited.append((time.monotonic() - start) * 1000)
            wrong = [one for one in ask_every_way(nodes, update) if one.addresses != {address(update)}]
            for one in wrong[: max(0, PRINTED - found.stale.total())]:
                say(f"STALE update {update}: {one}, published {address(update)}")
            found.stale.update(one.way for one in wrong)
            if update % 500 == 0:
                say(f"{update:,} of {updates:,} updates, {found.stale.total()} stale")
    found.waited.sort()
    found.qps = sum(queries_per_second(process) for process in running)
    return found


def run_storm(stack: stacks.BenchStack, *, updates: int, qps: int) -> dict[str, float]:
    """Make the updates one after another. Return the numbers of updates and stale answers, milliseconds and load."""
    zone_id = estate.fill_storm_zone(names=NAMES)
    stack.wait_until_in_sync()

    def publish(name: str, value: str) -> None:
        sequence = estate.publish_address(zone_id=zone_id, name=name, address=value)
        stack.wait_until_in_sync(sequence=sequence)

    found = storm(stack.dns_addresses, publish, updates=updates, qps=qps)
    return {
        "updates": updates,
        "stale": found.stale.total(),
        "qps": round(found.qps),
        "in_sync_p50_ms": round(found.waited[len(found.waited) // 2], 1),
        "in_sync_p99_ms": round(found.waited[int(len(found.waited) * 0.99) - 1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--qps", type=int, default=3000, help="maximum queries per second at each node")
    parser.add_argument("--stack", type=Path, help="directory of a running stack; default: a new stack")
    args = parser.parse_args()
    with stacks.panel_of(Stack(args.stack)) if args.stack else stacks.bench_stack("storm") as stack:
        figures = run_storm(stack, updates=args.updates, qps=args.qps)
    say(f"in sync after p50 {figures['in_sync_p50_ms']} ms, p99 {figures['in_sync_p99_ms']} ms")
    say(json.dumps({"bench": "storm", **figures}))


if __name__ == "__main__":
    main()
