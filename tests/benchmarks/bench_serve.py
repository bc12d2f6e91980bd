"""The speed of a node: LMDB against PowerDNS on PostgreSQL, dnspanel's pdns.conf against the defaults, under changes.

10,000 zones are queried by dnsperf on loopback, with 40 % of the questions for names that do not exist. On two cores
dnsperf is a bottleneck too, so the server's processor time per answer is more meaningful than answers per second.
Servers alternate within the same run. Ratios are medians over the rounds.

Two configurations are compared under equal conditions. If they are queried as fast as possible on cores shared with
dnsperf, the one with more threads gets more of these cores. And a server that is queried faster spends less per answer,
because it sleeps and wakes less often. So processor time is compared at the same rate of questions, and answers per
second with a separate core for the server. Shared cores are measured too.

--lines measures the cost per answer without each line of the configuration that could matter.
"""

import argparse
import contextlib
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from dnspanel.demo.stack import Stack, StackShape
from dnspanel.publish.encoding.sealing_pace import MOST, PER_SECOND
from replication.dns.rdtypes import A
from replication.dns.rrset import RRset
from replication.node_client import NodeClient
from tests.benchmarks import pdns_settings, serving
from tests.benchmarks.say import say
from tests.benchmarks.serving import CACHES_OFF, OWN_CORE, SAME_RATE, SHARED, Figures, Load, Processes, Server
from tests.ports import free_port
from tests.replication.agent.servers import AgentFiles, AgentProcess, Authority, Pdns, client_for
from tests.replication.panel import Panel

ROOT = Path(__file__).resolve().parent.parent.parent
ZONES = 10_000
CHANGES_PER_SECOND = 100
SEGMENTS_PER_SECOND = round(PER_SECOND / MOST)  # the publisher's maximum, even if publications come fast
CHANGES_EACH = CHANGES_PER_SECOND // SEGMENTS_PER_SECOND
CHANGE_ROUNDS = 3  # times the rounds of other measurements, because the effect is small compared to the machine's noise
IMPORT_ZONES = 25_000
RECORDS_EACH = 4
IMPORT_PIECE = 1_300

