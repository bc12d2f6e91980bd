"""Determine the version of this panel and agent, and compare two versions.

    1.0.0                              the commit with the tag v1.0.0
    1.0.1.dev860+g70c4e7be             commit 70c4e7be after the tag v1.0.0, with 859 commits before it
    1.0.1.dev0+g70c4e7be               the same commit in a clone without all commits: their number is unknown
    1.0.1.dev860+g70c4e7be.t0a1b2c3d   built from changed files: `t` and a hash of the package `replication`
    1.0.0.dev0+t0a1b2c3d               built from files without a git repository
    1.0.0.dev0+unknown                 not built, and no git repository

Only the tags of git name releases. A commit between two releases has the number of the release before it, with the last
part increased, so each later release is newer. BASE is the number of the commits before the first tag. A build (wheel,
package or image) has its version in the file BUILT. A checkout reads its commit from .git, and caches the position of
the commit in .git/dnspanel-version, because running git would slow down the start of every process.
"""

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

BASE = "1.0.0"
BUILT = "built_version.txt"
PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent

_POSITION_FILE = "dnspanel-version"
_DIGITS = 8
_GIT_SECONDS = 30
# Changes to other files of a checkout are not part of a wheel or an image.
_CODE = ("replication", "dnspanel", "templates", "static", "locale", "deploy", "requirements", "manage.py")
_DISTRIBUTIONS = ("dnspanel", "dnspanel-agent")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.dev(\d+))?(?:\+([a-z0-9.]+))?")


class _Position(NamedTuple):
    """The position of a commit in the history.

    `release` is the last release until this commit, or "-" before the first one. `after` is the number of commits
    after that release. `total` is the number of all commits, or 0 if it is unknown.
    """

    release: str
    after: int
    total: int

    def version(self, commit: str, changed: str = "") -> str:
        """Return the version of this commit, or of files that were changed after it."""
        if self.release == "-":
            return _format(BASE, self.total, f"g{commit[:_DIGITS]}{changed}")
        if not self.after and not changed:
            return self.release
        first, _, last = self.release.rpartition(".")
        return _format(f"{first}.{int(last) + 1}", self.total, f"g{commit[:_DIGITS]}{changed}")


def running_version() -> str:
    """Return the version of this code, or one that ends in `dev0+unknown` if it can't be determined. Never raise."""
    with contextlib.suppress(OSError):
        return (PACKAGE / BUILT).read_text().strip()
    if commit := _commit_of(CHECKOUT):
        return _position_of(CHECKOUT, commit).version(commit)
    for name in _DISTRIBUTIONS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return _format(BASE, 0, "unknown")


def version_to_build(checkout: Path = CHECKOUT) -> str:
    """Return the version of a build from this directory, which also shows changed files or missing git data."""
    commit = _commit_of(checkout)
    if not commit:
        return _format(BASE, 0, _hash_of(checkout / "replication"))
    changed = ""
    if _git(checkout, "status", "--porcelain", "--", *(name for name in _CODE if (checkout / name).exists())):
        changed = f".{_hash_of(checkout / 'replication')}"
    return _position_of(checkout, commit).version(commit, changed)


def commit_time(checkout: Path = CHECKOUT) -> int:
    """Return the Unix time of the commit, or of 1980-01-01 if no commit is known."""
    return int(_git(checkout, "log", "-1", "--format=%ct") or 315_532_800)


def is_older(version: str, than: str) -> bool | None:
    """Return True if `version` is older than `than`, or None if the order is unknown. Equal versions are not older."""
    if version == than:
        return False
    ours, theirs = _VERSION.fullmatch(version), _VERSION.fullmatch(than)
    if ours is None or theirs is None:
        return None
    # Without all commits, a clone does not have the tags either.
    if "0" in (ours[4], theirs[4]):
        return None
    base, other_base = (tuple(map(int, found.group(1, 2, 3))) for found in (ours, theirs))
    if base != other_base:
        return base < other_base
    # A release without `dev` is later than all commits before it.
    count, other_count = (float("inf") if found[4] is None else int(found[4]) for found in (ours, theirs))
    return count < other_count


def _format(base: str, count: int, local: str) -> str:
    return f"{base}.dev{count}+{local}"


