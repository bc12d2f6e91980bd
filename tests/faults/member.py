"""An additional node beside a stack's three nodes, whose processes and files a test controls.

    with Member(stack, panel, "far", host=host) as node:
        node.kill_agent()
        node.start_agent(env=clocks.shifted(3600))

It enrolls like any node. Killed processes are not restarted. The end of the block retires the node and ends its
processes.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import dns.message
import dns.query
import dns.rcode

from dnspanel.demo import ports, unprivileged
from dnspanel.demo.stack import Stack
from replication.agent.powerdns import pdnsconf
from replication.node_client import NodeClient
from tests.faults import acts
from tests.faults.checker import Server, answers_at_all, has_acked
from tests.faults.hosts import Host
from tests.faults.panel import Panel
from tests.stack import until

START_SECONDS = 60.0
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of a member's files. `state` and `pdns` may be on separate file systems."""

    base: Path
    data: Path

    @property
    def identity(self) -> Path:
        return self.base / "identity"

    @property
    def toml(self) -> Path:
        return self.base / "agent.toml"

    @property
    def state(self) -> Path:
        return self.data / "state"

    @property
    def lmdb(self) -> Path:
        return self.data / "pdns" / "pdns.lmdb"

    @property
    def records(self) -> Path:
        return self.data / "pdns" / "pdns.lmdb-0"

    @property
    def conf(self) -> Path:
        return self.base / "conf"


