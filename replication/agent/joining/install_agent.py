"""Steps of `join` for nodes and fronts: options, checks, files and systemd units, and the start of the units."""

import argparse
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field
from importlib import resources
from pathlib import Path
from typing import Any

from replication.agent.agent_config import format_toml
from replication.errors import Permanent
from replication.wire.enrolment import JoinSettings, Role

Say = Callable[[str], None]


class CannotJoin(Permanent):
    """The server can't join in its current state. `faults` lists all reasons."""

    def __init__(self, *, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def add_options(parser: argparse.ArgumentParser, fields: "Mapping[str, Field[Any]]", texts: Mapping[str, str]) -> None:
    """Add a command-line option for each field in `texts`. The help shows the default 0 as "the value in the panel"."""
    for field, text in texts.items():
        default = fields[field].default
        displayed = default or ("the value in the panel" if isinstance(default, int) else "none")
        option = "--" + field.replace("_", "-")
        parser.add_argument(option, type=type(default), default=default, help=f"{text}; default: {displayed}")


def refuse_contradictions(settings: JoinSettings, *, program: str, given: Mapping[str, tuple[object, object]]) -> None:
    """Raise CannotJoin if the panel's settings contradict this server's program or the typed options.

    `given` maps each option to the typed value (empty or 0 if the option was omitted) and the panel's value.
    """
    if (settings.role == Role.FRONT) != (program == "dnspanel-front"):
        other = "dnspanel-front" if settings.role == Role.FRONT else "dnspanel-agent"
        raise CannotJoin(faults=[f"The panel has this server as a {settings.role}: run `{other} join` there."])
    faults = [
        f"{option} says {typed}, and the panel has {known}. Leave the option out, or correct the node in the panel."
        for option, (typed, known) in given.items()
        if typed and typed != known
    ]
    if faults:
        raise CannotJoin(faults=faults)


def describe_differences(path: Path, values: Mapping[str, tuple[object, object]], say: Say) -> None:
    """Print the values of an existing configuration that differ from the panel's. Don't overwrite the file."""
    for name, (written, known) in values.items():
        if written != known:
            say(f"{path} has {name} = {written}, and the panel has {known}. Change the file, then run this again.")


def refuse_unfit(*, user: str, program: str, packages: str) -> None:
    """Raise CannotJoin if the program can't be set up on this server.

    The program and its user must exist, and this process must run as root or as that user.
    """
    faults = []
    account = None
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        faults.append(f"There is no user {user}; on Debian: apt install {packages}.")
    if os.geteuid() != 0 and (account is None or account.pw_uid != os.geteuid()):
        faults.append("Run this as root: it writes units, and files for the user that the program runs as.")
    if shutil.which(program) is None:
        faults.append(f"{program} is not installed; on Debian: apt install {packages}.")
    if faults:
        raise CannotJoin(faults=faults)


def make_directories(directory: Path, names: Iterable[str], *, config: Path, user: str) -> None:
    """Create the directory and its subdirectories, and the configuration's directory.

    Only the user has access to the directory and its subdirectories.
    """
    for path in (directory, *(directory / name for name in names)):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    give(directory, user)
    config.parent.mkdir(mode=0o755, parents=True, exist_ok=True)


def write_for(user: str, path: Path, text: str) -> None:
    """Write a file that only the user can read. Rename the complete file into place."""
    partial = path.with_name(path.name + ".part")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    give(partial, user)
    partial.replace(path)


def write_config(user: str, path: Path, values: Mapping[str, str | int | bool | Sequence[str]]) -> None:
    """Write the configuration, unless its file exists, to keep the operator's changes."""
    if not path.exists():
        write_for(user, path, format_toml(values))


def give(path: Path, user: str) -> None:
    """Make the user the owner of the path and everything below it."""
    account = pwd.getpwnam(user)
    for each in (path, *(path.rglob("*") if path.is_dir() else ())):
        os.chown(each, account.pw_uid, account.pw_gid, follow_symlinks=False)


def write_unit_files(package: str, files: Mapping[Path, str], values: Mapping[str, str]) -> None:
    """Write each file from its template in the package's `units` directory, with these values filled in."""
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(resources.files(package).joinpath("units", template).read_text().format(**values))


def start(units: tuple[str, ...], say: Say, *, running: str, otherwise: str, waits: bool = True) -> None:
    """Enable the units at boot, restart them, and print `running`. If systemd isn't running, only print `otherwise`.

    Raise CannotJoin if systemctl fails. If `waits` is False, don't wait for the start, because systemd retries it.
    """
    if not Path("/run/systemd/system").is_dir():
        say(f"systemd does not run here. {otherwise}")
        return
    restart = ["restart", *units] if waits else ["--no-block", "restart", *units]
    for words in (["daemon-reload"], ["enable", *units], restart):
        done = subprocess.run(["systemctl", *words], capture_output=True, text=True)
        if done.returncode:
            raise CannotJoin(faults=[f"systemctl {' '.join(words)}: {done.stderr.strip()}"])
    say(running)
