"""What `join` does for a node and for a front alike: options, files of a user, systemd's units, and starting them."""

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
    """The server cannot join as it is; `faults` names everything in the way."""

    def __init__(self, *, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def add_options(parser: argparse.ArgumentParser, fields: "Mapping[str, Field[Any]]", texts: Mapping[str, str]) -> None:
    """Add an option for each field that has a text here. A number without a default is one that the panel knows."""
    for field, text in texts.items():
        default = fields[field].default
        displayed = default or ("as the panel has it" if isinstance(default, int) else "none")
        option = "--" + field.replace("_", "-")
        parser.add_argument(option, type=type(default), default=default, help=f"{text}; {displayed}")


def refuse_contradictions(settings: JoinSettings, *, program: str, given: Mapping[str, tuple[object, object]]) -> None:
    """Raise CannotJoin if the panel has this server for another program, or has other values than were given.

    `given` has for each option what was typed, which is empty or 0 where nothing was, and what the panel has.
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
    """Say which values of a configuration that was here before are not what the panel has: it is not overwritten."""
    for name, (written, known) in values.items():
        if written != known:
            say(f"{path} has {name} = {written}, and the panel has {known}. Change the file, then run this again.")


def refuse_unfit(*, user: str, program: str, packages: str) -> None:
    """Raise CannotJoin unless this may be set up here: a program for a user that its packages make."""
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
    """Create the directory and its subdirectories, for the user only, and the one of the configuration."""
    for path in (directory, *(directory / name for name in names)):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    give(directory, user)
    config.parent.mkdir(mode=0o755, parents=True, exist_ok=True)


def write_for(user: str, path: Path, text: str) -> None:
    """Write a file with a secret in it, in one rename, for the user only."""
    partial = path.with_name(path.name + ".part")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    give(partial, user)
    partial.replace(path)


def write_config(user: str, path: Path, values: Mapping[str, str | int | bool | Sequence[str]]) -> None:
    """Write the configuration unless it exists. An operator's changes stay."""
    if not path.exists():
        write_for(user, path, format_toml(values))


def give(path: Path, user: str) -> None:
    """Give the path, and everything below it, to the user."""
    account = pwd.getpwnam(user)
    for each in (path, *(path.rglob("*") if path.is_dir() else ())):
        os.chown(each, account.pw_uid, account.pw_gid, follow_symlinks=False)


def write_unit_files(package: str, files: Mapping[Path, str], values: Mapping[str, str]) -> None:
    """Write each file from the named template below `units` of this package, with these values."""
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(resources.files(package).joinpath("units", template).read_text().format(**values))


def start(units: tuple[str, ...], say: Say, *, running: str, otherwise: str, waits: bool = True) -> None:
    """Start the units, now and after each boot. Without systemd, say what to start instead. Raise CannotJoin.

    Without waiting, systemd retries units that cannot start yet, and that is no error.
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