class Member:
    """The node. `data` is the directory for LMDB files and state, by default below the stack's directory."""

    def __init__(
        self,
        stack: Stack,
        panel: Panel,
        name: str,
        *,
        host: Host | None = None,
        data: Path | None = None,
        map_size_mib: int = 16_000,
        schema: int = 4,
        settings: Mapping[str, str | int] | None = None,
        start: bool = True,
    ) -> None:
        self.stack, self.panel, self.name, self.host, self.schema = stack, panel, name, host, schema
        self.address = host.address if host else ports.LOOPBACK
        base = stack.directory / "members" / name
        shutil.rmtree(base, ignore_errors=True)
        self.files = Files(base, data or base / "data")
        self._sockets = stack.run_directory / name
        taken = set(stack.ports.values())
        self.dns_port = ports.choose(taken=taken)
        self.agent_port = ports.choose(taken={*taken, self.dns_port})
        self.statistics_port = ports.choose(taken={*taken, self.dns_port, self.agent_port})
        self._map_size_mib, self._settings, self._start_both = map_size_mib, dict(settings or {}), start
        self.agent: subprocess.Popen[bytes] | None = None
        self.pdns: subprocess.Popen[bytes] | None = None
        self._in_panel = False

    def __enter__(self) -> Self:
        try:
            self.configure()
            self._enroll()
            self.prepare()
            if self._start_both:
                self.start_pdns()
                self.start_agent()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    @property
    def server(self) -> Server:
        """The node's DNS address."""
        return Server(self.name, self.address, self.dns_port)

    @property
    def control_socket(self) -> Path:
        return self._sockets / "pdns.controlsocket"

    # Its processes

    def start_pdns(self, *, env: Mapping[str, str] | None = None) -> None:
        """Start PowerDNS and wait until it answers."""
        self.pdns = self._start("pdns", ["pdns_server", f"--config-dir={self.files.conf}"], env)
        until(lambda: answers_at_all([self.server], seconds=1), seconds=START_SECONDS, what=f"{self.name} to answer")

    def start_agent(self, *, env: Mapping[str, str] | None = None, wait: bool = True) -> None:
        """Start the agent and, unless `wait` is False, wait until it accepts connections."""
        command = [sys.executable, "-m", "replication.agent", "run", "--config", str(self.files.toml)]
        self.agent = self._start("agent", command, env)
        if wait:
            until(self._listens, seconds=START_SECONDS, what=f"the agent of {self.name} to listen; {self.output()}")

    def kill_agent(self, sig: int = signal.SIGKILL) -> None:
        _end(self.agent, sig)

    def kill_pdns(self, sig: int = signal.SIGKILL) -> None:
        _end(self.pdns, sig)

    def keep_running(self) -> None:
        """Restart ended processes, as a supervisor would."""
        if self.pdns is not None and self.pdns.poll() is not None:
            self.pdns = self._start("pdns", ["pdns_server", f"--config-dir={self.files.conf}"], None)
        if self.agent is not None and self.agent.poll() is not None:
            self.start_agent(wait=False)

    def rcode(self, name: str, rdtype: str) -> str:
        """Query the node over DNS, and return the rcode."""
        query = dns.message.make_query(name, rdtype)
        reply = dns.query.udp(query, self.address, port=self.dns_port, timeout=5)
        return dns.rcode.to_text(reply.rcode())

    def wait_until_in_sync(self, *, seconds: float = 60, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Wait until the panel displays the node at or past the log's head at the time of the call.

        Calls `meanwhile` before each check. Raise TimeoutError with the displayed state if it takes longer.
        """
        found: dict[str, Any] = {}
        wanted = self.panel.do(acts.positions)["head"]

        def in_sync() -> bool:
            meanwhile()
            found.update(self.panel.do(acts.positions))
            return has_acked(found, self.name, wanted)

        try:
            until(in_sync, seconds=seconds, what=f"{self.name} at the head")
        except TimeoutError as exc:
            raise TimeoutError(f"{exc}; the panel shows {found}; its agent said: {self.output()}") from exc

    def output(self, process: str = "agent") -> str:
        """Return the end of the log of one of the node's processes."""
        path = self.files.base / f"{process}.log"
        return path.read_text()[-2_000:] if path.exists() else ""

    def client(self, context: ssl.SSLContext, *, seconds: float = 15) -> NodeClient:
        """Return a client for the agent, with this TLS context."""
        return NodeClient(self.address, self.agent_port, context, answer_seconds=seconds)

    # How it comes to be

    def configure(self) -> None:
        for path in (
            self.files.base.parent,
            self.files.base,
            self.files.identity,
            self.files.state,
            self.files.conf,
            self.files.lmdb.parent,
            self._sockets,
        ):
            unprivileged.make_directory(path)
        api_key = secrets.token_urlsafe(16)
        values: dict[str, str | int] = {
            "identity_dir": str(self.files.identity),
            "state_dir": str(self.files.state),
            "lmdb_path": str(self.files.lmdb),
            "control_socket": str(self.control_socket),
            "dns_address": self.address,
            "dns_port": self.dns_port,
            "receiver_threads": 1,
            "listen_host": self.address,
            "listen_port": self.agent_port,
            "api_port": self.statistics_port,
            "api_key": api_key,
            "map_size_mib": self._map_size_mib,
            **self._settings,
        }
        unprivileged.write(
            self.files.toml, "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
        )
        settings = pdnsconf.PdnsSettings(
            schema=self.schema,
            lmdb_path=str(self.files.lmdb),
            socket_dir=str(self._sockets),
            addresses=(self.address,),
            port=self.dns_port,
            cores=1,
            api_port=self.statistics_port,
            api_key=api_key,
            map_size=self._map_size_mib * MIB,
            cache_entries=100_000,
        )
        unprivileged.write(self.files.conf / "pdns.conf", pdnsconf.render(settings))

    def set(self, **settings: str | int) -> None:
        """Rewrite the node's configuration with these settings. `map_size_mib` also applies to PowerDNS."""
        self._map_size_mib = int(settings.pop("map_size_mib", self._map_size_mib))
        self._settings |= settings
        self.configure()

    def prepare(self) -> None:
        """Create the node's LMDB files."""
        self.stack.run([sys.executable, "-m", "replication.agent", "prepare", "--config", str(self.files.toml)])

    def _enroll(self) -> None:
        code = self.panel.do(
            acts.create_node,
            name=self.name,
            dns_address=self.address,
            dns_port=self.dns_port,
            agent_host=self.address,
            agent_port=self.agent_port,
            schema=self.schema,
        )
        self._in_panel = True
        arguments = ["--panel", self.stack.url, "--code", code, "--dir", str(self.files.identity)]
        agent = self._start(
            "enrolment", [sys.executable, "-m", "replication.agent", "enroll", *arguments], None, here=True
        )
        try:
            until(lambda: self.panel.do(acts.approve_request, name=self.name), seconds=START_SECONDS, what="a request")
            until((self.files.identity / "identity.json").exists, seconds=START_SECONDS, what="an identity")
            agent.wait(START_SECONDS)
        finally:
            agent.kill()
            agent.wait()

    def _start(
        self, name: str, command: Sequence[str], env: Mapping[str, str] | None, *, here: bool = False
    ) -> subprocess.Popen[bytes]:
        prefix = self.host.prefix if self.host and not here else ()
        # Preloaded libraries are only for the program, not for the programs that switch the user.
        variables = ["env", *(f"{name}={value}" for name, value in (env or {}).items())]
        with (self.files.base / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*prefix, *unprivileged.prefix(), "setpriv", "--pdeathsig=KILL", "--", *variables, *command],
                env=self.stack.env,
                cwd=unprivileged.CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((self.address, self.agent_port), timeout=1):
            return True
        if self.agent is not None and self.agent.poll() is not None:
            raise RuntimeError(f"the agent of {self.name} ended: {self.output()}")
        return False

    def _leave(self) -> None:
        steps: list[Callable[[], None]] = [self.kill_agent, self.kill_pdns]
        if self._in_panel:
            steps.insert(0, lambda: self.panel.do(acts.retire, name=self.name))
        for step in steps:
            with contextlib.suppress(Exception):
                step()


def _end(process: subprocess.Popen[bytes] | None, sig: int) -> None:
    """Send the signal and wait until the process ends. Wake the process if it is stopped."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(sig)
    if sig != signal.SIGSTOP:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
        process.wait(30)
