"""A provider's estate, 263,238 zones with 2.8 million records: the time to load it, the memory, and query rates.

Published: `zone2sql` into MySQL took 3,296 seconds. dnspanel's time is a whole import, from the complete upload to the
answers of all three nodes, as `./dev bench import` measures it. Queries then go to a pdns_server with the configuration
of an agent, on a copy of a node's files. BIND, NSD, Knot and PowerDNS's bind backend read the same zone files. Their
load time lasts from their start until they answer for zones in all parts of the estate.
"""

import contextlib
import random
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests import zonegen
from tests.benchmarks import answers, pdns_settings, rivals, serving
from tests.benchmarks.published import name_servers
from tests.benchmarks.published.charts import display_label
from tests.benchmarks.published.estate_import import Imported, import_estate
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Chart, Result
from tests.benchmarks.published.tables import (
    COLUMNS,
    Found,
    answers_chart,
    answers_table,
    bars,
    processor_chart,
    table,
    who_answers_most,
    who_computes_least,
    who_wins,
)
from tests.benchmarks.say import say
from tests.benchmarks.serving import OWN_CORE, SAME_RATE, Figures, Load, Processes, Server
from tests.dnspanel.transfer.running import MariaDB, mariadb
from tests.ports import free_port
from tests.replication.agent.servers import short_directory

OURS, MARIADB, BIND_BACKEND = "ours", "PowerDNS on MariaDB", "PowerDNS, bind backend"
CACHED, ONCE, TWICE = "one cached name", "every name once", "half of the names twice"
CACHED_SECONDS = 2.0
# A name is repeated after this number of questions, when every cache still has it.
AGAIN_AFTER = 1_000
LOOKED_AT = 200
START_SECONDS = 1_800.0
MAP_SIZE = 16 << 30
# All data fits into the pool. The manual recommends half of the memory for it:
# https://mariadb.com/kb/en/configure-the-innodb-buffer-pool/. Commits are as durable as our PostgreSQL's.
MARIADB_OPTIONS = (
    *("--innodb-buffer-pool-size=2G", "--innodb-log-file-size=512M"),
    *("--innodb-flush-log-at-trx-commit=1", "--performance-schema=off"),
)

Shapes = Mapping[str, Found]


@dataclass(frozen=True, slots=True)
class Started:
    """A server that answers for all zones, the seconds from its start until then, and its memory (MiB) then."""

    server: Server
    processes: Processes
    seconds: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Loads:
    """The times to load the estate: by import (dnspanel), by zone2sql (PowerDNS on MariaDB), from files (others)."""

    imported: Imported
    zone2sql_seconds: float
    started: Sequence[Started]
    memory_after_mb: Mapping[str, float]

    def seconds(self) -> dict[str, float]:
        """Return the load time in seconds, by server."""
        from_files = {one.server.name: one.seconds for one in self.started}
        return from_files | {OURS: self.imported.seconds, MARIADB: self.zone2sql_seconds}


def run(options: Options) -> Result:
    records = zonegen.provider_records(options.zones)
    with contextlib.ExitStack() as stack:
        sockets = stack.enter_context(short_directory())
        imported = import_estate(options.directory, zones=options.zones, records=records)
        say(f"imported and answered by all nodes in {imported.seconds:.1f} s")
        zones = options.directory / "zones"
        zones.mkdir()
        named_conf = zonegen.write_named_conf(zones, options.zones, records)
        database = stack.enter_context(mariadb(*MARIADB_OPTIONS))
        zone2sql = rivals.zone2mariadb_seconds(named_conf, server=database, records=records)
        say(f"zone2sql into MariaDB in {zone2sql:.1f} s")
        estate = Estate(options, sockets, database)
        started = [stack.enter_context(estate.started(server)) for server in estate.servers()]
        found = {load: estate.measure(started, load) for load in (SAME_RATE, OWN_CORE)}
        after = {one.server.name: one.processes.memory_mb() for one in started}
    loads = Loads(imported, zone2sql, started, after)
    return Result(
        title=f"A provider's estate: {options.zones:,} zones, {records:,} records",
        purpose="This test uses all zones of a DNS provider, the *estate*. It shows how long a server needs to load "
        "the zones, how much memory the zones take, and how much processor time each answer costs.",
        figures=_figures(loads, found),
        charts=list(_charts(loads, found)),
        text=[*_text_of_loads(loads), *_text(found)],
        configurations={
            **{one.server.name: one.server.configuration for one in started},
            "MariaDB": "\n".join(MARIADB_OPTIONS),
        },
    )


