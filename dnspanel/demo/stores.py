"""Run the private PostgreSQL and Redis of a stack, on loopback only, with generated passwords."""

import contextlib
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from dnspanel.demo import unprivileged
from dnspanel.demo.ports import LOOPBACK
from dnspanel.demo.supervision import last_lines

POSTGRES_PROGRAMS = Path("/usr/lib/postgresql")
DATABASE = USER = "panel"
STORE_NAMES = {"postgres": "PostgreSQL", "redis": "Redis"}

# `durable` decides whether a commit waits for the disk: yes wherever people's edits are kept. A bulk import writes
# gigabytes of WAL: files that are not zeroed first are written once, and pages are logged whole once per checkpoint.
# During an import, neither queries nor autovacuum should take a core from the import or the name servers.
POSTGRES_CONF = """\
# Written at each start.
listen_addresses = '{host}'
port = {port}
unix_socket_directories = ''
password_encryption = scram-sha-256
max_connections = 100
shared_buffers = 512MB
work_mem = 16MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
checkpoint_timeout = 15min
wal_init_zero = off
max_parallel_workers_per_gather = 0
autovacuum_naptime = 3min
random_page_cost = 1.1
fsync = {durable}
synchronous_commit = {durable}
full_page_writes = {durable}
log_timezone = UTC
timezone = UTC
"""

# Everything in Redis may be lost (hints and the last hour's numbers), so it is saved now and then, not at each write.
REDIS_CONF = """\
# Written at each start.
bind {host}
port {port}
requirepass {password}
dir {directory}
daemonize no
save 300 1
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
"""


class StoreNotReady(Exception):
    """Raised if PostgreSQL or Redis didn't respond in time."""

    def __init__(self, *, name: str, log: Path, cause: str) -> None:
        super().__init__("\n".join([f"{name} does not answer ({cause}). The end of {log}:", *last_lines(log)]))


def postgres_programs() -> Path:
    """Return the program directory of the newest installed PostgreSQL. Raise FileNotFoundError if none is installed."""
    found = sorted(POSTGRES_PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise FileNotFoundError(f"PostgreSQL is not installed: {POSTGRES_PROGRAMS}/*/bin/initdb is missing.")
    return found[-1].parent


@dataclass(frozen=True, slots=True)
class Stores:
    """The directory, ports and passwords of a stack's PostgreSQL and Redis."""

    directory: Path
    postgres_port: int
    redis_port: int
    durable: bool

    @property
    def database_url(self) -> str:
        return f"postgresql://{USER}:{self._secret('postgres-password')}@{LOOPBACK}:{self.postgres_port}/{DATABASE}"

    @property
    def redis_url(self) -> str:
        return f"redis://:{self._secret('redis-password')}@{LOOPBACK}:{self.redis_port}/0"

    @property
    def has_cluster(self) -> bool:
        """True if the stack's PostgreSQL cluster exists."""
        return (self.directory / "postgres" / "PG_VERSION").exists()

    def keep_passwords(self) -> None:
        """Create the passwords of both stores if they are missing."""
        for name in ("postgres-password", "redis-password"):
            keep_secret(self._secret_file(name), lambda: secrets.token_urlsafe(32))

    def prepare(self) -> None:
        """Create the cluster if it is missing, and write both configurations. The passwords must exist."""
        cluster = self.directory / "postgres"
        if not self.has_cluster:
            self._init_cluster(cluster)
        conf = POSTGRES_CONF.format(host=LOOPBACK, port=self.postgres_port, durable="on" if self.durable else "off")
        unprivileged.write(cluster / "stack.conf", conf)
        redis_directory = self.directory / "redis"
        unprivileged.make_directory(redis_directory)
        conf = REDIS_CONF.format(
            host=LOOPBACK, port=self.redis_port, password=self._secret("redis-password"), directory=redis_directory
        )
        unprivileged.write(redis_directory / "redis.conf", conf)

    def wait(self, *, seconds: float, logs: Path) -> None:
        """Wait until both stores respond and the database exists. Raise StoreNotReady after `seconds` seconds."""
        deadline = time.monotonic() + seconds
        for name, faults in (("postgres", self.postgres_fault), ("redis", self.redis_fault)):
            while fault := faults():
                if time.monotonic() > deadline:
                    raise StoreNotReady(name=STORE_NAMES[name], log=logs / f"{name}.log", cause=fault)
                time.sleep(0.1)

    def postgres_fault(self) -> str:
        """Create the database if it is missing. Return an error message if PostgreSQL doesn't respond, else ""."""
        return _fault_of(self._ensure_database, psycopg.Error)

    def redis_fault(self) -> str:
        """Return an error message if Redis doesn't respond, else ""."""
        return _fault_of(self._ping_redis, redis.RedisError)

    def _init_cluster(self, cluster: Path) -> None:
        """Create the cluster under another name, then rename it, so that no partial cluster gets the final name."""
        half = cluster.with_name("postgres.new")
        subprocess.run([*unprivileged.prefix(), "rm", "-rf", str(half)], check=True)
        initdb = [str(postgres_programs() / "initdb"), "--pgdata", str(half), "--no-sync"]
        owner = ["--username", USER, "--pwfile", str(self._secret_file("postgres-password"))]
        rules = ["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8"]
        command = [*unprivileged.prefix(), *initdb, *owner, *rules]
        subprocess.run(command, check=True, capture_output=True, cwd=self.directory)
        with (half / "postgresql.conf").open("a") as conf:
            conf.write("\ninclude 'stack.conf'\n")
        half.rename(cluster)

    def _ensure_database(self) -> None:
        server = self.database_url.rpartition("/")[0] + "/postgres"
        with psycopg.connect(server, autocommit=True, connect_timeout=2) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if known is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _ping_redis(self) -> None:
        with contextlib.closing(redis.Redis.from_url(self.redis_url, socket_timeout=2)) as client:
            client.ping()

    def _secret_file(self, name: str) -> Path:
        return self.directory / "secrets" / name

    def _secret(self, name: str) -> str:
        return self._secret_file(name).read_text()


def keep_secret(path: Path, make: Callable[[], str]) -> None:
    """Create the file with a new secret if it is missing. Only the stack's user can read it."""
    if not path.exists():
        unprivileged.make_directory(path.parent)
        unprivileged.write(path, make())


def _fault_of(step: Callable[[], None], error: type[Exception]) -> str:
    try:
        step()
    except error as exc:
        return str(exc).strip() or type(exc).__name__
    return ""
