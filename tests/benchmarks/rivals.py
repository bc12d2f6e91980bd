"""The load times of PowerDNS's own tools for an estate: zone2sql into PostgreSQL, b2b-migrate into LMDB.

Both read the same zone files through a named.conf. zone2sql uses one transaction per zone and the same durable
PostgreSQL server as the panel. Neither tool has to update nodes, check zones, or keep history.
"""

import subprocess
import time
from pathlib import Path

import psycopg

from tests.dnspanel.transfer.running import MariaDB

DATABASE = "powerdns"

PDNS_CONF = """\
launch=bind,lmdb
bind-config={named_conf}
lmdb-filename={directory}/pdns.lmdb
"""


class RivalFailed(Exception):
    """A PowerDNS tool did not load the estate. The message contains the end of its output."""

    def __init__(self, command: str, output: str) -> None:
        super().__init__(f"{command} failed: {output[-2000:]}")


def zone2sql_seconds(named_conf: Path, *, server: str, records: int) -> float:
    """Load the zones into a new PostgreSQL database with PowerDNS's schema, and return the seconds.

    `server` is a URL without a database.
    """
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    url = f"{server}/{DATABASE}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(rival_schema())
    seconds = _zone2sql_seconds(
        named_conf, "--gpgsql", ["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", url]
    )
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM records").fetchone()
    if found is None or found[0] != records:
        raise RivalFailed("zone2sql | psql", f"{found} records of {records}")
    return seconds


def zone2mariadb_seconds(named_conf: Path, *, server: MariaDB, records: int) -> float:
    """Load the zones into a new MariaDB database with PowerDNS's schema, and return the seconds."""
    server.client(f"CREATE DATABASE {DATABASE}")
    server.client(rival_schema("mysql"), DATABASE)
    client = ["mariadb", f"--socket={server.socket}", "--user=root", DATABASE]
    seconds = _zone2sql_seconds(named_conf, "--gmysql", client)
    found = server.client("SELECT count(*) FROM records", "--skip-column-names", DATABASE).strip()
    if found != str(records):
        raise RivalFailed("zone2sql | mariadb", f"{found} records of {records}")
    return seconds


def _zone2sql_seconds(named_conf: Path, backend: str, client: list[str]) -> float:
    """Return the seconds that the database client needs for zone2sql's output, with one transaction per zone."""
    began = time.monotonic()
    zone2sql = subprocess.Popen(
        ["zone2sql", backend, "--transactions", f"--named-conf={named_conf}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    done = subprocess.run(client, stdin=zone2sql.stdout, capture_output=True, text=True)
    if zone2sql.wait() or done.returncode:
        raise RivalFailed(f"zone2sql | {client[0]}", done.stderr)
    return time.monotonic() - began


def b2b_migrate_seconds(named_conf: Path, *, directory: Path, zones: int) -> float:
    """Migrate the zones from PowerDNS's bind backend into a new LMDB in the directory, and return the seconds."""
    directory.mkdir(parents=True)
    (directory / "pdns.conf").write_text(PDNS_CONF.format(named_conf=named_conf, directory=directory))
    pdnsutil = ["pdnsutil", f"--config-dir={directory}"]
    began = time.monotonic()
    done = subprocess.run([*pdnsutil, "b2b-migrate", "bind", "lmdb"], capture_output=True, text=True)
    seconds = time.monotonic() - began
    if done.returncode:
        raise RivalFailed("pdnsutil b2b-migrate", done.stdout + done.stderr)
    (directory / "pdns.conf").write_text(
        PDNS_CONF.format(named_conf=named_conf, directory=directory).replace("launch=bind,lmdb", "launch=lmdb")
    )
    listed = subprocess.run([*pdnsutil, "list-all-zones"], capture_output=True, text=True).stdout.split()
    if len(listed) != zones:
        raise RivalFailed("pdnsutil b2b-migrate", f"{len(listed)} zones of {zones}")
    return seconds


def rival_schema(kind: str = "pgsql") -> str:
    """Return the SQL of PowerDNS's own tables for PostgreSQL, or for `mysql` or `sqlite3`."""
    return Path(f"/usr/share/pdns-backend-{kind}/schema/schema.{kind}.sql").read_text()
