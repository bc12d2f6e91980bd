"""PowerDNS installations for comparison: the installed one, and others in root directories of Debian suites.

The suites also provide other newer programs: dnsdist, Knot DNS, NSD, and kdig and curl with QUIC.
"""

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ports import free_port
from tests.workers import CACHE

ROOTS = CACHE / "roots"
PACKAGES = ("pdns-server", "pdns-backend-lmdb", "dnsdist", "knot", "knot-dnsutils", "nsd", "curl", "docker-compose")
DEBOOTSTRAP_SECONDS = 1200
TOOL_SECONDS = 120
START_SECONDS = 20

# The reason why a suite's root could not be created, so that later tests of this process don't try for minutes again.
_unavailable: dict[str, str] = {}

# Package setup needs /proc, or systemd-tmpfiles fails. It is mounted only during the setup.
_INSIDE = ("unshare", "--mount", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"')

# The schema that each release writes.
_SCHEMAS = [((4, 7), 4), ((4, 8), 5), ((5, 0), 6)]


class Unavailable(Exception):
    """An error: this PowerDNS is not available here. The text is the reason to skip a test."""


@dataclass(frozen=True)
class PowerDNS:
    """A PowerDNS installation. `root` is its chroot directory, or None for the installed one."""

    version: str
    root: Path | None

    @property
    def schema(self) -> int:
        release = tuple(int(part) for part in self.version.split(".")[:2])
        return [schema for first, schema in _SCHEMAS if release >= first][-1]

    @contextmanager
    def place(self, name: str) -> Iterator["Place"]:
        """Yield an empty directory with a configuration, which this installation can access. Remove it at the end."""
        parent = "/tmp" if self.root is None else self.root / "tmp"
        directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
        try:
            yield Place(self, directory)
        finally:
            shutil.rmtree(directory)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that runs a program of this installation."""
        return list(arguments) if self.root is None else ["chroot", str(self.root), *arguments]


@dataclass(frozen=True)
class Place:
    """A directory with an LMDB database for the programs of one installation."""

    powerdns: PowerDNS
    directory: Path

    @property
    def database(self) -> Path:
        """The path of the main file. The records file is next to it."""
        return self.directory / "pdns.lmdb"

    @property
    def shard(self) -> Path:
        return self.directory / "pdns.lmdb-0"

    def seen(self, path: Path) -> str:
        """Return this path as it is inside the installation's root."""
        root = self.powerdns.root
        return str(path) if root is None else "/" + str(path.relative_to(root))

    def _write_config(self, **settings: object) -> None:
        common = {"launch": "lmdb", "lmdb-filename": self.seen(self.database), "lmdb-shards": 1}
        lines = [f"{name}={value}" for name, value in {**common, **settings}.items()]
        (self.directory / "pdns.conf").write_text("\n".join(lines) + "\n")

    def check_zone(self, zone: str) -> str:
        """Run check-zone and return its output. Exit codes for found errors and warnings are allowed."""
        return self.pdnsutil("check-zone", zone, allowed=(0, 1, 2))

    def pdnsutil(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
        """Run pdnsutil and return its stdout and stderr. Raise AssertionError if the exit code is not allowed."""
        self._write_config()
        command = self.powerdns.command("pdnsutil", f"--config-dir={self.seen(self.directory)}", *arguments)
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TOOL_SECONDS
        )
        if done.returncode not in allowed:
            raise AssertionError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def load_zone(self, zone: str, text: str) -> None:
        """Load a zone file."""
        path = self.directory / "zonefile"
        path.write_text(text)
        self.pdnsutil("load-zone", zone.rstrip(".") or ".", self.seen(path))

    @contextmanager
    def server(
        self, environment: Mapping[str, str] | None = None, prefix: Sequence[str] = (), **settings: object
    ) -> Iterator[int]:
        """Start a pdns_server with additional variables and settings, and yield its port on 127.0.0.1.

        With `prefix`, a command prefix, it may run elsewhere, and the caller has to wait until it answers.
        """
        port = free_port()
        self._write_config(
            **{
                "local-address": "127.0.0.1",
                "local-port": port,
                "socket-dir": self.seen(self.directory),
                "daemon": "no",
                "guardian": "no",
                "zone-cache-refresh-interval": 0,
                "receiver-threads": 1,
                "distributor-threads": 1,
                # Otherwise names with bytes other than letters, digits and a few more get SERVFAIL.
                "8bit-dns": "yes",
                "max-tcp-connections": 100,
                "security-poll-suffix": "",
                "loglevel": 3,
                **{name.replace("_", "-"): value for name, value in settings.items()},
            }
        )
        log = self.directory / "server.log"
        command = self.powerdns.command("pdns_server", f"--config-dir={self.seen(self.directory)}")
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*prefix, *command],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
        try:
            if not prefix:
                _wait_for_port(port, process, log)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)