# Lines of our configuration that may change the cost of an answer, for --lines.
CANDIDATES = (
    "receiver-threads",
    "reuseport",
    "distributor-threads",
    "zone-cache-refresh-interval",
    "consistent-backends",
    "cache-ttl",
    "query-cache-ttl",
    "negquery-cache-ttl",
    "max-packet-cache-entries",
    "max-cache-entries",
    "dname-processing",
    "8bit-dns",
    "version-string",
    "expand-alias",
    "webserver",
    "loglevel",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=ZONES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--lines", action="store_true", help="only measure each line of our configuration")
    parser.add_argument("--only", choices=("backends", "configurations", "changes"), help="one of the comparisons")
    args = parser.parse_args()
    bench = Bench(zones=args.zones, rounds=args.rounds, seconds=args.seconds)
    with bench.prepared():
        if args.lines:
            bench.lines()
            return
        comparisons = {"backends": bench.backends, "configurations": bench.configurations, "changes": bench.changes}
        result: dict[str, Any] = {"bench": "serve"}
        for name, compare in comparisons.items():
            if args.only in (None, name):
                result |= compare()
    say(json.dumps(result))


@dataclass(frozen=True, slots=True)
class LineCost:
    """A line of the configuration, and the processor time per answer without it divided by the time with all lines."""

    name: str
    value: str
    cold: float
    warm: float


class Bench:
    """The benchmark's files and questions, and its comparisons."""

    def __init__(self, *, zones: int, rounds: int, seconds: float) -> None:
        self.zones, self.rounds, self.seconds = zones, rounds, seconds
        self._next_seed = rounds

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """Write the zones to LMDB and PostgreSQL, and the questions to files. Remove everything after the block."""
        directory = ROOT / "var" / "bench" / "serve"
        shutil.rmtree(directory, ignore_errors=True)
        sockets = Path(tempfile.mkdtemp(prefix="dp-"))
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, sockets, ignore_errors=True)
            self.stores = stack.enter_context(
                Stack(directory, StackShape(sample_zones=False, traffic=False, stores_only=True))
            )
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            self.directory, self.sockets, self.port = directory, sockets, free_port()
            serving.write_postgresql(self.stores.stores.database_url, self.zones)
            serving.write_lmdb(directory, self.zones).close()
            self.questions = [self._questions(number) for number in range(self.rounds + 1)]
            say(f"{self.zones:,} zones in LMDB and in PostgreSQL; {self.rounds} rounds of {self.seconds:g} s each")
            yield

    def _questions(self, number: int) -> Path:
        path = self.directory / f"questions-{number}"
        serving.write_questions(path, zones=self.zones, seed=number)
        return path

    # Comparisons

    def backends(self) -> dict[str, Any]:
        """Compare LMDB and PostgreSQL, each with dnspanel's cache settings and without caches."""
        say("\nOur LMDB against PowerDNS on PostgreSQL (gpgsql) as its makers recommend it, same zones")
        ours_off, pgsql_off, ours, pgsql = self.in_turns(self.backend_servers(), warm=True).values()
        return {
            "lmdb_vs_pgsql_uncached": serving.ratio(ours_off, pgsql_off, "qps"),
            "lmdb_vs_pgsql_cached": serving.ratio(ours, pgsql, "qps"),
            "lmdb_vs_pgsql_uncached_cpu": serving.ratio(pgsql_off, ours_off, "cpu_us"),
        }

    def backend_servers(self) -> list[Server]:
        """Return the servers on LMDB and PostgreSQL, first without caches, then with caches."""
        database = self.stores.supervisor.pid("postgres")
        pgsql_off, pgsql = (
            replace(self.server(f"PowerDNS on PostgreSQL, caches {state}", settings), databases=(database,))
            for state, settings in (("off", self._gpgsql(**CACHES_OFF)), ("on", self._gpgsql()))
        )
        return [
            self.server("ours, caches off", self.ours(**CACHES_OFF)),
            pgsql_off,
            self.server("ours, caches on", self.ours()),
            pgsql,
        ]

    def configurations(self) -> dict[str, Any]:
        """Compare dnspanel's pdns.conf with PowerDNS's defaults, on the same files, under each load."""
        rate, own, shared = (self._configurations(load) for load in (SAME_RATE, OWN_CORE, SHARED))
        return {
            "config_vs_default_cpu": min(rate["cpu_warm"], rate["cpu_cold"]),
            **{f"config_vs_default_{name}": value for name, value in rate.items() if name.startswith("cpu")},
            **{f"config_vs_default_own_core_{name}": value for name, value in own.items()},
            **{f"config_vs_default_shared_{name}": value for name, value in shared.items()},
        }

    def _configurations(self, load: Load) -> dict[str, float]:
        """Return ratios of processor time per answer and of QPS between dnspanel and the defaults, warm and cold.

        Above 1, dnspanel is better. The defaults run twice per round. The difference between the two runs is noise.
        """
        cores = 1 if load.apart else psutil.cpu_count() or 1
        servers = [
            self.server("ours", self.ours(**{"receiver-threads": str(cores)})),
            self.server("defaults", pdns_settings.defaults(self.directory / "panel.lmdb", self.sockets)),
            self.server("defaults again", pdns_settings.defaults(self.directory / "panel.lmdb", self.sockets)),
        ]
        found = {}
        for state in ("warm", "cold"):
            say(f"\nOur pdns.conf against PowerDNS's defaults, on the same LMDB, caches {state}: {load.words}")
            ours, defaults, again = self.in_turns(servers, warm=state == "warm", load=load).values()
            found[f"cpu_{state}"] = serving.ratio(defaults, ours, "cpu_us")
            found[f"qps_{state}"] = serving.ratio(ours, defaults, "qps")
            found[f"cpu_{state}_noise"] = serving.ratio(again, defaults, "cpu_us")
        return found

    def lines(self) -> list[LineCost]:
        """Measure the cost per answer without each line that may matter, alternating with all lines."""
        ours = self.ours()
        everything = self.server("all lines", ours)
        say("\nEach line of our pdns.conf taken away (100 % = with all lines; above: the line saves processor time)")
        say(f"  {SAME_RATE.words}")
        return [self._line(name, ours, everything) for name in CANDIDATES if name in ours]

    def _line(self, name: str, ours: Mapping[str, str], everything: Server) -> LineCost:
        without = self.server(f"without {name}", {key: value for key, value in ours.items() if key != name})
        competitors = {server.name: partial(self._cold_and_warm, server) for server in (everything, without)}
        of_all, of_fewer = (zip(*found, strict=True) for found in serving.in_turns(self.rounds, competitors).values())
        cold, warm = (serving.ratio(fewer, all_, "cpu_us") for fewer, all_ in zip(of_fewer, of_all, strict=True))
        say(f"  {name:>30}={ours[name]:<9} warm {warm:>6.0%}, cold {cold:>6.0%} of the processor time")
        return LineCost(name, ours[name], cold=cold, warm=warm)

    def _cold_and_warm(self, server: Server, number: int) -> tuple[Figures, Figures]:
        """Measure from the server's start (cold), and again after most names were queried (warm)."""
        with server.running() as processes:
            files = self.questions[number], self.questions[-1]
            cold, warm = (
                serving.dnsperf(processes, self.port, file, seconds=self.seconds, load=SAME_RATE) for file in files
            )
        return cold, warm

    def changes(self) -> dict[str, Any]:
        """Measure a real node during changes and during an import, each compared with an equally long idle slice."""
        say(
            "\nOne node with its agent: under changes and during an import, each against the idle node before and after"
        )
        rounds = CHANGE_ROUNDS * self.rounds
        with contextlib.ExitStack() as stack:
            node = stack.enter_context(BenchNode.running(self.zones))
            node.measure(self.questions[-1], 3)
            changes = [node.seal_changes(self.seconds) for _ in range(rounds)]
            churn = self._beside_idle(node, "changes", [partial(node.changing, sealed) for sealed in changes])
            pieces = [node.seal_import() for _ in range(self.rounds)]
            importing = [partial(node.importing, sealed, self.seconds) for sealed in pieces]
            imports = self._beside_idle(node, "imported records", importing)
        return {
            "churn_qps_ratio": _middle(under.qps / idle_qps for under, idle_qps, _ in churn),
            "churn_cpu_ratio": _middle(under.cpu_us / idle_us for under, _, idle_us in churn),
            "import_qps_ratio": _middle(under.qps / idle_qps for under, idle_qps, _ in imports),
        }

    def _beside_idle(
        self, node: "BenchNode", noun: str, works: Sequence[Callable[[], AbstractContextManager["Counted"]]]
    ) -> list[tuple[Figures, float, float]]:
        """Yield each slice under work, with the idle node's QPS and processor time per answer (µs).

        The idle values are means of the slices immediately before and after, because the machine's speed drifts.
        """
        slices = []
        idle = node.measure(self._fresh_questions(), self.seconds)
        for work in works:
            with work() as done:
                under = node.measure(self._fresh_questions(), self.seconds)
            before, idle = idle, node.measure(self._fresh_questions(), self.seconds)
            idle_qps, idle_us = (before.qps + idle.qps) / 2, (before.cpu_us + idle.cpu_us) / 2
            slices.append((under, idle_qps, idle_us))
            say(
                f"  idle {idle_qps:>9,.0f}/s {idle_us:>6.2f} µs   {done.words(self.seconds, noun)}: "
                f"{under.qps:>9,.0f}/s {under.cpu_us:>6.2f} µs, {under.qps / idle_qps:.2f}"
            )
        return slices

    def _fresh_questions(self) -> Path:
        """Write questions with new nonexistent names for each slice, because caches contain earlier ones."""
        self._next_seed += 1
        return self._questions(self._next_seed)

    # Servers

    def server(self, name: str, settings: Mapping[str, str]) -> Server:
        return serving.pdns_server(name, self.directory / name.replace(" ", "-"), settings, port=self.port)

    def ours(self, **changes: str) -> dict[str, str]:
        return pdns_settings.ours(self.directory / "panel.lmdb", self.sockets) | changes

    def _gpgsql(self, **changes: str) -> dict[str, str]:
        backend = pdns_settings.gpgsql(self.stores.stores.database_url)
        return pdns_settings.recommended(backend, self.sockets) | changes

    def in_turns(self, servers: Sequence[Server], *, warm: bool, load: Load = SHARED) -> dict[str, list[Figures]]:
        """Run each server once per round, alone on the machine. Return the figures of each server by round."""
        competitors = {server.name: partial(self._measure, server, warm, load) for server in servers}
        found = serving.in_turns(self.rounds, competitors)
        serving.say_figures(found)
        return found

    def _measure(self, server: Server, warm: bool, load: Load, number: int) -> Figures:
        with server.running(core=serving.SERVER_CORE if load.apart else None) as processes:
            if warm:
                serving.dnsperf(processes, self.port, self.questions[-1], seconds=3)
            return serving.dnsperf(processes, self.port, self.questions[number], seconds=self.seconds, load=load)


