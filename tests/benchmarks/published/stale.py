"""A search for stale answers: changes under query load, each queried immediately after the caches were purged.

As published: the change is committed, its name is purged from the caches, and the name is queried at once. dnspanel's
part is `bench_storm`, where the panel reports when all nodes are in sync. The rival follows PowerDNS's documentation
for a database that others write to (https://doc.powerdns.com/authoritative/performance.html#caches-memory-allocations):
three servers with default caches, each purged with `pdns_control purge NAME$`
(https://doc.powerdns.com/authoritative/manpages/pdns_control.1.html) after the commit. Both get the same five kinds of
query, under the same load of dnsperf.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import bench_storm, estate, pdns_settings, powerdns_tables, serving
from tests.benchmarks.bench_storm import Storm
from tests.benchmarks.powerdns_tables import Tables
from tests.benchmarks.published.last_line import last_line
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.result import Bar, Chart, Result
from tests.benchmarks.published.tables import table
from tests.benchmarks.say import say
from tests.benchmarks.serving import Server
from tests.ports import free_port
from tests.replication.agent.servers import short_directory

QPS = 3_000  # maximum for each server
SERVERS = 3
RIVAL = "PowerDNS with SQL and pdns_control purge"
WAYS_COLUMNS = (
    "The rows are the kinds of query:\n"
    "\n"
    "- plain, edns, do: for the name itself, without EDNS, with EDNS, and with EDNS and the DO bit\n"
    "- cname: for a CNAME in the same zone that points to the name\n"
    "- far cname: for such a CNAME in another zone"
)


def run(options: Options) -> Result:
    """Run dnspanel and the rival one after the other, with the same number of changes."""
    result = Result(
        "Stale answers after a change",
        purpose="This test shows whether a node still answers with the old address after a change was published. A "
        "cache that keeps the old answer would make the change invisible for clients.",
    )
    say(f"ours: {options.updates:,} changes")
    ours = last_line("storm", "--updates", str(options.updates), "--qps", str(QPS))
    say(f"{RIVAL}: {options.updates:,} changes")
    with rival(options.directory) as (tables, servers):
        result.configurations[RIVAL] = servers[0].configuration
        theirs = storm(tables, servers, updates=options.updates)
    total = options.updates * SERVERS * len(bench_storm.WAYS)
    result.figures["stale"] = ours["stale"]
    result.text += [
        f"Each of {options.updates:,} changes sets a new address and purges the name from the caches of {SERVERS} "
        f"servers. Then each server gets {len(bench_storm.WAYS)} queries for the name, while dnsperf sends up to "
        f"{QPS:,} queries/s to each server.",
        _summary(ours["stale"], theirs, total),
        WAYS_COLUMNS,
        _by_way(theirs, total // len(bench_storm.WAYS)),
    ]
    result.charts.append(
        Chart(
            name="stale",
            title=f"Stale answers among {total:,} answers, after {options.updates:,} changes",
            unit="answers",
            bars=(Bar("ours", ours["stale"]), Bar(RIVAL, theirs.stale.total())),
            is_less_better=True,
        )
    )
    return result


@contextlib.contextmanager
def rival(directory: Path) -> Iterator[tuple[Tables, list[Server]]]:
    """Start the rival's servers on one PostgreSQL with the storm's zones."""
    with contextlib.ExitStack() as stack:
        tables = stack.enter_context(powerdns_tables.running(directory / "stores"))
        tables.add(estate.storm_zones(bench_storm.NAMES))
        tables.finish()
        sockets = stack.enter_context(short_directory())
        servers = [_server(sockets / f"ns{number}", tables.url) for number in range(1, SERVERS + 1)]
        for server in servers:
            stack.enter_context(server.running())
        yield tables, servers


def _server(directory: Path, url: str) -> Server:
    settings = pdns_settings.recommended(pdns_settings.gpgsql(url), directory, cores=1)
    server = serving.pdns_server(directory.name, directory, settings, port=free_port())
    return replace(server, first=bench_storm.owner(0))


def storm(tables: Tables, servers: Sequence[Server], *, updates: int) -> Storm:
    """Commit a change, purge it on every server and query it, `updates` times."""

    def publish(name: str, address: str) -> None:
        tables.change(zone=estate.STORM_ZONE, name=name, address=address)
        purge(servers, name)

    nodes = [("127.0.0.1", server.port) for server in servers]
    return bench_storm.storm(nodes, publish, updates=updates, qps=QPS)


def purge(servers: Sequence[Server], name: str) -> None:
    """Purge the name and all names below it on every server. Raise RuntimeError if a purge fails."""
    telling = [
        subprocess.Popen(
            ["pdns_control", f"--socket-dir={server.directory}", "purge", f"{name}$"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for server in servers
    ]
    replies = [process.communicate()[0].strip() for process in telling]
    if not all(reply.isdigit() for reply in replies):
        raise RuntimeError(f"pdns_control purge {name}$ said {replies}")


def _summary(ours: int, theirs: Storm, total: int) -> str:
    straight = sum(theirs.stale[way] for way in ("plain", "edns", "do"))
    return (
        f"Of the {total:,} answers of our node, {ours:,} were stale. Of the {total:,} answers of {RIVAL}, "
        f"{theirs.stale.total():,} were stale: {straight:,} answers to queries for the name itself, and "
        f"{theirs.stale.total() - straight:,} to queries through a CNAME. A purge of a name does not remove the "
        "answers for CNAMEs that point to the name. These answers stay in the cache for `cache-ttl`, 20 s by default."
    )


def _by_way(theirs: Storm, each: int) -> str:
    return table((RIVAL, "Answers", "Stale"), [(way, each, theirs.stale[way]) for way in bench_storm.WAYS])
