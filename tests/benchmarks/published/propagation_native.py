"""PowerDNS's native replication: the database is replicated, and PowerDNS takes no part in this.

One PostgreSQL gets the changes. Three others follow it by streaming replication, each with a pdns_server that reads
from it. A standby replays only changes that it has flushed to its own disk, so a node that answers with a change has it
safely stored. https://doc.powerdns.com/authoritative/modes-of-operation.html#native-replication,
https://www.postgresql.org/docs/15/warm-standby.html#STREAMING-REPLICATION
"""

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dnspanel.demo import unprivileged
from dnspanel.demo.stores import postgres_programs
from replication.agent.updates.purge import ControlSocket
from tests.benchmarks import pdns_settings, serving
from tests.benchmarks.powerdns_tables import Tables
from tests.benchmarks.published.fleets import NODES, Fleet
from tests.benchmarks.published.propagation_estate import Estate
from tests.benchmarks.serving import Server
from tests.ports import free_port

START_SECONDS = 120
_HAS_REPLAYED = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"


class Native:
    """Three standbys of the estate's PostgreSQL, which run until the end of the context."""

    def __init__(self, estate: Estate, standby_urls: list[str], sockets: Path) -> None:
        self.configuration: dict[str, str] = {}
        self._estate, self._urls, self._sockets = estate, standby_urls, sockets
        self._numbers = count(1)

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
    def fleet(self, label: str, caches: Mapping[str, str], *, is_purged: bool = False) -> Iterator[Fleet]:
        """Start a pdns_server on each standby, with these cache settings.

        If `is_purged`, each server purges a changed name as soon as its standby has replayed the change. Otherwise,
        servers notice a change only when their caches expire.
        """
        servers = [self._server(f"native{next(self._numbers)}", url, caches) for url in self._urls]
        self.configuration[label] = servers[0].configuration
        with contextlib.ExitStack() as stack:
            for server in servers:
                stack.enter_context(server.running())
            nodes = [
                (stack.enter_context(psycopg.connect(url, autocommit=True)), _control_socket(server))
                for url, server in zip(self._urls, servers, strict=True)
            ]

            def change_and_purge(zone: str, address: str) -> None:
                self._change(zone, address)
                self._purge_when_replayed(f"www.{zone}", nodes)

            yield Fleet(
                label=label,
                nodes=[("127.0.0.1", server.port) for server in servers],
                change=change_and_purge if is_purged else self._change,
                bytes_sent=self._estate.tables.wal_sent,
            )

    def _change(self, zone: str, address: str) -> None:
        self._estate.tables.change(zone=zone, name=f"www.{zone}", address=address)

    def _purge_when_replayed(self, name: str, nodes: Sequence[tuple[psycopg.Connection, ControlSocket]]) -> None:
        """Poll each standby until it has replayed the change, and purge its server at once, even if others are late."""
        wanted = self._estate.tables.wal_position()
        late = list(nodes)
        while late:
            for node in list(late):
                standby, control = node
                if standby.execute(_HAS_REPLAYED, [wanted]).fetchone() == (True,):
                    control.send(f"purge {name}")
                    late.remove(node)

    def _server(self, name: str, url: str, caches: Mapping[str, str]) -> Server:
        directory = self._sockets / name
        settings = pdns_settings.recommended(pdns_settings.gpgsql(url), directory, cores=1) | dict(caches)
        server = serving.pdns_server(name, directory, settings, port=free_port())
        return replace(server, first=f"www.{self._estate.zones[0]}")


def _control_socket(server: Server) -> ControlSocket:
    return ControlSocket(str(server.directory / "pdns.controlsocket"))


@contextlib.contextmanager
def standby(tables: Tables, cluster: Path) -> Iterator[str]:
    """Make a standby of the cluster and yield its URL."""
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
        process.send_signal(signal.SIGINT)  # a fast shutdown, in PostgreSQL's terms
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
