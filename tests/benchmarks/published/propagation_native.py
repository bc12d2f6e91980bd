"""PowerDNS's native replication: the database replicates, and PowerDNS knows nothing of it.

One PostgreSQL gets the changes, three others follow it by streaming replication, and each has a pdns_server that reads
from it. https://doc.powerdns.com/authoritative/modes-of-operation.html#native-replication,
https://www.postgresql.org/docs/15/warm-standby.html#STREAMING-REPLICATION
"""

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dnspanel.demo import unprivileged
from dnspanel.demo.stores import postgres_programs
from tests.benchmarks import pdns_settings, serving
from tests.benchmarks.powerdns_tables import Tables
from tests.benchmarks.published.fleets import NODES, Fleet
from tests.benchmarks.published.propagation_estate import Estate
from tests.benchmarks.serving import Server
from tests.ports import free_port

START_SECONDS = 120


class Native:
    """Three standbys of the estate's PostgreSQL, which run until the context ends."""

    def __init__(self, estate: Estate, standby_urls: list[str], sockets: Path) -> None:
        self.configuration = ""
        self._estate, self._urls, self._sockets = estate, standby_urls, sockets

    @classmethod
    @contextlib.contextmanager
    def running(cls, estate: Estate, sockets: Path) -> Iterator["Native"]:
        directory = estate.directory / "standbys"
        unprivileged.make_directory(directory)
        with contextlib.ExitStack() as stack:
            urls = [stack.enter_context(standby(estate.tables, directory / f"s{one}")) for one in range(NODES)]
            stack.callback(_remove, directory)
            yield cls(estate, urls, sockets)

    @contextlib.contextmanager
    def fleet(self, label: str, caches: Mapping[str, str]) -> Iterator[Fleet]:
        """A pdns_server on each, with these settings of its caches."""
        servers = [self._server(number, url, caches) for number, url in enumerate(self._urls, 1)]
        self.configuration = servers[0].configuration
        tables = self._estate.tables
        with contextlib.ExitStack() as stack:
            for server in servers:
                stack.enter_context(server.running())
            yield Fleet(
                label=label,
                nodes=[("127.0.0.1", server.port) for server in servers],
                change=lambda zone, address: tables.change(zone=zone, name=f"www.{zone}", address=address),
                bytes_sent=tables.wal_sent,
            )

    def _server(self, number: int, url: str, caches: Mapping[str, str]) -> Server:
        directory = self._sockets / f"native{number}"
        settings = pdns_settings.recommended(pdns_settings.gpgsql(url), directory, cores=1) | dict(caches)
        server = serving.pdns_server(directory.name, directory, settings, port=free_port())
        return replace(server, first=f"www.{self._estate.zones[0]}")


@contextlib.contextmanager
def standby(tables: Tables, cluster: Path) -> Iterator[str]:
    """A copy of the cluster that follows it; yields its URL."""
    program, url = postgres_programs(), make_conninfo(tables.url, port=free_port())
    copy = ["--pgdata", str(cluster), "--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast"]
    subprocess.run(
        [*unprivileged.prefix(), str(program / "pg_basebackup"), *copy, "--no-sync", "--dbname", tables.url],
        cwd=cluster.parent,
        check=True,
    )
    port = conninfo_to_dict(url)["port"]
    with (cluster.parent / f"{cluster.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*unprivileged.prefix(), str(program / "postgres"), "-D", str(cluster), "-p", str(port)],
            cwd=cluster.parent,
            stdout=log,
            stderr=log,
        )
    try:
        _until_it_answers(url)
        yield url
    finally:
        process.send_signal(signal.SIGINT)  # what PostgreSQL calls a fast shutdown
        process.wait()


def _until_it_answers(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(url, connect_timeout=2):
                return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _remove(directory: Path) -> None:
    subprocess.run(["rm", "-rf", str(directory)], check=True)
