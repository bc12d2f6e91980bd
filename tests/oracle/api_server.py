"""A real PowerDNS with its HTTP API and a SQLite database, as the reference for API v1."""

import json
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from os import environ, killpg
from pathlib import Path
from typing import Any

from tests.oracle.powerdns import Unavailable, _wait_for_port, native
from tests.ports import free_port

SCHEMAS = (
    Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"),
    Path("/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"),
)
KEY = "oracle"
ANSWER_SECONDS = 20


@dataclass(frozen=True)
class Call:
    """A request to a path below `/api/v1/servers/localhost` or to an absolute path. `body` is bytes or a JSON value.

    `differs` is the reason why the two servers' answers differ.
    """

    method: str
    path: str
    body: Any = None
    accept: str = "application/json"
    key: str = "right"
    differs: str = ""

    @property
    def url(self) -> str:
        return self.path if self.path.startswith("/api") else f"/api/v1/servers/localhost{self.path}"

    @property
    def content(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.content.decode(errors='replace')[:300]} ({self.accept})"


@dataclass(frozen=True)
class Answer:
    """The status, media type and body of a server's answer."""

    status: int
    type: str
    body: bytes


@dataclass(frozen=True)
class TheirApi:
    """The API of a running pdns_server. It answers DNS on another port."""

    port: int
    dns_port: int
    database: Path

    def __call__(self, call: Call) -> Answer:
        headers = {"Accept": call.accept} if call.accept else {}
        if call.key:
            headers["X-API-Key"] = KEY if call.key == "right" else call.key
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)) as connection:
            connection.putrequest(call.method, call.url, skip_accept_encoding=True)
            for name, value in {**headers, "Content-Length": str(len(call.content))}.items():
                connection.putheader(name, value)
            connection.endheaders(call.content)
            response = connection.getresponse()
            return Answer(response.status, response.headers.get("Content-Type", ""), response.read())


@contextmanager
def their_api(**settings: object) -> Iterator[TheirApi]:
    """Start a pdns_server without zones. Raise Unavailable if it or its SQLite backend is not installed."""
    schema = next((path for path in SCHEMAS if path.exists()), None)
    if schema is None:
        raise Unavailable("the SQLite backend of pdns-server is not installed on this machine")
    native()
    directory = Path(tempfile.mkdtemp(prefix="their-api-"))
    try:
        with closing(sqlite3.connect(directory / "pdns.sqlite3")) as database:
            database.executescript(schema.read_text())
        yield from _running(directory, settings)
    finally:
        shutil.rmtree(directory)


def _running(directory: Path, settings: dict[str, object]) -> Iterator[TheirApi]:
    port, dns_port, log = free_port(), free_port(), directory / "server.log"
    lines = {
        "launch": "gsqlite3",
        "gsqlite3-database": directory / "pdns.sqlite3",
        "gsqlite3-dnssec": "yes",
        "local-address": "127.0.0.1",
        "local-port": dns_port,
        "socket-dir": directory,
        "daemon": "no",
        "guardian": "no",
        "security-poll-suffix": "",
        "loglevel": 3,
        "api": "yes",
        "api-key": KEY,
        "webserver": "yes",
        "webserver-address": "127.0.0.1",
        "webserver-allow-from": "127.0.0.1",
        "webserver-port": port,
        "zone-cache-refresh-interval": 0,
        **settings,
    }
    (directory / "pdns.conf").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["pdns_server", f"--config-dir={directory}"],
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**environ, "TZ": "UTC"},  # a serial's date is the local one
        )
    try:
        _wait_for_port(port, process, log)
        yield TheirApi(port, dns_port, directory / "pdns.sqlite3")
    finally:
        killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
