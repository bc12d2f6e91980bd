"""200 zones and a million questions, 40 % for nonexistent names: dnspanel, PowerDNS on SQLite and BIND.

An attack with random names asks for nonexistent names, against which no answer cache helps.
"""

from functools import partial
from pathlib import Path

from tests.benchmarks import pdns_settings, powerdns_tables, serving
from tests.benchmarks.published import name_servers
from tests.benchmarks.published.charts import display_label
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Result
from tests.benchmarks.published.tables import (
    COLUMNS,
    Found,
    answers_chart,
    answers_table,
    by_lost,
    processor_chart,
    who_answers_most,
    who_computes_least,
)
from tests.benchmarks.serving import RANDOM_SHARE, SAME_RATE, SHARED, Figures, Load, Server
from tests.ports import free_port
from tests.replication.agent.servers import short_directory

ZONES = 200
LONGEST = 600.0  # seconds in total


def run(options: Options) -> Result:
    with short_directory() as sockets:
        competitors = servers(options.directory, sockets)
        measured = _Rounds(options)
        both = serving.in_turns(
            options.rounds, {server.name: partial(measured.measure, server) for server in competitors}
        )
    every = {name: [all_ for all_, _ in rounds] for name, rounds in both.items()}
    rate = {name: [rate for _, rate in rounds] for name, rounds in both.items()}
    return Result(
        title=f"Random names: {ZONES} zones, {options.questions:,} queries",
        purpose="This test shows how a server copes with queries that its caches can't answer, as in an attack with "
        "random subdomains.",
        charts=[
            answers_chart("random-answers", "Random names", every),
            processor_chart("random-processor", f"Random names, {SAME_RATE.words}", rate),
        ],
        text=[
            COLUMNS,
            f"In each round, dnsperf sends {options.questions:,} different queries {SHARED.words}. "
            f"{RANDOM_SHARE:.0%} of the names do not exist:",
            answers_table(every),
            who_answers_most(every),
            _unanswered(every, options.questions * options.rounds),
            f"The same test with other random names, at a fixed rate of {SAME_RATE.words} for each server:",
            answers_table(rate),
            who_computes_least(rate),
        ],
        configurations={server.name: server.configuration for server in competitors},
    )


def _unanswered(found: Found, total: int) -> str:
    """Return a sentence with the share of queries that servers did not answer."""
    lost = [
        f"{display_label(name)} {count:,.0f} ({count / total:.3%})" for name, count in by_lost(found).items() if count
    ]
    return f"Unanswered of {total:,} queries: {', '.join(lost) or 'none'}."


def servers(directory: Path, sockets: Path) -> list[Server]:
    """Return the servers with the same zones. They use one port alternately."""
    port = free_port()
    serving.write_lmdb(directory, ZONES).close()
    ours = pdns_settings.ours(directory / "panel.lmdb", sockets)
    zones = [(serving.zone_name(number), serving.zone_rrsets(number)) for number in range(1, ZONES + 1)]
    powerdns_tables.write_sqlite(directory / "pdns.sqlite", zones)
    backend = {"launch": "gsqlite3", "gsqlite3-database": str(directory / "pdns.sqlite")}
    sqlite = pdns_settings.recommended(backend, sockets)
    statements = name_servers.zone_list(
        name_servers.BIND_ZONE, name_servers.write_zone_files(directory / "zones", ZONES)
    )
    return [
        serving.pdns_server("ours", directory / "ours", ours, port=port),
        serving.pdns_server("PowerDNS on SQLite", directory / "sqlite", sqlite, port=port),
        name_servers.bind(directory / "bind", port=port, zones=statements),
    ]


class _Rounds:
    """The questions of each round."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def measure(self, server: Server, number: int) -> tuple[Figures, Figures]:
        """Measure from the server's start: every question once, then others at a rate that all servers can answer."""
        every, others = (
            self._questions(number, self._options.questions),
            self._questions(-1 - number, serving.QUESTIONS),
        )
        once = Load("each once", once=True)
        with server.running() as processes:
            return (
                serving.dnsperf(processes, server.port, every, seconds=LONGEST, load=once),
                serving.dnsperf(processes, server.port, others, seconds=self._options.seconds, load=SAME_RATE),
            )

    def _questions(self, seed: int, count: int) -> Path:
        path = self._options.directory / f"questions{seed}"
        if not path.exists():
            serving.write_questions(path, zones=ZONES, seed=seed, count=count)
        return path
