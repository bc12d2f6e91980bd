"""Many client addresses and ports, with and without query logging: dnspanel and BIND 9.18, and pdns.conf by line.

Published for BIND 9.18: the cost of a query log, in a file and as dnstap
(https://www.cavellaservices.com/blogs/post/Impact-of-enabling-querylogging-on-BIND). PowerDNS has no dnstap. Its log
goes to standard error, here to a file.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.benchmarks import serving
from tests.benchmarks.bench_serve import Bench, LineCost
from tests.benchmarks.published import name_servers
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Result
from tests.benchmarks.published.tables import (
    COLUMNS,
    Found,
    answers_chart,
    answers_table,
    by_lost,
    processor_chart,
    table,
    who_answers_most,
    who_computes_least,
    who_wins,
)
from tests.benchmarks.serving import CLIENTS, OWN_CORE, QUESTIONS, RANDOM_SHARE, SAME_RATE, Figures, Load, Server

ADDRESSES = 8
# Even without answers, because dnsperf gives up on a question after two seconds.
FLOOD_RATE = 60_000
FLOOD = Load(
    f"{FLOOD_RATE:,} queries/s whether answered or not, on its own core",
    rate=FLOOD_RATE,
    apart=True,
    outstanding=3 * FLOOD_RATE,
)
LOADS = (SAME_RATE, OWN_CORE, FLOOD)
WARM_SECONDS = 3.0
FEW_QUESTIONS = QUESTIONS // ADDRESSES // 2  # for one address under one load
LINE_SECONDS = 1.5  # for one of the sixty measurements of configuration lines in a round
# Buffered, because the manual says that this saves I/O operations:
# https://bind9.readthedocs.io/en/v9.18/reference.html#namedconf-statement-buffered
LOG_FILE = 'channel queries {{ file "{directory}/queries.log"; buffered yes; }}; category queries {{ queries; }};'
DNSTAP = 'dnstap {{ auth query; }}; dnstap-output file "{directory}/queries.dnstap";'


def run(options: Options) -> Result:
    clients = _Clients(options)
    bench = Bench(zones=options.backend_zones, rounds=options.rounds, seconds=min(options.seconds, LINE_SECONDS))
    with bench.prepared():
        competitors = servers(bench, options.directory)
        turns = serving.in_turns(options.rounds, {one.name: partial(clients.measure, one) for one in competitors})
        lines = bench.lines()
    found = {load: {name: [of[load] for of in rounds] for name, rounds in turns.items()} for load in LOADS}
    return Result(
        title=f"Many clients, with and without a log of queries, {options.backend_zones:,} zones",
        purpose="This test shows how well a server answers many clients at the same time, and what a query log costs.",
        charts=[
            answers_chart("many-clients-answers", f"Many clients, {OWN_CORE.words}", found[OWN_CORE]),
            processor_chart("many-clients-processor", f"Many clients, {SAME_RATE.words}", found[SAME_RATE]),
        ],
        text=[*_text(found), *_text_of_lines(lines)],
        configurations={server.name: server.configuration for server in competitors},
    )


def servers(bench: Bench, directory: Path) -> list[Server]:
    """Return dnspanel's server without and with a log, and BIND without a log, with a file and with dnstap.

    Each server has one thread per core.
    """
    zones = name_servers.zone_list(
        name_servers.BIND_ZONE, name_servers.write_zone_files(directory / "zones", bench.zones)
    )

    def bind(name: str, **lines: str) -> Server:
        place = directory / name.replace(" ", "-")
        more = {key: line.format(directory=place) for key, line in lines.items()}
        return name_servers.bind(place, port=bench.port, zones=zones, name=name, **more)

    return [
        bench.server("ours", bench.ours()),
        bench.server("ours, logging to a file", bench.ours(**{"log-dns-queries": "yes", "loglevel": "5"})),
        bind("BIND"),
        bind("BIND, logging to a file", options="querylog yes;", logging=LOG_FILE),
        bind("BIND, dnstap", options=DNSTAP),
    ]


class _Clients:
    """Several client addresses with many ports each, and the questions of each address in each round."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def measure(self, server: Server, number: int) -> dict[Load, Figures]:
        """Measure the server with warm caches under each load, one load after another."""
        with server.running() as processes:
            found = {}
            serving.dnsperf(processes, server.port, *self._questions(-1), seconds=WARM_SECONDS)
            for load, files in zip(LOADS, self._questions_by_load(number), strict=True):
                if load.apart:
                    processes.stay_on(serving.SERVER_CORE)
                seconds = self._options.seconds
                found[load] = serving.dnsperf(processes, server.port, *files, seconds=seconds, load=load)
        return found

    def _questions_by_load(self, number: int) -> Iterator[list[Path]]:
        """Yield the files of questions for each load. A nonexistent name occurs only once while a server runs."""
        return (self._questions(number * len(LOADS) + load) for load in range(len(LOADS)))

    def _questions(self, number: int) -> list[Path]:
        return [self._file(number * ADDRESSES + address) for address in range(ADDRESSES)]

    def _file(self, seed: int) -> Path:
        path = self._options.directory / f"questions{seed}"
        if not path.exists():
            zones = self._options.backend_zones
            serving.write_questions(path, zones=zones, seed=seed, count=FEW_QUESTIONS)
        return path


def _text(found: dict[Load, Found]) -> Iterator[str]:
    yield (
        f"dnsperf sends queries from {ADDRESSES} client addresses with {CLIENTS} ports each. {RANDOM_SHARE:.0%} of "
        "the names do not exist. Each server has a thread and a socket per core (`reuseport`), even if the server is "
        "restricted to one core."
    )
    yield COLUMNS
    for load, of_load in found.items():
        yield f"{load.words[0].upper()}{load.words[1:]}:"
        yield answers_table(of_load)
        for log, logs in ((" without a log", False), (" with a log", True)):
            alike = {
                name.removeprefix("ours, logging to a file") or "ours": rounds
                for name, rounds in of_load.items()
                if ("," in name) == logs
            }
            yield _winner(load, alike, log)


def _winner(load: Load, alike: Found, log: str) -> str:
    if load == OWN_CORE:
        return who_answers_most(alike, log)
    if load == SAME_RATE:
        return who_computes_least(alike, log)
    return who_wins(f"Unanswered queries{log}", by_lost(alike), is_less_better=True)


def _text_of_lines(lines: list[LineCost]) -> Iterator[str]:
    yield (
        "The last table shows what each line of our node's configuration saves: the processor time per answer "
        f"without the line, divided by the time with all lines, at {SAME_RATE.words}. Above 1, the line saves "
        "processor time. *Cold* is measured from the server's start, and *Warm* after most names were queried "
        "before. A difference from 1 of less than 0.05 is noise."
    )
    yield table(("Without", "Cold", "Warm"), ((f"`{line.name}={line.value}`", line.cold, line.warm) for line in lines))
