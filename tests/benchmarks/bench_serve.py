"""How fast a node answers: on our LMDB against PowerDNS on PostgreSQL, with our pdns.conf against PowerDNS's
defaults, and while changes arrive.

10,000 zones, dnsperf on loopback, 40 % of the questions for names that nobody has. On two cores the generator
is a bottleneck beside the server, so the server's processor time per answer counts more than answers per second.
Every comparison takes turns in the same run; ratios are medians of those of its rounds.

Two configurations are compared where neither gets more of the machine than the other. Asked as fast as they answer
on cores that they share with dnsperf, the one with more threads gets more of these cores, and a server that is asked
faster spends less per answer, since it sleeps and wakes less often. So processor time is compared at one rate of
questions, and answers per second with the server on a core of its own; the shared cores are measured too.

--lines measures every line of our configuration that could matter: taken away, what does an answer cost?
"""

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from dnspanel.demo.stack import Stack
from dnspanel.publish.pace import MOST, PER_SECOND
from replication.agent.pdnsconf import PdnsSettings, render
from replication.dns.rdtypes import A
from replication.dns.rrset import RRset
from replication.push import NodeClient
from tests.benchmarks import serving
from tests.benchmarks.serving import CACHES_OFF, Figures, Server
from tests.ports import free_port
from tests.replication.agent.servers import AgentFiles, AgentProcess, Authority, Pdns, client_for
from tests.replication.panel import MAP_SIZE, Panel

ROOT = Path(__file__).resolve().parent.parent.parent
ZONES = 10_000
CHANGES_PER_SECOND = 100
SEGMENTS_PER_SECOND = round(PER_SECOND / MOST)  # the publisher seals no more often when publications come fast
CHANGE_ROUNDS = 3  # times the rounds of everything else: the effect is small beside the machine's drift
IMPORT_ZONES = 33_334  # of three records each
IMPORT_PIECE = 1_300
RATE = 20_000  # a fourth of what a server answers here: none falls behind, and nothing is lost

# What PowerDNS must be told to serve these files at all; nothing that makes it faster or slower.
MUST = {
    "launch": "lmdb",
    "lmdb-shards": "1",
    "local-address": "127.0.0.1",
    "daemon": "no",
    "guardian": "no",
    "write-pid": "no",
    "disable-syslog": "yes",
    "security-poll-suffix": "",
    "loglevel": "3",
}
# Lines of our configuration that may change what an answer costs, for --lines.
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
    parser.add_argument("--lines", action="store_true", help="measure each line of our configuration, and nothing else")
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
class Load:
    """How servers are asked: so many questions per second, or as fast as they answer; on shared cores or apart."""

    words: str
    rate: int = 0
    apart: bool = False  # the server has a core of its own, and so has dnsperf


SHARED = Load("as fast as they answer, on cores shared with dnsperf")
SAME_RATE = Load(f"{RATE:,} questions/s for each", rate=RATE)
OWN_CORE = Load("as fast as they answer, on a core of their own", apart=True)


