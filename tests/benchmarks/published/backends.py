"""PowerDNS on LMDB against PowerDNS on PostgreSQL: the published comparison of backends, with 10,000 zones.

The published results are 95,000 answers a second on LMDB and 18,000 on PostgreSQL.
"""

from tests.benchmarks import serving
from tests.benchmarks.bench_serve import Bench
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Result
from tests.benchmarks.published.tables import (
    COLUMNS,
    Found,
    answers_chart,
    answers_table,
    processor_chart,
    who_answers_most,
)
from tests.benchmarks.serving import RANDOM_SHARE, SHARED

STATES = {"off": "with the packet cache and both query caches off", "on": "with caches on and warm"}


def run(options: Options) -> Result:
    bench = Bench(zones=options.backend_zones, rounds=options.rounds, seconds=options.seconds)
    with bench.prepared():
        servers = bench.backend_servers()
        found = bench.in_turns(servers, warm=True)
    ours_off, pgsql_off, *_ = found.values()
    return Result(
        title=f"LMDB against PostgreSQL, {options.backend_zones:,} zones",
        figures={"lmdb_vs_pgsql_uncached": serving.ratio(ours_off, pgsql_off, "qps")},
        charts=[
            answers_chart("backends-answers", "LMDB against PostgreSQL", found),
            processor_chart("backends-processor", "LMDB against PostgreSQL", found),
        ],
        purpose="This test shows how much faster PowerDNS answers if its zones are in LMDB, as on our nodes, "
        "instead of PostgreSQL. The published results are 95,000 answers per second with LMDB and 18,000 with "
        "PostgreSQL, a ratio of 5.3.",
        text=[
            f"dnsperf sends queries {SHARED.words}. {RANDOM_SHARE:.0%} of the names do not exist, and each of these "
            "names occurs only once. The processor time of PowerDNS on PostgreSQL includes PostgreSQL.",
            COLUMNS,
            answers_table(found),
            *(_winner(found, state) for state in STATES),
        ],
        configurations={server.name: server.configuration for server in servers},
    )


def _winner(found: Found, state: str) -> str:
    end = f", caches {state}"
    alike = {name.removesuffix(end): rounds for name, rounds in found.items() if name.endswith(end)}
    return who_answers_most(alike, f" {STATES[state]}")