def _wait_for_port(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"pdns_server did not start: {log.read_text(errors='replace')[-2000:]}")


def native() -> PowerDNS:
    """Return the installed PowerDNS. Raise Unavailable if there is none."""
    if shutil.which("pdns_server") is None or shutil.which("pdnsutil") is None:
        raise Unavailable("pdns-server is not installed on this machine")
    return PowerDNS(_version(PowerDNS("0", None)), None)


def of_suite(suite: str) -> PowerDNS:
    """Return a Debian suite's PowerDNS in a root below `~/.cache/dnspanel/roots`, which the first use creates.

    Raise Unavailable without root rights or if the root cannot be created.
    """
    if os.geteuid() != 0:
        raise Unavailable("only root may run a program in another root directory")
    root = ROOTS / suite
    if not root.is_dir():
        ROOTS.mkdir(parents=True, exist_ok=True)
        with (ROOTS / f"{suite}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not root.is_dir():
                if suite in _unavailable:
                    raise Unavailable(_unavailable[suite])
                try:
                    _make_root(suite, root)
                except Unavailable as exc:
                    _unavailable[suite] = str(exc)
                    raise
    return PowerDNS(_version(PowerDNS("0", root)), root)


def program_of_suite(suite: str, path: str, directory: Path) -> Path:
    """Create a program in this directory that runs a Debian suite's program, with access to this machine's files.

    Raise Unavailable if the suite is not available.
    """
    root = of_suite(suite).root
    assert root is not None
    if not (root / path).exists():
        with (ROOTS / f"{suite}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (root / path).exists():
                _add_packages(root)
    # Only its own libraries are needed, in the order in which the suite's loader finds them.
    [loader], [libraries] = root.glob("usr/lib64/ld-linux-*.so.*"), root.glob("usr/lib/*-linux-gnu")
    program = directory / f"{Path(path).name}-{suite}"
    program.write_text(f'#!/bin/sh\nexec "{loader}" --library-path "{libraries}" "{root / path}" "$@"\n')
    program.chmod(0o755)
    return program


def _make_root(suite: str, root: Path) -> None:
    if shutil.which("debootstrap") is None:
        raise Unavailable("debootstrap is not installed on this machine")
    mirror = debian_mirror()
    partial = Path(tempfile.mkdtemp(prefix=f"{suite}-partial-", dir=root.parent))
    try:
        debootstrap(suite, partial, mirror)
        partial.chmod(0o755)
        _add_packages(partial)
        partial.rename(root)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _add_packages(root: Path) -> None:
    """Install all packages into the root without starting them.

    Uses apt, because debootstrap does not support packages that replace others. dnsdist needs one:
    libre2-11-absl20240722, which replaces libre2-11.
    """
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    for words in (("update",), ("install", "--yes", "--no-install-recommends", *PACKAGES)):
        done = subprocess.run(
            # Like debootstrap, this ignores the age of release files.
            [*_INSIDE, str(root), "apt-get", "-q", "-o", "Acquire::Check-Valid-Until=false", *words],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEBOOTSTRAP_SECONDS,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        if done.returncode != 0:
            raise Unavailable(f"apt-get {words[0]} in {root.name} failed: {done.stdout.strip().splitlines()[-1:]}")


def debootstrap(suite: str, directory: Path, mirror: str) -> None:
    command = ["debootstrap", "--variant=minbase", suite, str(directory), mirror]
    try:
        done = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEBOOTSTRAP_SECONDS,
        )
    except subprocess.TimeoutExpired as exc:
        raise Unavailable(f"debootstrap of {suite} took more than {DEBOOTSTRAP_SECONDS} s") from exc
    if done.returncode != 0:
        raise Unavailable(f"debootstrap of {suite} failed: {done.stdout.strip().splitlines()[-1:]}")


def debian_mirror() -> str:
    """Return the URL of this machine's Debian mirror."""
    etc = Path("/etc/apt")
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        text = path.read_text() if path.is_file() else ""
        for pattern in (r"^URIs:\s*(\S+/debian/?)\s*$", r"^deb\s+(?:\[.*?\]\s*)?(\S+/debian/?)\s"):
            match = re.search(pattern, text, re.MULTILINE)
            if match:
                return match[1]
    raise Unavailable("the apt sources of this machine name no Debian mirror")


def _version(powerdns: PowerDNS) -> str:
    done = subprocess.run(
        powerdns.command("pdnsutil", "--version"), check=False, capture_output=True, text=True, timeout=TOOL_SECONDS
    )
    match = re.search(r"pdnsutil (\d+\.\d+\.\d+)", done.stdout + done.stderr)
    if match is None:
        raise Unavailable(f"pdnsutil does not run: {(done.stdout + done.stderr).strip()[-200:]}")
    return match[1]
