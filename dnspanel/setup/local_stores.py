"""The panel's stores on this machine: a database in its PostgreSQL, and a Redis of its own."""

import subprocess
from pathlib import Path

from dnspanel.setup.errors import SetupFailed
from dnspanel.setup.system_units import start_units, systemctl

ROLE = DATABASE = "dnspanel"
# The user of the processes has the same name as the role, so PostgreSQL needs no password (peer authentication).
LOCAL_URL = f"postgresql:///{DATABASE}?host=/run/postgresql"

# The socket of LOCAL_REDIS in `setup_answers`.
_REDIS = "redis-server@dnspanel.service"
_REDIS_FILES = {
    Path("/etc/redis/redis-dnspanel.conf"): """\
# Written by dnspanel setup if it is missing. Only processes of the group dnspanel can open the socket.
port 0
unixsocket /run/redis-dnspanel/redis-server.sock
unixsocketperm 770
pidfile /run/redis-dnspanel/redis-server.pid
dir /var/lib/redis
dbfilename dnspanel.rdb
save 300 1
maxmemory 256mb
maxmemory-policy noeviction
""",
    # Debian's unit runs the instance as redis:redis.
    Path(f"/etc/systemd/system/{_REDIS}.d/dnspanel.conf"): """\
# Written by dnspanel setup if it is missing.
[Unit]
Before=dnspanel@web.service
[Service]
Group=dnspanel
""",
}


def create_database() -> list[str]:
    """Create the missing role and database, and return the names of the created ones.

    Raise SetupFailed if a query or a command fails, for example because PostgreSQL isn't installed or doesn't answer.
    """
    created = []
    if not _query(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):
        _run("createuser", "--createdb", ROLE)  # for temporary databases of `backup_drill`
        created.append(f"role {ROLE}")
    if not _query(f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"):
        options = ("--encoding=UTF8", "--locale=C.UTF-8", "--template=template0")
        _run("createdb", f"--owner={ROLE}", *options, DATABASE)
        created.append(f"database {DATABASE}")
    return created


def create_redis() -> list[str]:
    """Make and start a Redis that only the panel's processes can use. Return what was done.

    Raise SetupFailed if Redis isn't installed or doesn't start.
    """
    if not Path("/usr/bin/redis-server").exists():
        raise SetupFailed("Redis is not installed: apt install redis-server. Or enter the URL of another server.")
    written = [path for path in _REDIS_FILES if not path.exists()]
    for path in written:
        path.parent.mkdir(exist_ok=True)
        path.write_text(_REDIS_FILES[path])
        path.chmod(0o644)
    if written:
        systemctl("daemon-reload")
        systemctl("try-restart", _REDIS)
    return [*map(str, written), *start_units(_REDIS)]


def _query(statement: str) -> str:
    return _run("psql", "--no-psqlrc", "--tuples-only", "--no-align", f"--command={statement}", "postgres")


def _run(*command: str) -> str:
    done = subprocess.run(
        ["runuser", "-u", "postgres", "--", *command], cwd="/", capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise SetupFailed(
            f"PostgreSQL on this machine: {done.stderr.strip()}\nInstall it with: apt install postgresql. "
            "Or give the URL of another server."
        )
    return done.stdout.strip()
