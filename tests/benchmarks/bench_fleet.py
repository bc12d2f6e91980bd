"""A fleet with a provider's data: 263,238 zones with 2.8 million records.

- New node: the time from its first start without data until it answers and has confirmed the head of the log.
- Catch-up: the time from an agent's return after 36,000 single changes until it has confirmed the head.
- One edit: the time from before `publish()` until the last of 3, 16 and 64 nodes answers over DNS. All nodes share this
  machine. Each has a real agent, an LMDB and a pdns_server. This part uses 1,000 zones, because 64 copies of the estate
  would measure the disk.

Also printed: processor time and bytes per change and node, and the largest resident memory of an agent.
"""

import argparse
import json
import random
import statistics
import threading
import time
from typing import Any

import psutil

from dnspanel.demo.demo_nodes import DemoNode
from tests.benchmarks import answers, estate, stacks
from tests.benchmarks.bench_push import LARGE, LARGE_RECORDS
from tests.benchmarks.more_nodes import MoreNodes, addresses_of
from tests.benchmarks.say import say

SMALL = 1_000
CHANGES = 36_000
SIZES = (3, 16, 64)
EDITS = 60
WRITERS = 4
# The limit of segments after merging. The newest half minute of changes is in single segments.
MOST_SEGMENTS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=LARGE, help="zones of the estate")
    parser.add_argument("--changes", type=int, default=CHANGES, help="changes that a node catches up with")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of nodes for single edits")
    parser.add_argument("--edits", type=int, default=EDITS)
    args = parser.parse_args()
    result: dict[str, Any] = {"bench": "fleet"}
    with stacks.bench_stack("fleet") as bench:
        estate.fill(first=0, zones=SMALL, of=args.zones, records=_records(args.zones), say=say)
        bench.wait_until_in_sync(timeout=300)
        by_size = {str(size): _edits_at(bench, size, args.edits) for size in args.sizes}
        result["p50_ms"] = {size: p50 for size, (p50, _) in by_size.items()}
        result["p99_ms"] = {size: p99 for size, (_, p99) in by_size.items()}
        records = estate.fill(first=SMALL, zones=args.zones, of=args.zones, records=_records(args.zones), say=say)
        bench.wait_until_in_sync(timeout=1800)
        say(f"{args.zones:,} zones, {records:,} more records at all nodes")
        with MoreNodes(bench) as more:
            (node,) = more.enroll(1)
            result |= _bootstrap(bench, more, node)
            result |= _catch_up(bench, more, node, args.changes)
    say(json.dumps(result))


def _records(zones: int) -> int:
    return round(LARGE_RECORDS * zones / LARGE)


# --- a new node, and one that was away


def _bootstrap(bench: stacks.BenchStack, more: MoreNodes, node: DemoNode) -> dict[str, Any]:
    from dnspanel.fleet.models import Node

    _until_snapshot()
    _until_quiet()
    targets = estate.address_names(count=5, seed=11)
    began = time.monotonic()
    more.start([node])
    with _Peak(more.agent_process(node)) as peak:
        bench.wait_until_in_sync(timeout=300)
        seconds = time.monotonic() - began
        for _, name in targets:
            if not answers.ask(("127.0.0.1", node.dns_port), answers.query(name)):
                raise RuntimeError(f"{node.name} proved the head and does not answer for {name}")
    acked = Node.objects.get(name=node.name).acked
    say(f"new node: {seconds:.1f} s from its start to sequence {acked} (target ≤ 15); agent's memory {peak.mb:.0f} MB")
    return {"bootstrap_s": round(seconds, 1), "agent_rss_mb": round(peak.mb, 1)}


def _until_quiet(timeout: float = 180) -> None:
    """Wait until the machine has finished the work after the import, such as merging segments and reading rows."""
    deadline = time.monotonic() + timeout
    while psutil.cpu_percent(interval=3) > 25 and time.monotonic() < deadline:
        pass


def _until_snapshot(timeout: float = 300) -> None:
    """Wait until the panel has a snapshot of all these zones, as it normally has minutes after an import."""
    from dnspanel.publish.models import Segment, Snapshot
    from dnspanel.publish.tasks import make_snapshot

    deadline = time.monotonic() + timeout
    (schema, newest) = Segment.objects.order_by("-last").values_list("schema", "last")[0]
    began = time.monotonic()
    make_snapshot.delay(schema)
    while not (made := Snapshot.objects.filter(schema=schema, sequence__gte=newest).first()):
        if time.monotonic() > deadline:
            raise TimeoutError("no snapshot was made")
        time.sleep(0.1)
    say(
        f"snapshot of {made.raw_size / 2**20:.0f} MiB, {made.size / 2**20:.1f} MiB as it travels, "
        f"made in {time.monotonic() - began:.1f} s"
    )


