"""Read and complete /etc/dnspanel/panel.env, the environment of the panel's processes as systemd reads it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

PANEL_ENV = Path("/etc/dnspanel/panel.env")
# The values of the package itself, which PANEL_ENV can override.
PACKAGE_ENV = Path("/usr/lib/dnspanel/package.env")


def read_env(path: Path) -> dict[str, str]:
    """Return the variables of a file, or an empty dictionary if the file does not exist.

    The syntax is that of systemd.exec(5) without continued lines: NAME=VALUE, perhaps in quotes; # begins a comment.
    """
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        name, sign, value = line.strip().partition("=")
        if sign and not name.startswith(("#", ";")):
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[name.strip()] = value[1:-1] if quoted else value.strip()
    return found


def panel_environment() -> dict[str, str]:
    """Return the environment of a process of the panel."""
    return read_env(PACKAGE_ENV) | read_env(PANEL_ENV)


def missing_in(environment: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the environment lacks. A secret can also be in a file (NAME_FILE)."""
    return {
        name: value for name, value in values.items() if name not in environment and f"{name}_FILE" not in environment
    }


def set_variables(path: Path, values: Mapping[str, str | None], *, owner: str, group: str) -> list[str]:
    """Set variables, or remove them (None), and return the names of those that changed. Other lines stay unchanged.

    The owner and the group can read the file, and no one else.
    """
    present = read_env(path)
    changed = [name for name, value in values.items() if present.get(name) != value]
    if changed:
        lines = path.read_text().splitlines() if path.exists() else []
        kept = [line for line in lines if line.partition("=")[0].strip() not in changed]
        added = [f"{name}={values[name]}" for name in changed if values[name] is not None]
        partial = path.with_name(path.name + ".part")
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "w") as file:
            file.write("\n".join([*kept, *added]) + "\n")
        shutil.chown(partial, owner, group)
        partial.replace(path)
    shutil.chown(path, owner, group)
    path.chmod(0o640)
    return changed