def _commit_of(checkout: Path) -> str:
    """Return the checked-out commit, read from files if possible, or "" if this isn't a repository."""
    try:
        directory = _git_directory(checkout)
        head = (directory / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head if _COMMIT.fullmatch(head) else ""
        return _ref(directory, head.removeprefix("ref: ")) or _git(checkout, "rev-parse", "HEAD")
    except (OSError, UnicodeDecodeError):
        return ""


def _git_directory(checkout: Path) -> Path:
    """Return `.git`, or for a linked worktree the directory that its `.git` file refers to."""
    git = checkout / ".git"
    return checkout / git.read_text().strip().removeprefix("gitdir: ") if git.is_file() else git


def _common_directory(directory: Path) -> Path:
    """Return the directory with the branches and tags. A linked worktree's are in the main repository."""
    with contextlib.suppress(OSError):
        return directory / (directory / "commondir").read_text().strip()
    return directory


def _ref(directory: Path, name: str) -> str:
    """Return a branch's commit, or "" if no file contains it."""
    common = _common_directory(directory)
    with contextlib.suppress(OSError):
        found = (common / name).read_text().strip()
        return found if _COMMIT.fullmatch(found) else ""
    with contextlib.suppress(OSError):
        for line in (common / "packed-refs").read_text().splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name and _COMMIT.fullmatch(commit):
                return commit
    return ""


def _position_of(checkout: Path, commit: str) -> _Position:
    """Return the commit's position. The number of commits is 0 if the clone is shallow or git is missing.

    git runs once for each commit and state of the tags, and the result is stored in a file. If the file cannot be
    written, git runs each time.
    """
    directory = _git_directory(checkout)
    kept, key = directory / _POSITION_FILE, f"{commit}-{_changed_at(_common_directory(directory))}"
    with contextlib.suppress(OSError, ValueError):
        known, release, after, count = kept.read_text().split()
        if known == key:
            return _Position(release, int(after), int(count))
    release, after = _release_of(checkout, commit)
    count = "0"
    if _git(checkout, "rev-parse", "--is-shallow-repository") == "false":
        count = _git(checkout, "rev-list", "--count", commit) or "0"
    if count != "0":
        with contextlib.suppress(OSError):
            partial = kept.with_name(f"{_POSITION_FILE}.{os.getpid()}")
            partial.write_text(f"{key} {release} {after} {count}\n")
            partial.replace(kept)
    return _Position(release, int(after), int(count))


def _release_of(checkout: Path, commit: str) -> tuple[str, str]:
    """Return the newest release until this commit, or "-", and the number of commits after it."""
    tags = ("--match", "v[0-9]*.[0-9]*.[0-9]*", "--exclude", "*-*")
    # Such as v1.0.0-3-g70c4e7be
    match _git(checkout, "describe", "--tags", "--long", *tags, commit).split("-"):
        case [tag, after, _]:
            return tag.removeprefix("v"), after
    return "-", "0"


def _changed_at(common: Path) -> str:
    """Return the times when a tag was last created or deleted, as text."""
    times = []
    for name in ("refs/tags", "packed-refs"):
        with contextlib.suppress(OSError):
            times.append(str((common / name).stat().st_mtime_ns))
    return "-".join(times)


def _git(checkout: Path, *words: str) -> str:
    """Run git and return its output, or "" if it fails.

    The checkout can belong to another user. Trusting it is safe, because this process already runs its code.
    """
    command = ["git", "-c", "safe.directory=*", "-C", str(checkout), *words]
    # In a git hook these name the hook's repository, whatever directory is requested.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _hash_of(package: Path) -> str:
    """Return `t` and the first digits of a hash over all files and their names."""
    found = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.name != BUILT:
            content = path.read_bytes()
            found.update(f"{path.relative_to(package)}\0{len(content)}\0".encode() + content)
    return f"t{found.hexdigest()[:_DIGITS]}"


def write_built(version: str, package: Path = PACKAGE) -> None:
    """Write the version into this copy of the package. Raise ValueError if it is invalid."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version} is not a version like {BASE}.dev860+g70c4e7be")
    (package / BUILT).write_text(f"{version}\n")


def main() -> None:
    """Print the version of a build from this directory. With --write, also write it into the package."""
    parser = argparse.ArgumentParser(prog="python replication/version.py", description=main.__doc__)
    parser.add_argument("--write", metavar="VERSION", help="for images: keep this version; empty: the one worked out")
    options = parser.parse_args()
    version = options.write or version_to_build()
    if options.write is not None:
        if _commit_of(CHECKOUT):
            parser.error("this is a git repository: a version that is kept here would be wrong after the next commit")
        try:
            write_built(version)
        except ValueError as exc:
            parser.error(str(exc))
    sys.stdout.write(f"{version}\n")


if __name__ == "__main__":
    main()