class Estate:
    """The zone files, the servers that load them, and the questions."""

    def __init__(self, options: Options, sockets: Path, database: MariaDB) -> None:
        self._options, self._sockets, self._database = options, sockets, database
        self._directory = options.directory
        self._named_conf = self._directory / "zones" / "named.conf"
        self._zones = sorted(file.name.removesuffix("zone") for file in self._named_conf.parent.glob("*.zone"))
        self._questions = self._written_questions()

    # Servers

    def servers(self) -> list[Server]:
        files = name_servers.zone_files(self._named_conf.parent, self._zones)
        found = [
            self._pdns(OURS, pdns_settings.ours(self._directory / "pdns.lmdb", self._place(OURS), map_size=MAP_SIZE)),
            replace(self._pdns(MARIADB, self._gmysql()), databases=(self._database.process,)),
            self._pdns(BIND_BACKEND, self._bind_backend()),
        ]
        for name, make, zone in (
            ("BIND", name_servers.bind, name_servers.BIND_ZONE),
            ("NSD", name_servers.nsd, name_servers.NSD_ZONE),
            ("Knot", name_servers.knot, name_servers.KNOT_ZONE),
        ):
            statements = name_servers.zone_list(zone, files)
            found.append(make(self._directory / name, port=free_port(), zones=statements))
        last = f"www.{self._zones[-1]}"
        return [replace(server, first=last, start_seconds=START_SECONDS) for server in found]

    def _gmysql(self) -> dict[str, str]:
        backend = {"launch": "gmysql", "gmysql-socket": str(self._database.socket), "gmysql-host": ""}
        backend |= {"gmysql-dbname": rivals.DATABASE, "gmysql-user": "root"}
        return pdns_settings.recommended(backend, self._place(MARIADB))

    def _bind_backend(self) -> dict[str, str]:
        """Return settings with one distributor: no threads between receiver and backend, as its data is in memory."""
        backend = {"launch": "bind", "bind-config": str(self._named_conf), "distributor-threads": "1"}
        return pdns_settings.recommended(backend, self._place(BIND_BACKEND))

    def _pdns(self, name: str, settings: Mapping[str, str]) -> Server:
        return serving.pdns_server(name, self._place(name), settings, port=free_port())

    def _place(self, name: str) -> Path:
        """Create and return a folder with a path that is short enough for a socket."""
        place = self._sockets / name.replace(" ", "-").replace(",", "")
        place.mkdir(exist_ok=True)
        return place

    @contextlib.contextmanager
    def started(self, server: Server) -> Iterator[Started]:
        began = time.monotonic()
        with server.running() as processes:
            chosen = random.Random(1).sample(self._zones, min(LOOKED_AT, len(self._zones)))
            while not all(answers.has_address(("127.0.0.1", server.port), zone) for zone in chosen):
                if time.monotonic() > began + server.start_seconds:
                    raise TimeoutError(f"{server.name} does not answer for all of {chosen}")
            one = Started(server, processes, time.monotonic() - began, processes.memory_mb())
            say(f"  {server.name:>22} answers after {one.seconds:.1f} s with {one.memory_mb:,.0f} MiB")
            yield one

    # Questions

    def measure(self, started: Sequence[Started], load: Load) -> Shapes:
        """Measure each server with each kind of question.

        All servers run at the same time. The servers that are not queried are idle.
        """
        if load.apart:
            for one in started:
                one.processes.stay_on(serving.SERVER_CORE)
        found = {}
        for shape in self._questions:
            say(f"\n{shape}, {load.words}")
            turns = {one.server.name: partial(self._measure, one, load, shape) for one in started}
            found[shape] = serving.in_turns(self._options.rounds, turns)
            serving.say_figures(found[shape])
        return found

    def _measure(self, one: Started, load: Load, shape: str, number: int) -> Figures:
        """Measure a server, starting with empty caches."""
        if (one.server.directory / "pdns.conf").exists():
            purge = ["pdns_control", f"--config-dir={one.server.directory}", "purge"]
            subprocess.run(purge, check=True, stdout=subprocess.DEVNULL)
        seconds = min(self._options.seconds, CACHED_SECONDS) if shape == CACHED else self._options.seconds
        load = replace(load, once=shape != CACHED)
        return serving.dnsperf(one.processes, one.server.port, self._questions[shape], seconds=seconds, load=load)

    def _written_questions(self) -> dict[str, Path]:
        names = [f"www.{zone}" for zone in self._zones]
        random.Random(2).shuffle(names)
        kinds = {CACHED: names[:1], ONCE: names, TWICE: list(half_of_them_twice(names))}
        paths = {kind: self._directory / f"questions-{number}" for number, kind in enumerate(kinds)}
        for kind, path in paths.items():
            path.write_text("".join(f"{name} A\n" for name in kinds[kind]))
        return paths


