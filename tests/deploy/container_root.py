"""Runs a service of `docker-compose.yml` without Docker, with only its files, mounts, user and environment.

The root is read-only and contains only system programs, Python packages and the image's repository files. Only mounted
paths are writable. Needs root for mount namespaces. All mounts end with the command.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.deploy.build_context import Stage

# From `useradd --uid` in the Dockerfile. PowerDNS's package creates the other image's user.
PANEL_USER = 10001
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/usr")

# $1: the new root. Then groups of three (ro, rw, tmp or link; source; target), `--`, the command.
ENTER = """
set -eu
root=$1; shift
mount -t tmpfs -o mode=0755 tmpfs "$root"
while [ "$1" != -- ]; do
    case "$1" in
        link) mkdir -p "$root$(dirname "$3")"; ln -s "$2" "$root$3" ;;
        tmp) mkdir -p "$root$3"; mount -t tmpfs -o "mode=$2" tmpfs "$root$3" ;;
        *) mkdir -p "$root$3"; mount --rbind "$2" "$root$3"; mount -o "remount,bind,$1" "$root$3" ;;
    esac
    shift 3
done
shift
mount -o remount,ro "$root"
exec chroot "$root" "$@"
"""


@dataclass
class Containers:
    """The directories that all services share: image files in `images` and volumes in `volumes`."""

    stages: Mapping[str, Stage]
    images: Path
    volumes: Path
    made: set[str] = field(default_factory=set)

    def run(self, service: Mapping[str, Any], command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a command instead of the service's own, as the image's user."""
        return subprocess.run(self.command(service, command), capture_output=True, text=True, timeout=300)

    def command(self, service: Mapping[str, Any], command: Sequence[str], *, network: bool = True) -> list[str]:
        """Return the command line that runs the command as in a restarted container.

        At a restart, runc gives a tmpfs mount the mode of the directory below it, which belongs to root if the image
        lacks it. Without `network`, the container has a separate loopback and separate process ids, and ends with its
        first process.
        """
        stage = self.stages[service["build"]["target"]]
        mounts = _system()
        mounts += [("ro", str(self.images / stage.name / stage.directory.lstrip("/")), stage.directory)]
        for path in (entry.split(":")[0] for entry in service.get("tmpfs", ())):
            mounts.append(("tmp", "1777" if path == "/tmp" or stage.has_made(path) else "0755", path))
        for entry in service.get("volumes", ()):
            name, target, *rest = entry.split(":")
            mounts.append(("ro" if "ro" in rest else "rw", str(self._volume(name, target, stage)), target))
        environment = {
            **{key: value for each in reversed([*stage.line]) for key, value in each.environment.items()},
            **{key: str(value) for key, value in service.get("environment", {}).items()},
        }
        environment = {key: value.replace("$PATH", os.defpath) for key, value in environment.items()}
        user, group = owner_of(stage)
        drop = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', stage.directory, *drop]
        variables = [f"{key}={value}" for key, value in environment.items() if "${" not in value]
        words = [word for mount in sorted(mounts, key=lambda mount: mount[2].count("/")) for word in mount]
        root = self.volumes / "root"
        root.mkdir(exist_ok=True)
        alone = [] if network else ["--net", "--pid", "--fork"]
        script = ENTER if network else f"ip link set lo up; {ENTER}"
        enter = ["unshare", "--mount", *alone, "--propagation", "private", "sh", "-c", script, "enter", str(root)]
        return [*enter, *words, "--", "/usr/bin/env", "-i", *variables, *inside, *command]

    def _volume(self, name: str, target: str, stage: Stage) -> Path:
        """Return a volume's directory. At its first mount, the owner comes from the image's directory, or is root."""
        path = self.volumes / name
        if name not in self.made:
            self.made.add(name)
            path.mkdir(parents=True)
            path.chmod(0o755)
            if stage.has_made(target):
                os.chown(path, *owner_of(stage))
        return path


def owner_of(stage: Stage) -> tuple[int, int]:
    """Return the user and group that run the image and own its volume directories."""
    if stage.name == "panel":
        return PANEL_USER, PANEL_USER
    user = pwd.getpwnam("pdns")
    return user.pw_uid, user.pw_gid


def _system() -> list[tuple[str, str, str]]:
    """Return the mounts of system programs, and of Python packages if the image has them."""
    found = []
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            found.append(("link", str(path.readlink()), str(path)))
        elif path.exists():
            found.append(("ro", str(path), str(path)))
    packages = Path(sys.prefix).resolve()
    return [*found, ("ro", str(packages), str(packages)), ("link", str(packages), "/opt/dnspanel")]
