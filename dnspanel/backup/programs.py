"""Run PostgreSQL's own programs against one database. Passwords are passed in the environment, never in arguments."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.db import connection

from dnspanel.backup.errors import ProgramFailed
from dnspanel.texts import gettext

_INSTALLED = Path("/usr/lib/postgresql")
_ENVIRONMENT = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A database, as connection parameters for libpq."""

    parameters: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.parameters["dbname"]

    def with_name(self, name: str) -> "Target":
        """Return a target for another database on the same server."""
        return Target({**self.parameters, "dbname": name})

    def environment(self) -> dict[str, str]:
        """Return this process's environment with PostgreSQL's variables for this database only."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return others | {_ENVIRONMENT[key]: value for key, value in self.parameters.items()}


def panel_database() -> Target:
    """Return the database that Django uses."""
    parameters: Mapping[str, Any] = connection.get_connection_params()
    return Target({key: str(parameters[key]) for key in _ENVIRONMENT if parameters.get(key)})


def run(
    program: str,
    arguments: Sequence[str],
    target: Target,
    *,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
) -> None:
    """Run the program to its end. Raise ProgramFailed with its stderr if it fails."""
    with start(program, arguments, target, stdin=stdin or subprocess.DEVNULL, stdout=stdout) as process:
        _, stderr = process.communicate()
    refuse_failure(program, process.returncode, stderr)


def start(
    program: str, arguments: Sequence[str], target: Target, *, stdin: IO[bytes] | int, stdout: IO[bytes] | int
) -> "subprocess.Popen[bytes]":
    """Start the program, with stderr as a pipe. Raise ProgramFailed if it is not installed."""
    return subprocess.Popen(
        [_path(program), *arguments], env=target.environment(), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE
    )


def refuse_failure(program: str, returncode: int, stderr: bytes) -> None:
    """Raise ProgramFailed if the program failed, with the last lines of stderr, or else with the exit status."""
    if returncode:
        lines = stderr.decode(errors="replace").strip().splitlines()[-5:]
        raise ProgramFailed(
            program, " ".join(lines) or gettext("failed with exit status {returncode}").format(returncode=returncode)
        )


def _path(program: str) -> str:
    """Return the program's path: the newest version in Debian's PostgreSQL directories, or else the one in PATH.

    Raise ProgramFailed if it is not installed.
    """
    beside = sorted(_INSTALLED.glob(f"*/bin/{program}"), key=lambda path: int(path.parts[-3]))
    found = str(beside[-1]) if beside else shutil.which(program)
    if found is None:
        raise ProgramFailed(program, gettext("program not found (on Debian, install the package postgresql-client)"))
    return found
