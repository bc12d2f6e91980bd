"""Third-party servers on loopback for tests. Each has a temporary directory and ends with its test."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.ports import free_port

START_SECONDS = 30
TOOL_SECONDS = 60
SCHEMAS = Path("/usr/share")


def needed(*programs: str) -> None:
    """Skip the test if one of these programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed on this machine")


def run(*command: str | Path, input: str | None = None) -> str:
    """Run a program and return its stdout and stderr. Raise AssertionError with the output if the program fails."""
    done = subprocess.run(
        list(map(str, command)),
        check=False,
        input=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TOOL_SECONDS,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout[-2000:]}"
    return done.stdout


@contextmanager
def running(command: Sequence[str | Path], log: Path, ready: Callable[[], bool]) -> Iterator[int]:
    """Run a server process in the foreground. Yield once `ready` returns True, and kill the process at the end."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            log_end = log.read_text(errors="replace")[-2000:]
            assert process.poll() is None, f"{command[0]} ended: {log_end}"
            assert time.monotonic() < deadline, f"{command[0]} did not start: {log_end}"
            time.sleep(0.05)
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)


def listening(*ports: int) -> Callable[[], bool]:
    """Return a function that returns True if all these ports accept connections."""

    def takes(port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return lambda: all(map(takes, ports))


@dataclass
class PowerDNS:
    """The installed PowerDNS with one backend. `directory` contains its files."""

    directory: Path
    settings: dict[str, object] = field(default_factory=dict)

    def pdnsutil(self, *arguments: str) -> str:
        needed("pdnsutil")
        self._write_config({})
        return run("pdnsutil", f"--config-dir={self.directory}", *arguments)

    def load_zone(self, zone: str, text: str) -> None:
        path = self.directory / "zonefile"
        path.write_text(text)
        self.pdnsutil("load-zone", zone, str(path))

    @contextmanager
    def server(self, **settings: object) -> Iterator[int]:
        """Run pdns_server. Yield its port once it answers there and its web server, if enabled, accepts connections."""
        needed("pdns_server")
        port = free_port()
        self._write_config(
            {
                "local-address": "127.0.0.1",
                "local-port": port,
                "socket-dir": self.directory,
                "daemon": "no",
                "guardian": "no",
                "security-poll-suffix": "",
                "zone-cache-refresh-interval": 0,
                "8bit-dns": "yes",
                **settings,
            }
        )
        command = ["pdns_server", f"--config-dir={self.directory}"]
        ports = [port, settings.get("webserver-port", port)]
        with running(command, self.directory / "server.log", listening(*map(int, map(str, ports)))):
            yield port

    def _write_config(self, more: dict[str, object]) -> None:
        lines = [f"{name}={value}" for name, value in {**self.settings, **more}.items()]
        (self.directory / "pdns.conf").write_text("\n".join(lines) + "\n")


def sqlite_powerdns(directory: Path) -> PowerDNS:
    """Return a PowerDNS with an empty SQLite database, `pdns.sqlite` in the directory."""
    needed("sqlite3", "pdnsutil")
    schema = SCHEMAS / "pdns-backend-sqlite3/schema/schema.sqlite3.sql"
    if not schema.exists():
        pytest.skip("pdns-backend-sqlite3 is not installed on this machine")
    run("sqlite3", directory / "pdns.sqlite", input=schema.read_text())
    settings = {"launch": "gsqlite3", "gsqlite3-database": directory / "pdns.sqlite", "gsqlite3-dnssec": "yes"}
    return PowerDNS(directory, dict(settings))


def lmdb_powerdns(directory: Path, shards: int) -> PowerDNS:
    """Return a PowerDNS with an empty LMDB database, `pdns.lmdb` in the directory."""
    settings = {"launch": "lmdb", "lmdb-filename": directory / "pdns.lmdb", "lmdb-shards": shards}
    return PowerDNS(directory, dict(settings))


@dataclass(frozen=True)
class MariaDB:
    """A MariaDB server that is reachable only through its socket."""

    socket: Path
    process: int = 0

    def url(self, database: str, user: str = "root", password: str = "") -> str:
        secret = f":{password}" if password else ""
        return f"mysql://{user}{secret}@localhost/{database}?unix_socket={self.socket}"

    def client(self, text: str, *arguments: str) -> str:
        return run("mariadb", f"--socket={self.socket}", "--user=root", *arguments, input=text)


# Commits need not survive a crash of the machine.
FORGETFUL = "--innodb-flush-log-at-trx-commit=0"


@contextmanager
def mariadb(*options: str) -> Iterator[MariaDB]:
    """Run an empty MariaDB, as the user mysql if the test is root, because MariaDB refuses to run as root."""
    needed("mariadbd", "mariadb-install-db", "mariadb")
    with tempfile.TemporaryDirectory(prefix="mariadb-", dir="/tmp") as place:
        # A starting server removes other servers' temporary tables if they share the directory.
        arguments = ["--no-defaults", f"--datadir={place}/data", f"--tmpdir={place}"]
        if os.geteuid() == 0:
            shutil.chown(place, "mysql", "mysql")
            arguments.append("--user=mysql")
        run("mariadb-install-db", *arguments, "--auth-root-authentication-method=normal", "--skip-test-db")
        socket_path = Path(place, "socket")
        command = ["mariadbd", *arguments, "--skip-networking", f"--socket={socket_path}", *(options or [FORGETFUL])]

        def ready() -> bool:
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(str(socket_path)) == 0

        with running(command, Path(place, "log"), ready) as process:
            yield MariaDB(socket_path, process)
