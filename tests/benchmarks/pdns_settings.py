"""The settings of pdns_server for comparisons: dnspanel's, PowerDNS's defaults, and those of other backends."""

from pathlib import Path

import psutil
from psycopg.conninfo import conninfo_to_dict

from replication.agent.powerdns.pdnsconf import PdnsSettings, render
from tests.benchmarks.serving import settings_in
from tests.ports import free_port
from tests.replication.panel import MAP_SIZE

CORES = psutil.cpu_count() or 1
# The settings that PowerDNS needs in order to run here. None of them makes it faster or slower.
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
    """Return the settings that the agent writes for a node with this LMDB."""
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
    """Return PowerDNS's default settings, on the same LMDB."""
    return {"launch": "lmdb", "lmdb-shards": "1", "lmdb-filename": str(lmdb), "socket-dir": str(sockets), **MUST}


def recommended(backend: dict[str, str], sockets: Path, *, cores: int = CORES) -> dict[str, str]:
    """Return settings of another backend as https://doc.powerdns.com/authoritative/performance.html advises.

    This is one receiver per core with `reuseport`. Caches keep their defaults. So do the three distributors per
    receiver, which help with backends that must be waited for.
    """
    return {**backend, **MUST, "socket-dir": str(sockets), "receiver-threads": str(cores), "reuseport": "yes"}


def gpgsql(url: str) -> dict[str, str]:
    """Return the settings of the backend for a PostgreSQL database."""
    place = conninfo_to_dict(url)
    words = {"host": "host", "port": "port", "dbname": "dbname", "user": "user", "password": "password"}
    return {"launch": "gpgsql", **{f"gpgsql-{ours}": str(place[theirs]) for ours, theirs in words.items()}}
