"""dnsdist in front of nodes: its cost, the time until it leaves out a late node, and stale answers.

1. dnsperf queries one pdns_server, directly and through a front without a packet cache, alternating, as fast as
   possible, on shared cores. The processor time is that of all servers involved.
2. A stack with three nodes and an enrolled front with a packet cache gets single changes under the load of `bench
   storm`. Only the front is queried, after the panel reports *in sync*, which includes the front's ack.
3. In the same stack, one node's agent is repeatedly stopped and a change published. Measured are the milliseconds from
   the first node's answer with the change until dnsdist has taken out the late node, including `behind_seconds` (0.5).
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from replication.errors import NotServed
from replication.front.front import Front
from replication.front.front_config import FrontConfig
from replication.wire.front_messages import Backend, Endpoint
from tests.benchmarks import answers, bench_storm, estate, pdns_settings, serving, stacks
from tests.benchmarks.say import say
from tests.fronts import joined_front
from tests.ports import free_port

ZONES = 1000
ROUNDS = 3
SECONDS = 8.0
UPDATES = 10_000
FAILOVERS = 10
CACHE = 100_000
POLL_SECONDS = 0.005
BEHIND_SECONDS = 0.5
WAIT_SECONDS = 60.0
HERE = "127.0.0.1"


@contextlib.contextmanager
def fronted(directory: Path, ports: Sequence[int], first: str) -> Iterator[tuple[int, serving.Processes]]:
    """Yield the port of a running front, and its dnsdist, once all backends answer. `first` has an address."""
    config = FrontConfig(
        state_dir=directory,
        listen=(Endpoint(HERE, free_port()),),
        backends=tuple(Backend(f"ns{at}", Endpoint(HERE, port)) for at, port in enumerate(ports, 1)),
        cores=pdns_settings.CORES,
        behind_seconds=BEHIND_SECONDS,
        control_port=free_port(),
        api_port=free_port(),
    )
    front = Front(config)
    front.write()
    port = config.listen[0].port
    command = ("dnsdist", "-C", str(config.conf_path), "--supervised", "--disable-syslog")
    stop = threading.Event()
    looking = threading.Thread(target=front.run, args=(stop,))
    with serving.Server("dnsdist", port, command, directory, first=first).running() as processes:
        looking.start()
        try:
            wait_for(lambda: is_out(front, None), "all backends in rotation")
            yield port, processes
        finally:
            stop.set()
            looking.join()


def is_out(front: Front, name: str | None) -> bool:
    """Return True if only this backend is out of rotation. For None, return True if all backends are in rotation."""
    with contextlib.suppress(NotServed):
        states = {server.name: server.state for server in front.numbers().servers}
        return all(state == ("DOWN" if server == name else "up") for server, state in states.items())
    return False


def measure_cost(directory: Path, *, rounds: int, seconds: float) -> tuple[float, float]:
    """Return the ratios of answers per second, and of processor time per answer, between a front and direct queries."""
    serving.write_lmdb(directory, ZONES).close()
    questions = directory / "questions"
    serving.write_questions(questions, zones=ZONES, seed=1)
    settings = pdns_settings.ours(directory / "panel.lmdb", directory)
    server = serving.pdns_server("direct", directory / "pdns", settings, port=free_port())
    first = f"www.{serving.zone_name(1)}"
    with server.running() as own, fronted(directory / "front", [server.port], first) as (port, dnsdist):
        both = _Both(own, dnsdist)
        found = serving.in_turns(
            rounds,
            {
                "direct": lambda _: serving.dnsperf(own, server.port, questions, seconds=seconds),
                "front": lambda _: serving.dnsperf(both, port, questions, seconds=seconds),
            },
        )
    serving.say_figures(found)
    return (
        serving.ratio(found["front"], found["direct"], "qps"),
        serving.ratio(found["front"], found["direct"], "cpu_us"),
    )


class _Both(serving.Processes):
    """Two groups of processes that are measured as one."""

    def __init__(self, *parts: serving.Processes) -> None:
        super().__init__()
        self._parts = parts

    def cpu_seconds(self) -> float:
        return sum(part.cpu_seconds() for part in self._parts)


def time_out_of_rotation(
    stack: stacks.BenchStack, front: Front, zone_id: int, *, times: int, first: int
) -> list[float]:
    """Return the milliseconds until a node with a hanging agent was out of rotation, in ascending order."""
    found = []
    late = stack.stack.node_names[-1]
    for update in range(first, first + times):
        agent = psutil.Process(stack.stack.supervisor.pid(f"{late}-agent"))
        agent.suspend()
        try:
            name, address = bench_storm.owner(update), bench_storm.address(update)
            sequence = estate.publish_address(zone_id=zone_id, name=name, address=address)
            [start] = answers.wait_for(stack.dns_addresses[:1], name, address)
            wait_for(lambda: is_out(front, late), "the late node out of rotation")
            found.append((time.monotonic() - start) * 1000)
        finally:
            agent.resume()
        stack.wait_until_in_sync(sequence=sequence)
        wait_for(lambda: is_out(front, None), "the node in rotation again")
    return sorted(found)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until the condition is true. Raise TimeoutError with `what` after WAIT_SECONDS."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not after {WAIT_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of each measurement with dnsperf")
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--qps", type=int, default=3000, help="maximum queries per second at the front")
    parser.add_argument("--failovers", type=int, default=FAILOVERS)
    args = parser.parse_args()
    version = subprocess.run(["dnsdist", "--version"], capture_output=True, text=True, check=True).stdout
    say(version.splitlines()[0])
    with tempfile.TemporaryDirectory(prefix="dp-") as folder:
        qps, cpu = measure_cost(Path(folder), rounds=args.rounds, seconds=args.seconds)
    with stacks.bench_stack("front") as stack, tempfile.TemporaryDirectory(prefix="dp-") as folder:
        zone_id = estate.fill_storm_zone(names=bench_storm.NAMES)
        stack.wait_until_in_sync()

        def publish(name: str, value: str) -> None:
            stack.wait_until_in_sync(sequence=estate.publish_address(zone_id=zone_id, name=name, address=value))

        names = stack.stack.node_names
        terms = {"backends": dict.fromkeys(names, 1), "cache_entries": CACHE, "behind_seconds": BEHIND_SECONDS}
        with joined_front(stack.stack, Path(folder), terms) as joined:
            stack.wait_until_in_sync()
            storm = bench_storm.storm([(HERE, joined.port)], publish, updates=args.updates, qps=args.qps)
            front = Front(joined.config)
            out = time_out_of_rotation(stack, front, zone_id, times=args.failovers, first=args.updates + 1)
            hits, misses = front.numbers().cache_hits, front.numbers().cache_misses
            say(f"cache: {hits:,} of {hits + misses:,} lookups answered")
            say(f"storm: {storm.qps:,.0f} queries/s, in sync after p50 {storm.waited[len(storm.waited) // 2]:.1f} ms")
            say(f"out of rotation: {', '.join(f'{ms:.0f}' for ms in out)} ms")
    result = {
        "bench": "front",
        "qps_vs_direct": qps,
        "cpu_vs_direct": cpu,
        "out_of_rotation_ms": round(statistics.median(out), 1),
        "stale": storm.stale.total(),
    }
    say(json.dumps(result))


if __name__ == "__main__":
    main()
