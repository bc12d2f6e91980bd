"""The panel's database in this machine's PostgreSQL."""

import subprocess

ROLE = DATABASE = "dnspanel"
# The user of the processes has the same name as the role, so PostgreSQL needs no password (peer authentication).
LOCAL_URL = f"postgresql:///{DATABASE}?host=/run/postgresql"


class NoDatabase(Exception):
    """Raised if PostgreSQL on this machine can't be used. The message explains why."""


def create_database() -> list[str]:
    """Create the missing role and database, and return the names of the created ones.

    Raise NoDatabase if a query or a command fails, for example because PostgreSQL isn't installed or doesn't answer.
    """
    created = []
    if not _query(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):
        _run("createuser", ROLE)
        created.append(f"role {ROLE}")
    if not _query(f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"):
        options = ("--encoding=UTF8", "--locale=C.UTF-8", "--template=template0")
        _run("createdb", f"--owner={ROLE}", *options, DATABASE)
        created.append(f"database {DATABASE}")
    return created


def _query(statement: str) -> str:
    return _run("psql", "--no-psqlrc", "--tuples-only", "--no-align", f"--command={statement}", "postgres")


def _run(*command: str) -> str:
    done = subprocess.run(
        ["runuser", "-u", "postgres", "--", *command], cwd="/", capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise NoDatabase(
            f"PostgreSQL on this machine: {done.stderr.strip()}\nInstall it with: apt install postgresql. "
            "Or give the URL of another server."
        )
    return done.stdout.strip()
