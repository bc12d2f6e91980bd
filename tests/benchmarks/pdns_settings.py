"""The settings of pdns_server for comparisons: ours, PowerDNS's defaults, and other backends beside them."""

from pathlib import Path

import psutil
from psycopg.conninfo import conninfo_to_dict

from replication.agent.powerdns.pdnsconf import PdnsSettings, render
from tests.benchmarks.serving import settings_in
from tests.ports import free_port
from tests.replication.panel import MAP_SIZE

CORES = psutil.cpu_count() or 1
# What PowerDNS must be told to run here at all; nothing that makes it faster or slower.
MUST = {
    "local-address": "127.0.0.1",
    "daemon": "no",
    "guardian": "no",
    "write-pid": "no",
    "disable-syslog": "yes",
    "security-poll-suffix": "",
    "loglevel": "3",
}


def ours(lmdb: Path, sockets: Path, *, cores: int = CORES, map_size: int = MAP_SIZE) -> dict[str, str]:
    """Return what the agent writes for a node whose LMDB this is."""
    settings = PdnsSettings(
        schema=4,
        lmdb_path=str(lmdb),
        socket_dir=str(sockets),
        addresses=("127.0.0.1",),
        cores=cores,
        api_port=free_port(),
        api_key="bench",
        map_size=map_size,
    )
    return settings_in(render(settings))


def defaults(lmdb: Path, sockets: Path) -> dict[str, str]:
    """Return PowerDNS's own settings, on the same LMDB."""
    return {"launch": "lmdb", "lmdb-shards": "1", "lmdb-filename": str(lmdb), "socket-dir": str(sockets), **MUST}


def recommended(backend: dict[str, str], sockets: Path, *, cores: int = CORES) -> dict[str, str]:
    """Return settings of another backend as https://doc.powerdns.com/authoritative/performance.html advises.

    That is, with `reuseport` a receiver per core. Caches are as by default, and so are the three distributors of
    each receiver, which pay where a backend has to be waited for.
    """
    return {**backend, **MUST, "socket-dir": str(sockets), "receiver-threads": str(cores), "reuseport": "yes"}


def gpgsql(url: str) -> dict[str, str]:
    """Return the backend for a PostgreSQL database."""
    place = conninfo_to_dict(url)
    words = {"host": "host", "port": "port", "dbname": "dbname", "user": "user", "password": "password"}
    return {"launch": "gpgsql", **{f"gpgsql-{ours}": str(place[theirs]) for ours, theirs in words.items()}}
