"""Run a management command as the panel's user, with the environment of the panel's processes.

python -m dnspanel.setup.run_as_panel manage NAME ARGUMENTS
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from dnspanel.setup.errors import CommandFailed
from dnspanel.setup.panel_env import PANEL_ENV, panel_environment

CODE = Path(__file__).resolve().parents[2]
USER = "dnspanel"
# Of the terminal, which a command that asks questions needs.
_KEPT = ("COLUMNS", "LINES", "TERM")


def management_command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", str(CODE / "manage.py"), *words]


def command_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"HOME": "/var/lib/dnspanel", "USER": USER, **kept, **panel_environment()}


def manage(*words: str, stdin: IO[bytes] | int = subprocess.DEVNULL) -> str:
    """Run a management command and return its output. Raise CommandFailed if it fails. Needs root."""
    account = pwd.getpwnam(USER)
    done = subprocess.run(
        management_command(words),
        env=command_environment(),
        cwd=CODE,
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=[],
        stdin=stdin,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CommandFailed(f"manage {words[0]}: " + "\n".join(done.stderr.strip().splitlines()[-5:]))
    return done.stdout.strip()


def main(arguments: Sequence[str]) -> int:
    """Become the panel's user, and then the command. Return 2 for wrong usage, 1 if PANEL_ENV can't be read."""
    match arguments:
        case ["manage", *words]:
            pass
        case _:
            sys.stderr.write(f"{__doc__}")
            return 2
    if not os.access(PANEL_ENV, os.R_OK):
        missing = "Run dnspanel setup first" if os.geteuid() == 0 else "Run this as root"
        sys.stderr.write(f"{missing}: {PANEL_ENV} cannot be read.\n")
        return 1
    environment = command_environment()
    account = pwd.getpwnam(USER)
    if os.geteuid() == 0:
        os.initgroups(USER, account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    os.chdir(CODE)
    command = management_command(words)
    os.execve(command[0], command, environment)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
