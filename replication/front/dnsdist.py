"""Control a dnsdist on this machine: its program, its console and its counters.

The installed program sends the console commands (`dnsdist -e`). Their encryption therefore always matches the installed
release, however dnsdist was built. A call takes 30 ms, and is made only if something has to change.
"""

import http.client
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from replication.errors import BadBytes, NotServed
from replication.front.release import Release, parse_release

_SECONDS = 5.0
_MAX_ANSWER = 8 << 20
# The state of a backend that was taken out by hand. dnsdist's own check reports it in lowercase.
TAKEN_OUT = "DOWN"
_DONE = "front: done"
_RCODES = ("NOERROR", "NXDOMAIN", "SERVFAIL")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerNumbers:
    """dnsdist's counters of one backend."""

    name: str
    address: str
    weight: int
    state: str  # DOWN, UP: set by hand; down, up: by its check
    queries: int
    qps: float
    drops: int
    latency_ms: float

    @property
    def is_taken_out(self) -> bool:
        return self.state == TAKEN_OUT

    @property
    def is_down(self) -> bool:
        """True if the backend fails dnsdist's health check."""
        return self.state == "down"


@dataclass(frozen=True, slots=True)
class Numbers:
    """The counters of one dnsdist and its backends."""

    version: str
    queries: int
    cache_hits: int
    cache_misses: int
    servers: tuple[ServerNumbers, ...]
    uptime: int = 0
    tcp: int = 0  # the part of `queries` over TCP, TLS or HTTPS; the rest came over UDP or QUIC
    queries6: int = 0  # queries over IPv6
    tcp6: int = 0
    rcodes: Mapping[str, int] = field(default_factory=dict)  # answers by rcode
    latency_us: int = 0  # dnsdist's own running average over the last thousand answers
    memory_bytes: int = 0
    rule_drops: int = 0  # queries that rules dropped or sent to TCP


@dataclass(frozen=True, slots=True)
class Configured:
    """The parts of the running dnsdist's configuration that can be changed while it runs."""

    version: str
    servers: tuple[ServerNumbers, ...]
    rules: frozenset[str]  # their ids


class Dnsdist:
    """The installed dnsdist program, and the running dnsdist."""

    def __init__(self, program: str, api_port: int, api_key: str) -> None:
        self._program, self._port, self._key = program, api_port, api_key

    def release(self) -> Release:
        """Return the installed release. Raise NotServed if the program fails, or BadBytes if its output is bad."""
        return parse_release(self._run("--version").stdout)

    def check(self, conf: Path) -> None:
        """Raise BadBytes, with dnsdist's message, if dnsdist can't start with this configuration."""
        done = self._run("-C", str(conf), "--check-config")
        if done.returncode:
            reason = (done.stderr + done.stdout).strip()[-400:] or f"status {done.returncode}"
            raise BadBytes(what="dnsdist.conf", reason=reason)

    def execute(self, lua: str, *, conf: Path) -> None:
        """Execute Lua in the dnsdist that runs with this configuration. Raise NotServed on failure.

        The output must confirm the execution, because the program also exits with success if the key is wrong or
        dnsdist exits in between.
        """
        done = self._run("-C", str(conf), "-e", f'{lua}; return "{_DONE}"')
        if done.returncode or _DONE not in done.stdout.splitlines():
            found = (done.stderr + done.stdout).strip()[-400:] or f"status {done.returncode}"
            raise NotServed(question="dnsdist's console", expected="that it is done", found=found)

    def shut_down(self, *, conf: Path) -> None:
        """Stop the dnsdist that runs with this configuration. Raise NotServed on failure."""
        self.execute("local ends = true", conf=conf)
        self._run("-C", str(conf), "-e", "shutdown()")  # after this call there is no output

    def read_configuration(self) -> Configured:
        """Return the running dnsdist's backends and rules. Raise NotServed if it doesn't answer."""
        return self._ask(_read_configured, "/api/v1/servers/localhost")

    def numbers(self) -> Numbers:
        """Return the running dnsdist's counters. Raise NotServed if it doesn't answer."""
        return self._ask(_numbers, "/api/v1/servers/localhost", "/jsonstat?command=stats")

    def _ask(self, decode: Callable[..., T], *paths: str) -> T:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SECONDS)
        try:
            answers = []
            for path in paths:
                connection.request("GET", path, headers={"X-API-Key": self._key})
                answers.append(_read(connection))
                connection.close()
            return decode(*answers)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError) as exc:
            found = str(exc) or type(exc).__name__
            raise NotServed(question="dnsdist's web server", expected="its numbers", found=found) from exc
        finally:
            connection.close()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [self._program, *arguments], capture_output=True, text=True, timeout=_SECONDS, errors="replace"
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise NotServed(question=self._program, expected="that it runs", found=str(exc)) from exc


def _read(connection: http.client.HTTPConnection) -> Any:
    response = connection.getresponse()
    body = response.read(_MAX_ANSWER)
    if response.status != 200:
        raise http.client.HTTPException(f"status {response.status}")
    return json.loads(body)


def _servers(server: Any) -> tuple[ServerNumbers, ...]:
    return tuple(
        ServerNumbers(
            str(found["name"]),
            str(found["address"]),
            int(found["weight"]),
            str(found["state"]),
            int(found["queries"]),
            float(found["qps"]),
            int(found["reuseds"]),
            float(found["latency"] or 0),
        )
        for found in server["servers"]
    )


def _read_configured(server: Any) -> Configured:
    rules = frozenset(str(rule["uuid"]) for rule in server["rules"])
    return Configured(str(server["version"]), _servers(server), rules)


def _numbers(server: Any, counters: Any) -> Numbers:
    queries = Counter[tuple[bool, bool]]()
    for frontend in server["frontends"]:  # including those of `dohFrontends`
        queries[not frontend["udp"], str(frontend["address"]).startswith("[")] += int(frontend["queries"])
    rcodes = {name: int(counters[f"frontend-{name.lower()}"]) for name in _RCODES}
    rcodes["REFUSED"] = int(counters["rule-refused"])
    return Numbers(
        version=str(server["version"]),
        queries=int(counters["queries"]),
        cache_hits=int(counters["cache-hits"]),
        cache_misses=int(counters["cache-misses"]),
        servers=_servers(server),
        uptime=int(counters["uptime"]),
        tcp=queries[True, False] + queries[True, True],
        queries6=queries[False, True] + queries[True, True],
        tcp6=queries[True, True],
        rcodes=rcodes,
        latency_us=round(float(counters["latency-avg1000"])),
        memory_bytes=int(counters["real-memory-usage"]),
        rule_drops=int(counters["rule-drop"]) + int(counters["rule-truncated"]),
    )