class Bench:
    """The files, the questions, and the comparisons over them."""

    def __init__(self, *, zones: int, rounds: int, seconds: float) -> None:
        self.zones, self.rounds, self.seconds = zones, rounds, seconds
        self._next_seed = rounds

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """The zones are in LMDB and in PostgreSQL, the questions in files; all of it goes at the end."""
        directory = ROOT / "var" / "bench" / "serve"
        shutil.rmtree(directory, ignore_errors=True)
        sockets = Path(tempfile.mkdtemp(prefix="dp-"))
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, sockets, ignore_errors=True)
            stores = stack.enter_context(Stack(directory, sample_zones=False, traffic=False, stores_only=True))
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            self.directory, self.sockets, self.port = directory, sockets, free_port()
            self.postgres = stores.stores
            serving.write_postgresql(self.postgres.database_url, self.zones)
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
        """LMDB against PostgreSQL, each with our caches and with none."""
        say("\nOur LMDB against PowerDNS on PostgreSQL (gpgsql), same zones, same pdns.conf but for the backend")
        servers = [
            self._server("LMDB, caches off", self._ours(**CACHES_OFF)),
            self._server("gpgsql, caches off", self._gpgsql(**CACHES_OFF)),
            self._server("LMDB, caches warm", self._ours()),
            self._server("gpgsql, caches warm", self._gpgsql()),
        ]
        lmdb_off, pgsql_off, lmdb, pgsql = self._in_turns(servers, warm=True)
        return {
            "lmdb_vs_pgsql_uncached": _ratio(lmdb_off, pgsql_off, "qps"),
            "lmdb_vs_pgsql_cached": _ratio(lmdb, pgsql, "qps"),
            "lmdb_vs_pgsql_uncached_cpu": _ratio(pgsql_off, lmdb_off, "cpu_us"),
        }

    def configurations(self) -> dict[str, Any]:
        """Our pdns.conf against the defaults of PowerDNS, on the same files, under each load."""
        rate, own, shared = (self._configurations(load) for load in (SAME_RATE, OWN_CORE, SHARED))
        return {
            "config_vs_default_cpu": min(rate["cpu_warm"], rate["cpu_cold"]),
            **{f"config_vs_default_{name}": value for name, value in rate.items() if name.startswith("cpu")},
            **{f"config_vs_default_own_core_{name}": value for name, value in own.items()},
            **{f"config_vs_default_shared_{name}": value for name, value in shared.items()},
        }

    def _configurations(self, load: Load) -> dict[str, float]:
        """The defaults' processor time per answer divided by ours, and our QPS divided by theirs, warm and cold: above
        1 ours is better. The defaults run twice per round: what the second differs from the first is noise."""
        cores = 1 if load.apart else psutil.cpu_count() or 1
        servers = [
            self._server("ours", self._ours(**{"receiver-threads": str(cores)})),
            self._server("defaults", self._defaults()),
            self._server("defaults again", self._defaults()),
        ]
        found = {}
        for state in ("warm", "cold"):
            say(f"\nOur pdns.conf against PowerDNS's defaults, on the same LMDB, caches {state}: {load.words}")
            ours, defaults, again = self._in_turns(servers, warm=state == "warm", load=load)
            found[f"cpu_{state}"] = _ratio(defaults, ours, "cpu_us")
            found[f"qps_{state}"] = _ratio(ours, defaults, "qps")
            found[f"cpu_{state}_noise"] = _ratio(again, defaults, "cpu_us")
        return found

    def lines(self) -> None:
        """Each line that may matter, taken away: what an answer costs then, warm and cold, against all lines."""
        say("\nEach line of our pdns.conf taken away (100 % = with all lines; above: the line saves processor time)")
        say(f"  {SAME_RATE.words}")
        ours = self._ours()
        everything = self._server("all lines", ours)
        for name in CANDIDATES:
            if name not in ours:
                continue
            without = {key: value for key, value in ours.items() if key != name}
            servers = [everything, self._server(f"without {name}", without)]
            warm_all, warm = self._in_turns(servers, warm=True, load=SAME_RATE, quiet=True)
            cold_all, cold = self._in_turns(servers, warm=False, load=SAME_RATE, quiet=True)
            say(
                f"  {name:>30}={ours[name]:<9} warm {_ratio(warm, warm_all, 'cpu_us'):>6.0%}, "
                f"cold {_ratio(cold, cold_all, 'cpu_us'):>6.0%} of the processor time"
            )

    def changes(self) -> dict[str, Any]:
        """One real node: under changes, and while an import arrives, each beside a slice of the same length without."""
        say(
            "\nOne node with its agent: under changes and during an import, each against the idle node before and after"
        )
        rounds = CHANGE_ROUNDS * self.rounds
        with contextlib.ExitStack() as stack:
            node = stack.enter_context(BenchNode.running(self.zones))
            node.measure(self.questions[-1], 3)
            churn = self._beside_idle(node, rounds, "changes", lambda: node.changing(self.seconds))
            imports = self._beside_idle(node, self.rounds, "imported records", node.importing)
        return {
            "churn_qps_ratio": _middle(under.qps / idle_qps for under, idle_qps, _ in churn),
            "churn_cpu_ratio": _middle(under.cpu_us / idle_us for under, _, idle_us in churn),
            "import_qps_ratio": _middle(under.qps / idle_qps for under, idle_qps, _ in imports),
        }

    def _beside_idle(
        self, node: "BenchNode", rounds: int, noun: str, work: Callable[[], AbstractContextManager["Counted"]]
    ) -> list[tuple[Figures, float, float]]:
        """Each slice under work, with QPS and processor time per answer (µs) of the idle node: the means of the slices
        just before and just after, since the machine's speed drifts."""
        slices = []
        idle = node.measure(self._fresh_questions(), self.seconds)
        for _ in range(rounds):
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
        """Names that nobody has are new in each slice: the caches know those of the last one."""
        self._next_seed += 1
        return self._questions(self._next_seed)

    # Servers

    def _server(self, name: str, settings: Mapping[str, str]) -> Server:
        text = serving.conf_text({**settings, "local-port": str(self.port), "socket-dir": str(self.sockets)})
        return Server(name, self.directory / name.replace(" ", "-").replace(",", ""), text, port=self.port)

    def _ours(self, **changes: str) -> dict[str, str]:
        text = render(
            PdnsSettings(
                schema=4,
                lmdb_path=str(self.directory / "panel.lmdb"),
                socket_dir=str(self.sockets),
                addresses=("127.0.0.1",),
                cores=psutil.cpu_count() or 1,
                api_port=free_port(),
                api_key="bench",
                map_size=MAP_SIZE,
            )
        )
        return serving.settings_in(text) | changes

    def _defaults(self) -> dict[str, str]:
        return MUST | {"lmdb-filename": str(self.directory / "panel.lmdb")}

    def _gpgsql(self, **changes: str) -> dict[str, str]:
        """Our configuration, with the other backend; PowerDNS's own advice for it is what it has by default."""
        ours = {name: value for name, value in self._ours().items() if not name.startswith("lmdb-")}
        place = self.postgres
        url = place.database_url.removeprefix("postgresql://")
        user, _, rest = url.partition(":")
        password, _, rest = rest.partition("@")
        database = rest.rpartition("/")[2]
        return (
            ours
            | {
                "launch": "gpgsql",
                "gpgsql-host": "127.0.0.1",
                "gpgsql-port": str(place.postgres_port),
                "gpgsql-dbname": database,
                "gpgsql-user": user,
                "gpgsql-password": password,
            }
            | changes
        )

    def _in_turns(
        self, servers: Sequence[Server], *, warm: bool, load: Load = SHARED, quiet: bool = False
    ) -> list[list[Figures]]:
        """Each server once per round, alone on the machine; the figures of each, round by round."""
        server_core, client_core = (serving.SERVER_CORE, serving.CLIENT_CORE) if load.apart else (None, None)
        found: dict[str, list[Figures]] = {server.name: [] for server in servers}
        for number in range(self.rounds):
            for server in servers if number % 2 == 0 else reversed(servers):
                with server.running(core=server_core) as process:
                    if warm:
                        serving.dnsperf(process, self.port, self.questions[-1], seconds=3)
                    figures = serving.dnsperf(
                        process,
                        self.port,
                        self.questions[number],
                        seconds=self.seconds,
                        rate=load.rate,
                        core=client_core,
                    )
                    found[server.name].append(figures)
        for server in () if quiet else servers:
            figures = serving.figures_of(found[server.name])
            say(f"  {server.name:>22} {figures.qps:>10,.0f}/s {figures.cpu_us:>8.2f} µs each, {figures.lost} lost")
        return [found[server.name] for server in servers]