def _catch_up(bench: stacks.BenchStack, more: MoreNodes, node: DemoNode, changes: int) -> dict[str, Any]:
    from dnspanel.fleet.models import Node
    from dnspanel.publish.models import Segment
    from dnspanel.zones.models import LogHead

    more.stop_agent(node)
    behind = Node.objects.get(name=node.name).acked
    began = time.monotonic()
    _change(changes)
    say(f"{changes:,} single changes published in {time.monotonic() - began:.0f} s while {node.name} was away")
    _until_merged(behind)
    segments = Segment.objects.filter(last__gt=behind).count()
    more.start_agent(node)
    process = more.agent_process(node)
    began = time.monotonic()
    with _Peak(process) as peak:
        bench.wait_until_in_sync(timeout=600)
    seconds = time.monotonic() - began
    spent = _cpu_seconds(process)
    head = LogHead.objects.get().sequence
    say(
        f"caught up with {head - behind:,} sequences in {segments:,} segments in {seconds:.1f} s (target ≤ 10); "
        f"agent's memory {peak.mb:.0f} MB, processor {spent / max(1, head - behind) * 1e6:.0f} µs per change"
    )
    return {"catchup_36000_s": round(seconds, 1), "catchup_agent_rss_mb": round(peak.mb, 1)}


def _change(changes: int) -> None:
    """Make `changes` publications, each with one RRset, from several parallel writers."""
    targets = estate.address_names(count=2_000, seed=5)
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        from django.db import connections

        try:
            for number in range(writer, changes, WRITERS):
                zone_id, name = targets[number % len(targets)]
                address = f"203.0.113.{number // len(targets) % 250 + 1}"
                estate.publish_address(zone_id=zone_id, name=name, address=address)
        except BaseException as exc:
            failures.append(exc)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _until_merged(behind: int, timeout: float = 300) -> None:
    """Wait until everything is encoded, and beat's task has merged the segments."""
    from dnspanel.publish.models import Segment
    from dnspanel.zones.models import LogHead

    deadline = time.monotonic() + timeout
    head = LogHead.objects.get().sequence
    waiting = Segment.objects.filter(last__gt=behind)
    while not waiting.filter(last=head).exists() or waiting.count() > MOST_SEGMENTS:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the changes are still in {waiting.count()} segments")
        time.sleep(0.5)


# --- single edits


def _edits_at(bench: stacks.BenchStack, size: int, edits: int) -> tuple[float, float]:
    """Return the p50 and p99, in milliseconds, of single edits with a fleet of `size` nodes."""
    with MoreNodes(bench) as more:
        extra = more.enroll(size - len(bench.stack.nodes)) if size > len(bench.stack.nodes) else []
        more.start(extra)
        bench.wait_until_in_sync(timeout=600)
        everywhere = [*bench.dns_addresses, *addresses_of(extra)]
        watched = extra[:1]
        agents = [more.agent_process(node) for node in watched] or [
            psutil.Process(bench.stack.supervisor.pid(f"{bench.stack.nodes[0].name}-agent"))
        ]
        _one_by_one(everywhere, edits=10, seed=size)
        spent, sent = _cpu_seconds(agents[0]), bench.bytes_pushed()[0]
        milliseconds = _one_by_one(everywhere, edits=edits, seed=size + 1)
        bench.wait_until_in_sync(timeout=120)
        spent, sent = _cpu_seconds(agents[0]) - spent, bench.bytes_pushed()[0] - sent
        rss = max(agent.memory_info().rss for agent in agents) / 2**20
        p50 = round(statistics.median(milliseconds), 1)
        p99 = round(sorted(milliseconds)[max(0, int(len(milliseconds) * 0.99) - 1)], 1)
        say(
            f"{size:>3} nodes: p50 {p50:.0f} ms, p99 {p99:.0f} ms; per change and node "
            f"{spent / edits * 1000:.1f} ms of processor, {sent / edits:.0f} bytes; an agent has {rss:.0f} MB"
        )
        return p50, p99


def _one_by_one(nodes: list[answers.Address], *, edits: int, seed: int) -> list[float]:
    """Return the milliseconds from before each publication until the last node answered with it."""
    chosen = random.Random(seed)
    found = []
    for number, (zone_id, name) in enumerate(estate.address_names(count=edits, seed=seed)):
        address = f"198.51.{100 + seed % 100}.{number + 1}"
        began = time.monotonic()
        estate.publish_address(zone_id=zone_id, name=name, address=address)
        found.append((answers.wait_for_last(nodes, name, address, timeout=30) - began) * 1000)
        time.sleep(chosen.uniform(0.02, 0.07))
    return found


class _Peak:
    """The largest resident memory (MiB) of a process within the block, measured ten times a second."""

    def __init__(self, process: psutil.Process) -> None:
        self.mb = 0.0
        self._process = process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Peak":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.mb = max(self.mb, self._process.memory_info().rss / 2**20)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
