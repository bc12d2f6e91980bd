"""How fast a node answers: on our LMDB against PowerDNS on PostgreSQL, with our pdns.conf against PowerDNS's
defaults, and while changes arrive.

10,000 zones, dnsperf on loopback, 40 % of the questions for names that nobody has. On two cores the generator
is a bottleneck beside the server, so the server's processor time per answer counts more than answers per second.
Every comparison takes turns in the same run; figures are medians of its rounds.

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from dnspanel.demo.stack import Stack
from replication.agent.pdnsconf import PdnsSettings, render
from replication.push import NodeClient
from replication.rdtypes import A
from replication.rrset import RRset
from tests.benchmarks import serving
from tests.benchmarks.serving import CACHES_OFF, Figures, Server
from tests.replication.agent.servers import AgentFiles, AgentProcess, Authority, Pdns, client_for, free_port
from tests.replication.panel import MAP_SIZE, Panel

ROOT = Path(__file__).resolve().parent.parent.parent
ZONES = 10_000
CHANGES_PER_SECOND = 100
SEGMENTS_PER_SECOND = 20  # the publisher seals no more often when publications come fast
IMPORT_ZONES = 33_334  # of three records each

# What PowerDNS must be told to serve these files at all; nothing that makes it faster or slower.
MUST = {
    "launch": "lmdb", "lmdb-shards": "1", "local-address": "127.0.0.1", "daemon": "no", "guardian": "no",
    "write-pid": "no", "disable-syslog": "yes", "security-poll-suffix": "", "loglevel": "3",
}  # fmt: skip
# Lines of our configuration that may change what an answer costs, for --lines.
CANDIDATES = (
    "receiver-threads", "reuseport", "distributor-threads", "zone-cache-refresh-interval", "consistent-backends",
    "cache-ttl", "query-cache-ttl", "negquery-cache-ttl", "max-packet-cache-entries", "max-cache-entries",
    "dname-processing", "8bit-dns", "version-string", "expand-alias", "webserver", "loglevel",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=ZONES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--lines", action="store_true", help="measure each line of our configuration, and nothing else")
    args = parser.parse_args()
    bench = Bench(zones=args.zones, rounds=args.rounds, seconds=args.seconds)
    with bench.prepared():
        if args.lines:
            bench.lines()
            return
        result: dict[str, Any] = {"bench": "serve", **bench.backends(), **bench.configurations(), **bench.changes()}
    say(json.dumps(result))


class Bench:
    """The files, the questions, and the comparisons over them."""

    def __init__(self, *, zones: int, rounds: int, seconds: float) -> None:
        self.zones, self.rounds, self.seconds = zones, rounds, seconds

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
            "lmdb_vs_pgsql_uncached": round(lmdb_off.qps / pgsql_off.qps, 2),
            "lmdb_vs_pgsql_cached": round(lmdb.qps / pgsql.qps, 2),
            "lmdb_vs_pgsql_uncached_cpu": round(pgsql_off.cpu_us / lmdb_off.cpu_us, 2),
        }

    def configurations(self) -> dict[str, Any]:
        """Our pdns.conf against the defaults of PowerDNS, on the same files."""
        say("\nOur pdns.conf against PowerDNS's defaults, on the same LMDB")
        servers = [self._server("ours", self._ours()), self._server("defaults", self._defaults())]
        ours, defaults = self._in_turns(servers, warm=True)
        say("  the same from a fresh start, every cache empty")
        ours_cold, defaults_cold = self._in_turns(servers, warm=False)
        warm, cold = defaults.cpu_us / ours.cpu_us, defaults_cold.cpu_us / ours_cold.cpu_us
        return {
            "config_vs_default_cpu": round(min(warm, cold), 2),
            "config_vs_default_cpu_warm": round(warm, 2),
            "config_vs_default_cpu_cold": round(cold, 2),
            "config_vs_default_qps_warm": round(ours.qps / defaults.qps, 2),
            "config_vs_default_qps_cold": round(ours_cold.qps / defaults_cold.qps, 2),
        }

    def lines(self) -> None:
        """Each line that may matter, taken away: what an answer costs then, warm and cold, against all lines."""
        say("\nEach line of our pdns.conf taken away (100 % = with all lines; above: the line saves processor time)")
        ours = self._ours()
        everything = self._server("all lines", ours)
        for name in CANDIDATES:
            if name not in ours:
                continue
            without = {key: value for key, value in ours.items() if key != name}
            servers = [everything, self._server(f"without {name}", without)]
            warm_all, warm = self._in_turns(servers, warm=True, quiet=True)
            cold_all, cold = self._in_turns(servers, warm=False, quiet=True)
            say(
                f"  {name:>30}={ours[name]:<9} warm {warm.cpu_us / warm_all.cpu_us:>6.0%}, "
                f"cold {cold.cpu_us / cold_all.cpu_us:>6.0%} of the processor time; "
                f"QPS {warm.qps / warm_all.qps:>5.0%} and {cold.qps / cold_all.qps:>5.0%}"
            )

    def changes(self) -> dict[str, Any]:
        """One real node, idle, then under changes, then while an import arrives, in turns."""
        say("\nOne node with its agent: idle, under changes, and during an import")
        idle: list[float] = []
        churn: list[float] = []
        imports: list[float] = []
        with contextlib.ExitStack() as stack:
            node = stack.enter_context(BenchNode.running(self.zones))
            node.measure(self.questions[-1], 3)
            for number in range(self.rounds):
                questions = self.questions[number]
                idle.append(node.measure(questions, self.seconds).qps)
                with node.changing() as done:
                    churn.append(node.measure(questions, self.seconds).qps)
                with node.importing() as imported:
                    imports.append(node.measure(questions, self.seconds).qps)
                say(
                    f"  idle {idle[-1]:>9,.0f}/s   {done.count / self.seconds:>4.0f} changes/s: {churn[-1]:>9,.0f}/s   "
                    f"import of {imported.count:,} records: {imports[-1]:>9,.0f}/s"
                )
        return {
            "churn_qps_ratio": round(statistics.median(churn) / statistics.median(idle), 3),
            "import_qps_ratio": round(statistics.median(imports) / statistics.median(idle), 3),
        }

    # Servers

    def _server(self, name: str, settings: Mapping[str, str]) -> Server:
        text = serving.conf_text({**settings, "local-port": str(self.port), "socket-dir": str(self.sockets)})
        return Server(name, self.directory / name.replace(" ", "-").replace(",", ""), text, port=self.port)

    def _ours(self, **changes: str) -> dict[str, str]:
        text = render(
            PdnsSettings(
                schema=4, lmdb_path=str(self.directory / "panel.lmdb"), socket_dir=str(self.sockets),
                addresses=("127.0.0.1",), cores=psutil.cpu_count() or 1, api_port=free_port(), api_key="bench",
                map_size=MAP_SIZE,
            )
        )  # fmt: skip
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
        return ours | {
            "launch": "gpgsql", "gpgsql-host": "127.0.0.1", "gpgsql-port": str(place.postgres_port),
            "gpgsql-dbname": database, "gpgsql-user": user, "gpgsql-password": password,
        } | changes  # fmt: skip

    def _in_turns(self, servers: Sequence[Server], *, warm: bool, quiet: bool = False) -> list[Figures]:
        """Each server once per round, alone on the machine; the medians."""
        found: dict[str, list[Figures]] = {server.name: [] for server in servers}
        for number in range(self.rounds):
            for server in servers if number % 2 == 0 else reversed(servers):
                with server.running() as process:
                    if warm:
                        serving.dnsperf(process, self.port, self.questions[-1], seconds=3)
                    figures = serving.dnsperf(process, self.port, self.questions[number], seconds=self.seconds)
                    found[server.name].append(figures)
        medians = [serving.figures_of(found[server.name]) for server in servers]
        for server, figures in zip(servers, medians, strict=True):
            if not quiet:
                say(f"  {server.name:>22} {figures.qps:>10,.0f}/s {figures.cpu_us:>8.2f} µs each, {figures.lost} lost")
        return medians


class Counted:
    """How many changes or records arrived."""

    count = 0


class BenchNode:
    """A pdns_server with our configuration and its agent, and somebody who pushes what a panel sealed."""

    def __init__(self, panel: Panel, pdns: Pdns, client: NodeClient, zones: int) -> None:
        self.panel, self.pdns, self.client, self.zones = panel, pdns, client, zones
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
            yield cls(panel, pdns, client, zones)

    def measure(self, questions: Path, seconds: float) -> Figures:
        return serving.dnsperf(psutil.Process(self.pdns.pid), self.pdns.port, questions, seconds=seconds)

    @contextlib.contextmanager
    def changing(self) -> Iterator[Counted]:
        """Changes of single RRsets arrive while inside, in segments such as a publisher under load seals."""
        each = CHANGES_PER_SECOND // SEGMENTS_PER_SECOND

        def step() -> int:
            changes = {}
            for _ in range(each):
                self._changed += 1
                zone = serving.zone_name(self._changed % self.zones + 1)
                address = f"198.51.100.{self._changed % 250 + 1}"
                changes[zone] = [RRset("www." + zone, A, 300, (address,))]
            sealed = self.panel.change_all(changes)
            self.client.push(sealed, len(sealed))
            return len(changes)

        with self._repeating(step, every=1 / SEGMENTS_PER_SECOND) as counted:
            yield counted

    @contextlib.contextmanager
    def importing(self) -> Iterator[Counted]:
        """New zones arrive, as many as an import of 100,000 records has, in pieces such as imports seal."""
        pieces = -(-IMPORT_ZONES // 1_300)

        def step() -> int:
            first = self._imported + 1
            self._imported += 1_300
            sealed = self.panel.create_packed(*map(serving.zone_rrsets, range(first, self._imported + 1)))
            self.client.push(sealed, len(sealed))
            return 1_300 * 4

        with self._repeating(step, every=0.05, most=pieces) as counted:
            yield counted

    @contextlib.contextmanager
    def _repeating(self, step: Any, *, every: float, most: int | None = None) -> Iterator[Counted]:
        counted, stop, failures = Counted(), threading.Event(), []

        def run() -> None:
            due = time.monotonic()
            done = 0
            while not stop.is_set() and (most is None or done < most):
                try:
                    counted.count += step()
                except Exception as exc:
                    failures.append(exc)
                    return
                done += 1
                due = max(due + every, time.monotonic() - 1)
                stop.wait(max(0.0, due - time.monotonic()))

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield counted
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
