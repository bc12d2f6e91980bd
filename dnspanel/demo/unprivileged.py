"""Run a stack as an unprivileged user. PostgreSQL refuses to run as root, and nothing here needs root.

If an ordinary user starts the stack, everything runs as that user. If root starts it, everything runs as the system
user `dnspanel`, which is created if missing and owns only the stack's directories.
"""

import os
import pwd
import subprocess
import sys
from functools import cache
from pathlib import Path

USER = "dnspanel"
CHECKOUT = Path(__file__).resolve().parent.parent.parent

# Tried in this order. The second and third are for a checkout below a directory that other users may not
# enter, such as /root: the user keeps the one capability to read there. Containers often lack the second.
CAPABILITIES = ("", "dac_read_search", "dac_override")


class NoWayIn(Exception):
    """Raised if the unprivileged user can't read the checkout."""

    def __init__(self) -> None:
        super().__init__(
            f"The user {USER} may not enter {CHECKOUT}; move the checkout to where all users may read, such as /srv."
        )


@cache
def account() -> pwd.struct_passwd | None:
    """Return the system user for the stack, and create it if missing. Return None if this process isn't root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        without_login = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"]
        subprocess.run(["/usr/sbin/useradd", "--system", "--user-group", *without_login, USER], check=True)
        return pwd.getpwnam(USER)


@cache
def prefix() -> tuple[str, ...]:
    """Return a command prefix that drops root privileges, or an empty tuple if the process doesn't run as root.

    Raise NoWayIn if the unprivileged user can't read the checkout.
    """
    user = account()
    if user is None:
        return ()
    drop = ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    for capability in CAPABILITIES:
        keep = (f"--inh-caps=-all,+{capability}", f"--ambient-caps=+{capability}") if capability else ()
        command = (*drop, *keep, "--")
        # Through a shell, because setpriv itself still has root's rights when it executes the program.
        probe = [*command, "sh", "-c", '"$0" -c "import dnspanel"', sys.executable]
        if subprocess.run(probe, cwd=CHECKOUT, capture_output=True).returncode == 0:
            return command
    raise NoWayIn


def make_directory(path: Path) -> None:
    """Create the directory and its parents. Only the stack's user can access the directory."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    give(path)


def write(path: Path, text: str) -> None:
    """Write a file that only the stack's user can read. The file is replaced atomically."""
    _replace(path, text.encode(), 0o600)


def write_program(path: Path, content: bytes) -> None:
    """Write a program that only the stack's user can run. The file is replaced atomically."""
    _replace(path, content, 0o700)


def _replace(path: Path, content: bytes, mode: int) -> None:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=mode)
    new.write_bytes(content)
    give(new)
    new.rename(path)


def give(path: Path) -> None:
    """Make the stack's user the owner of the path. Do nothing if the process already runs as that user."""
    user = account()
    if user is not None:
        os.chown(path, user.pw_uid, user.pw_gid)