def _middle(ratios: Iterable[float]) -> float:
    return round(statistics.median(ratios), 3)


class Counted:
    """The number of changes or records that arrived, and the agent's processor time for them."""

    count = 0
    agent_seconds = 0.0

    def words(self, seconds: float, noun: str) -> str:
        return f"{self.count / seconds:>6,.0f} {noun}/s, agent at {self.agent_seconds / seconds:>4.0%} of a core"


class BenchNode:
    """A pdns_server with dnspanel's configuration, its agent, and a client that pushes sealed data."""

    def __init__(self, panel: Panel, pdns: Pdns, client: NodeClient, zones: int, agent_pid: int) -> None:
        self.panel, self.pdns, self.client, self.zones, self.agent_pid = panel, pdns, client, zones, agent_pid
        self._changed = 0
        self._imported = zones

    @classmethod
    @contextlib.contextmanager
    def running(cls, zones: int) -> Iterator["BenchNode"]:
        with contextlib.ExitStack() as stack:
            directory = Path(tempfile.mkdtemp(prefix="dp-"))
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            authority = Authority(directory)
            (directory / "panel").mkdir()
            panel = serving.write_lmdb(directory / "panel", zones)
            stack.callback(panel.close)
            pdns = Pdns(directory, cores=psutil.cpu_count() or 1)
            files = AgentFiles(directory, authority, pdns)
            agent = AgentProcess(files)
            agent.start()
            stack.callback(agent.stop)
            pdns.start()
            stack.callback(pdns.kill)
            client = client_for(files, authority.client_context())
            stack.callback(client.close)
            for sealed in panel.segments:
                client.push(sealed, len(sealed))
            panel.segments.clear()
            yield cls(panel, pdns, client, zones, agent.pid)

    def measure(self, questions: Path, seconds: float) -> Figures:
        return serving.dnsperf(Processes(self.pdns.pid), self.pdns.port, questions, seconds=seconds)

    def seal_changes(self, seconds: float) -> list[bytes]:
        """Seal changes of single RRsets for `seconds`, in segments like those of a publisher under load.

        They are sealed before the measurement, because a panel would do this on another machine. A pause between slices
        would also make the second slice's caches colder: even without any changes, it gave 5 % fewer answers.
        """
        sealed = []
        for _ in range(round(seconds * SEGMENTS_PER_SECOND)):
            changes = {}
            for _ in range(CHANGES_EACH):
                self._changed += 1
                zone = serving.zone_name(self._changed % self.zones + 1)
                address = f"198.51.100.{self._changed % 250 + 1}"
                changes[zone] = [RRset("www." + zone, A, 300, (address,))]
            sealed.append(self.panel.change_all(changes))
        return sealed

    @contextlib.contextmanager
    def changing(self, sealed: Sequence[bytes]) -> Iterator[Counted]:
        """Push these changes to the node during the block."""
        with self._arriving(sealed, every=1 / SEGMENTS_PER_SECOND, each=CHANGES_EACH) as counted:
            yield counted

    def seal_import(self) -> list[bytes]:
        """Seal as many new zones as an import of 100,000 records has, in pieces of an import's size."""
        sealed = []
        for _ in range(-(-IMPORT_ZONES // IMPORT_PIECE)):
            first = self._imported + 1
            self._imported += IMPORT_PIECE
            sealed.append(self.panel.create_packed(*map(serving.zone_rrsets, range(first, self._imported + 1))))
        return sealed

    @contextlib.contextmanager
    def importing(self, sealed: Sequence[bytes], seconds: float) -> Iterator[Counted]:
        """Push these pieces to the node during the block.

        As in the panel, acks can arrive later. After the block, wait for all of them.
        """
        every = seconds / len(sealed)
        with self._arriving(sealed, every=every, each=IMPORT_PIECE * RECORDS_EACH, may_defer=True) as counted:
            yield counted
        self._until_acked()

    def _until_acked(self, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while (ack := self.client.ack()).place != ack.position:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the node has {ack.place} and acked {ack.position}")
            time.sleep(0.05)

    @contextlib.contextmanager
    def _arriving(
        self, sealed: Sequence[bytes], *, every: float, each: int, may_defer: bool = False
    ) -> Iterator[Counted]:
        counted, failures = Counted(), []
        stop = threading.Event()
        agent = psutil.Process(self.agent_pid)

        def run() -> None:
            due = time.monotonic()
            for segment in sealed:
                try:
                    self.client.push(segment, len(segment), may_defer=may_defer)
                except Exception as exc:
                    failures.append(exc)
                    return
                counted.count += 0 if stop.is_set() else each
                due = max(due + every, time.monotonic() - 1)
                stop.wait(max(0.0, due - time.monotonic()))

        before = serving.cpu_seconds(agent)
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield counted
            counted.agent_seconds = serving.cpu_seconds(agent) - before
        finally:
            stop.set()
            thread.join()
        if failures:
            raise failures[0]


if __name__ == "__main__":
    main()