def half_of_them_twice(names: Sequence[str]) -> Iterator[str]:
    """Yield every name, and every second name once more after AGAIN_AFTER other names."""
    for number, name in enumerate(names):
        yield name
        earlier = number - AGAIN_AFTER
        if number % 2 == 0 and earlier >= 0:
            yield names[earlier]


# The page


def _figures(loads: Loads, found: Mapping[Load, Shapes]) -> dict[str, float | None]:
    processor, once = found[SAME_RATE][TWICE], found[OWN_CORE][ONCE]
    return {
        "lmdb_vs_mysql_uncached": serving.ratio(once[OURS], once[MARIADB], "qps"),
        "load_vs_mysql": round(loads.zone2sql_seconds / loads.imported.seconds, 2),
        **{
            f"cpu_vs_{name.lower()}": serving.ratio(processor[name], processor[OURS], "cpu_us")
            for name in ("BIND", "NSD", "Knot")
        },
    }


def _charts(loads: Loads, found: Mapping[Load, Shapes]) -> Iterator[Chart]:
    memory = {one.server.name: one.memory_mb for one in loads.started}
    yield Chart("estate-load", "Loading the estate", "seconds", bars(loads.seconds()), is_less_better=True)
    yield Chart("estate-memory", "Memory with the estate", "MiB", bars(memory), is_less_better=True)
    yield answers_chart("estate-once", f"Every name once, {OWN_CORE.words}", found[OWN_CORE][ONCE])
    yield processor_chart("estate-processor", f"Half of the names twice, {SAME_RATE.words}", found[SAME_RATE][TWICE])


def _text_of_loads(loads: Loads) -> Iterator[str]:
    seconds, started = loads.seconds(), {one.server.name: one for one in loads.started}
    yield (
        "The column *Load* means different work for different servers:\n"
        "\n"
        "- our node: a whole import (scan, dry run, checks and history), until all three nodes answer\n"
        "- PowerDNS on MariaDB: `zone2sql --gmysql --transactions` into MariaDB\n"
        "- the others: the start from zone files, until the server answers for zones in all parts of the estate"
    )
    yield (
        "*Start* is the time of a restart. Our node and PowerDNS on MariaDB read no zones then. *Memory* is the "
        "memory of all processes of a server and its database, including mapped files. Memory that processes share "
        "counts once. Most of our node's memory is its mapped LMDB file. The kernel can reuse this memory."
    )
    rows = (
        (display_label(name), seconds[name], one.seconds, one.memory_mb, loads.memory_after_mb[name])
        for name, one in started.items()
    )
    yield table(("Server", "Load, s", "Start, s", "Memory after the start, MiB", "Memory after all queries, MiB"), rows)
    yield (
        f"These figures do not include the agent of our node. The agent uses {loads.imported.agent_mb:.0f} MiB, and "
        f"{loads.imported.agent_core:.1%} of a core while nothing changes."
    )
    yield who_wins("Load", seconds, unit=" s", is_less_better=True)
    starts = {name: one.seconds for name, one in started.items()}
    yield who_wins("Start", starts, unit=" s", is_less_better=True)
    memory = {name: one.memory_mb for name, one in started.items()}
    yield who_wins("Memory after the start", memory, unit=" MiB", is_less_better=True)


def _text(found: Mapping[Load, Shapes]) -> Iterator[str]:
    yield (
        "The next tables compare the answers to three kinds of queries: many times for one name, for every name "
        "once, and for half of the names twice. Caches are empty at the beginning of each measurement. All servers "
        "run at the same time, and dnsperf queries one server after the other. Each server has a thread per core, "
        "even if the server is restricted to one core. PowerDNS on MariaDB and its database then use the same core. "
        "If a server does not reach the fixed rate, dnsperf queries it as fast as it answers."
    )
    yield COLUMNS
    for load, shapes in found.items():
        for shape, of_shape in shapes.items():
            yield f"**{shape.capitalize()}**, {load.words}{' for each server' if load == SAME_RATE else ''}:"
            yield answers_table(of_shape)
            if load == SAME_RATE:
                yield who_computes_least(of_shape)
            else:
                yield who_answers_most(of_shape)
