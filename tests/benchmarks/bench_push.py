"""The time from a publication to the answer of the last of three nodes, with 1,000 zones and with a provider's estate.

The clock starts before `publish()` is called, so the PostgreSQL transaction is included. It stops when the last of
three real `pdns_server` nodes has returned the new address to a poll over UDP. 300 single edits of random zones follow
each other. Both sizes run on the same stack: `large` is `small` plus 262,238 more zones. Ring 0, the private server
that gets everything first, is included unless `--without-ring0` is given. Filling PostgreSQL, the first push of the
estate and the preparation of searches are not measured.

Also printed: the bytes sent per node and edit (on the TCP connection, including HTTP headers and TLS), the largest
resident memory of the three agents, the longest LMDB write transaction of any agent, the processor time of the whole
stack per edit (on a busy machine more meaningful than milliseconds), and the timeline of an edit by steps (`timeline`).
"""

import argparse
import json
import random
import statistics
import time
from typing import Any

from tests.benchmarks import estate, peaks, stacks, timeline
from tests.benchmarks.say import say

EDITS = 300
SMALL = 1_000
LARGE = 263_238
LARGE_RECORDS = 2_798_571


def measure(stack: stacks.BenchStack, *, edits: int, seed: int) -> dict[str, float]:
    """Make the edits one after another, and return the results for the last line."""
    chosen = random.Random(seed)
    targets = estate.address_names(count=edits, seed=seed)
    made: list[timeline.Edit] = []
    before = stack.bytes_pushed()
    rss_mb = 0.0
    with peaks.Peaks(stack.supervisor_pid()) as processes:
        for number, (zone_id, name) in enumerate(targets):
            address = f"198.51.{number // 250}.{number % 250 + 1}"
            made.append(timeline.publish(stack.dns_addresses, zone_id=zone_id, name=name, address=address))
            if number % 20 == 0:
                rss_mb = max([rss_mb, *stack.agent_rss_mb()])
            time.sleep(chosen.uniform(0.0, 0.05))
        stack.wait_until_in_sync()
    sent = [(b - a) / edits for a, b in zip(before, stack.bytes_pushed(), strict=True)]
    status = stack.status()
    for row in processes.by_name():
        say(f"  {row.name:>36} {row.seconds * 1000 / edits:7.1f} ms of a core for each edit")
    for step in timeline.time_line(made, stack.stack.directory / "log"):
        say(f"  {step.ms:7.1f} ms  {step.name}")
    milliseconds = sorted(edit.milliseconds for edit in made)
    return {
        "p50_ms": round(statistics.median(milliseconds), 1),
        "p99_ms": round(milliseconds[max(0, int(len(milliseconds) * 0.99) - 1)], 1),
        "bytes_per_node": round(max(sent)),
        "agent_rss_mb": round(max([rss_mb, *stack.agent_rss_mb()]), 1),
        "write_lock_ms_max": round(max(one.write_lock_ms_max for one in status), 1),
        "write_lock_own_ms_max": round(max(one.write_lock_own_ms_max for one in status), 1),
        "core_ms_per_edit": round(sum(row.seconds for row in processes.by_name()) * 1000 / edits, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=EDITS)
    parser.add_argument("--small", type=int, default=SMALL, help="zones of the small size")
    parser.add_argument("--large", type=int, default=LARGE, help="zones of the large size")
    parser.add_argument("--without-ring0", action="store_true", help="let nodes not wait for the canary")
    args = parser.parse_args()
    result: dict[str, Any] = {"bench": "push"}
    with stacks.bench_stack("push", ring0=not args.without_ring0) as stack:
        made = 0
        for label, zones in (("small", args.small), ("large", args.large)):
            began = time.monotonic()
            records = estate.fill(
                first=made, zones=zones, of=args.large, records=round(LARGE_RECORDS * args.large / LARGE), say=say
            )
            stack.wait_until_in_sync(timeout=1800)
            made = zones
            say(f"{label}: {zones:,} zones, {records:,} records at all nodes after {time.monotonic() - began:.0f} s")
            stack.wait_until_searchable()
            stack.restart_agents()
            measure(stack, edits=20, seed=1)  # warms up connections, imports and caches
            result[label] = measure(stack, edits=args.edits, seed=zones)
            for key, value in result[label].items():
                say(f"  {key:>18} {value}")
    ratio = result["large"]["p50_ms"] / result["small"]["p50_ms"]
    say(f"large/small p50 ratio {ratio:.2f} (target ≤ 1.3)")
    say(json.dumps(result))


if __name__ == "__main__":
    main()