def _ratio(of: Sequence[Figures], to: Sequence[Figures], name: str) -> float:
    """The median over the rounds of one server's figure divided by the other's in the same round.

    The machine's speed drifts by a third within minutes; what was measured side by side still compares.
    """
    return round(statistics.median(getattr(a, name) / getattr(b, name) for a, b in zip(of, to, strict=True)), 2)


def _middle(ratios: Iterable[float]) -> float:
    return round(statistics.median(ratios), 3)


class Counted:
    """How many changes or records arrived, and the processor time that the agent spent on them."""

    count = 0
    agent_seconds = 0.0

    def words(self, seconds: float, noun: str) -> str:
        return f"{self.count / seconds:>6,.0f} {noun}/s, agent at {self.agent_seconds / seconds:>4.0%} of a core"


class BenchNode:
    """A pdns_server with our configuration and its agent, and somebody who pushes what a panel sealed."""

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
        return serving.dnsperf(psutil.Process(self.pdns.pid), self.pdns.port, questions, seconds=seconds)

    @contextlib.contextmanager
    def changing(self, seconds: float) -> Iterator[Counted]:
        """Changes of single RRsets arrive while inside, in segments such as a publisher under load seals.

        They are sealed before: what the panel spends is spent on another machine.
        """
        each = CHANGES_PER_SECOND // SEGMENTS_PER_SECOND
        sealed = []
        for _ in range(round(seconds * SEGMENTS_PER_SECOND)):
            changes = {}
            for _ in range(each):
                self._changed += 1
                zone = serving.zone_name(self._changed % self.zones + 1)
                address = f"198.51.100.{self._changed % 250 + 1}"
                changes[zone] = [RRset("www." + zone, A, 300, (address,))]
            sealed.append(self.panel.change_all(changes))
        with self._arriving(sealed, every=1 / SEGMENTS_PER_SECOND, each=each) as counted:
            yield counted

    @contextlib.contextmanager
    def importing(self) -> Iterator[Counted]:
        """New zones arrive, as many as an import of 100,000 records has, in pieces such as imports seal."""
        sealed = []
        for _ in range(-(-IMPORT_ZONES // IMPORT_PIECE)):
            first = self._imported + 1
            self._imported += IMPORT_PIECE
            sealed.append(self.panel.create_packed(*map(serving.zone_rrsets, range(first, self._imported + 1))))
        with self._arriving(sealed, every=0.05, each=IMPORT_PIECE * 4) as counted:
            yield counted

    @contextlib.contextmanager
    def _arriving(self, sealed: Sequence[bytes], *, every: float, each: int) -> Iterator[Counted]:
        counted, failures = Counted(), []
        stop = threading.Event()
        agent = psutil.Process(self.agent_pid)

        def run() -> None:
            due = time.monotonic()
            for segment in sealed:
                try:
                    self.client.push(segment, len(segment))
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


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
