"""dnsdist in front of nodes: what it costs, how soon a late node is out of rotation, and whether it answers stale.

1. One pdns_server is asked by dnsperf, directly and through a front without a packet cache, in turns, as fast as
   answers come, on cores that all share. The processor time is that of all servers on the way.
2. A stack with three nodes and a front that enrolled, with a packet cache: single changes under the load of `bench
   storm`, but the front alone is asked after the panel says *in sync*, which it does once the front has acked too.
3. There, again and again, one node's agent is stopped and a change published: the milliseconds from the first node's
   answer with it until dnsdist has taken the late node out. `behind_seconds` (0.5) is part of them.
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
    """Yield the port of a front that looks, and its dnsdist; all backends answer. `first` is a name with an address."""
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
    """Return True if this backend, and no other, is out of rotation; None: all are in it, and answer."""
    with contextlib.suppress(NotServed):
        states = {server.name: server.state for server in front.numbers().servers}
        return all(state == ("DOWN" if server == name else "up") for server, state in states.items())
    return False


def measure_cost(directory: Path, *, rounds: int, seconds: float) -> tuple[float, float]:
    """Return answers a second, and processor time per answer, through a front by direct ones."""
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
    """Two groups of processes that answer together."""

    def __init__(self, *parts: serving.Processes) -> None:
        super().__init__()
        self._parts = parts

    def cpu_seconds(self) -> float:
        return sum(part.cpu_seconds() for part in self._parts)


def time_out_of_rotation(
    stack: stacks.BenchStack, front: Front, zone_id: int, *, times: int, first: int
) -> list[float]:
    """Return milliseconds, ascending, until a node whose agent hangs was out of rotation."""
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
    """Return when it holds. Raises TimeoutError."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not after {WAIT_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement with dnsperf")
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--qps", type=int, default=3000, help="queries per second at the front, at most")
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
            say(f"storm: {storm.qps:,.0f} questions/s, in sync after p50 {storm.waited[len(storm.waited) // 2]:.1f} ms")
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
