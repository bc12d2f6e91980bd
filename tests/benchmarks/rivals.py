"""How long PowerDNS's own tools take to load an estate: zone2sql into PostgreSQL, b2b-migrate into LMDB.

Both read the same zone files through a named.conf. zone2sql gets one
transaction per zone and the same durable PostgreSQL server that the panel
uses; neither has to bring anything to a node, check zones, or keep history.
"""

import gzip
import subprocess
import time
from pathlib import Path

import psycopg

SCHEMA = Path("/usr/share/doc/pdns-backend-pgsql/schema.pgsql.sql")
DATABASE = "powerdns"

PDNS_CONF = """\
launch=bind,lmdb
bind-config={named_conf}
lmdb-filename={directory}/pdns.lmdb
"""


class RivalFailed(Exception):
    """A tool of PowerDNS did not load the estate; `output` is the end of what it printed."""

    def __init__(self, command: str, output: str) -> None:
        super().__init__(f"{command} failed: {output[-2000:]}")


def zone2sql_seconds(named_conf: Path, *, server: str, records: int) -> float:
    """Load the zones into a new database of the PostgreSQL server (a URL without database), with PowerDNS's schema."""
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    url = f"{server}/{DATABASE}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(rival_schema())
    began = time.monotonic()
    zone2sql = subprocess.Popen(
        ["zone2sql", "--gpgsql", "--transactions", f"--named-conf={named_conf}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    psql = subprocess.run(
        ["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", url],
        stdin=zone2sql.stdout,
        capture_output=True,
        text=True,
    )
    if zone2sql.wait() or psql.returncode:
        raise RivalFailed("zone2sql | psql", psql.stderr)
    seconds = time.monotonic() - began
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM records").fetchone()
    if found is None or found[0] != records:
        raise RivalFailed("zone2sql | psql", f"{found} records of {records}")
    return seconds


def b2b_migrate_seconds(named_conf: Path, *, directory: Path, zones: int) -> float:
    """Migrate the zones from PowerDNS's bind backend into a new LMDB in the directory."""
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


def rival_schema() -> str:
    """PowerDNS's own tables for PostgreSQL."""
    packed = SCHEMA.with_name(f"{SCHEMA.name}.gz")
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else SCHEMA.read_text()
