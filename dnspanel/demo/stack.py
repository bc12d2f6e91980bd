"""A stack in one directory: PostgreSQL, Redis, the panel's processes and a fleet of real nodes.

`./dev run`, the tests and the benchmarks start the same stack, each in its own directory. A second start finds all data
of the first one.

    stack.json        the ports, chosen once
    secrets/          generated; only the stack's user can read them
    postgres/ redis/  the stores
    panel/            PANEL_VAR: the publisher's LMDB, segments, static files
    proxy/            nginx, which listens on the web port and waits for slow clients
    nodes/ns1/ ...    a node each; ring0 is the private one that gets every publication first
    nodes/front1/     dnsdist before the public nodes, if the stack has a front
    bin/dnspanel      the command-line client, for this panel
    log/              one file per process
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Self

from cryptography.fernet import Fernet

from dnspanel import cli_file
from dnspanel.demo import ports, proxy, unprivileged
from dnspanel.demo.demo_front import FRONT_PORTS, DemoFront
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.starting import Starting
from dnspanel.demo.stores import Stores, keep_secret, postgres_programs
from dnspanel.demo.supervision import STORES, Supervisor, procfile

NODE_NAMES = ("ns1", "ns2", "ns3")
RING0_NAME = "ring0"
FRONT_NAME = "front1"
# The panel's own processes, as the Procfile names them.
PANEL = (
    *("web", "proxy", "publish", "push", "bootstrap", "sources", "bulk", "system"),
    *("beat", "collector", "update"),
)
# Started first, because everything waits for `web`, which would be slow if all processes started at once.
FIRST = ("web", "proxy")
NODE_PORTS = ("dns", "agent", "statistics", "metrics")
# The path of a UNIX socket has at most 107 bytes, and the longest file name here needs 30 of them.
LONGEST_SOCKET_DIRECTORY = 76


class StackError(Exception):
    """Raised if the stack can't start. The message is for the person who started it."""


@dataclass(frozen=True, slots=True)
class StackShape:
    """The parts of a stack, and the way it runs.

    `ring0` is the private server that must serve a publication before the other nodes receive it. `front` is a dnsdist
    in front of the public nodes. `stores_only` means only PostgreSQL and Redis. If `durable` is True, PostgreSQL waits
    for the disk. If `forks` is True, the panel is loaded once and its processes are forks, which start much faster.
    Otherwise each process is executed as in production. `people` are the demo's people, one for each role.
    """

    sample_zones: bool = True
    traffic: bool = True
    durable: bool = True
    stores_only: bool = False
    ring0: bool = True
    front: bool = False
    forks: bool = False
    people: bool = False


class Stack:
    """A stack in `directory`. It is a context manager that starts and stops the stack.

    Later starts use the stored ports, except for a requested web port. At first, other `requested_ports` are used if
    they are free, or else `free_ports`. The start fails if the web port, or a stored DNS or agent port, is in use.
    `environment` is added to the environment of every process.
    """

    def __init__(
        self,
        directory: Path,
        shape: StackShape = StackShape(),
        *,
        requested_ports: Mapping[str, int] = MappingProxyType({}),
        free_ports: Sequence[int] = ports.RANGE,
        environment: Mapping[str, str] = MappingProxyType({}),
        say: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.directory = directory.resolve()
        self.shape = shape
        self.has_ring0 = shape.ring0 and not shape.stores_only
        self.has_front = shape.front and not shape.stores_only
        self._requested_ports = requested_ports
        self._free_ports = free_ports
        self._environment = environment
        self._say = say
        self._ports: dict[str, int] = {}
        self._lock: IO[str] | None = None

    # Parts

    @property
    def node_names(self) -> tuple[str, ...]:
        """The names of the public nodes."""
        return () if self.shape.stores_only else NODE_NAMES

    @property
    def server_names(self) -> tuple[str, ...]:
        """The names of all servers with PowerDNS and an agent: the public nodes and ring 0."""
        return (*self.node_names, RING0_NAME) if self.has_ring0 else self.node_names

    @property
    def ports(self) -> dict[str, int]:
        """The ports, keyed by name: web, update, update-tls, postgres, redis, ns1-dns, ns1-agent, ns1-statistics..."""
        if not self._ports:
            try:
                self._ports = json.loads((self.directory / "stack.json").read_text())["ports"]
            except FileNotFoundError:
                raise StackError(f"There is no stack in {self.directory} yet; ./dev run makes it.") from None
        return self._ports

    @property
    def url(self) -> str:
        return f"http://{ports.LOOPBACK}:{self.ports['web']}"

    @property
    def update_port(self) -> int:
        """The port for DNS UPDATE and AXFR, over UDP and TCP."""
        return self.ports["update"]

    @functools.cached_property
    def run_directory(self) -> Path:
        """The directory for sockets. It is in the stack's directory, or below /tmp if that path would be too long."""
        inside = self.directory / "run"
        if len(str(inside)) <= LONGEST_SOCKET_DIRECTORY:
            return inside
        return Path("/tmp") / f"dnspanel-{hashlib.sha256(str(self.directory).encode()).hexdigest()[:12]}"

    @property
    def command_line(self) -> Path:
        """The path of the command-line client `dnspanel` for this panel."""
        return self.directory / "bin" / cli_file.NAME

    @property
    def web_socket(self) -> Path:
        """The socket of the web processes. Only the proxy connects to it."""
        return self.run_directory / "web.sock"

    @property
    def stores(self) -> Stores:
        return Stores(
            directory=self.directory,
            postgres_port=self.ports["postgres"],
            redis_port=self.ports["redis"],
            durable=self.shape.durable,
        )

    @functools.cached_property
    def supervisor(self) -> Supervisor:
        commands = {name: command for name, command in procfile().items() if self._has_process(name)}
        forks = self.shape.forks and not self.shape.stores_only
        return Supervisor(self.directory, run=self.run_directory, commands=commands, forks=forks)

    @functools.cached_property
    def starting(self) -> Starting:
        return Starting(self.supervisor, say=self._say)

    @property
    def nodes(self) -> list[DemoNode]:
        """The public nodes."""
        return [self._server(name) for name in self.node_names]

    @property
    def ring0(self) -> DemoNode | None:
        """The private node, or None if the stack has no ring 0."""
        return self._server(RING0_NAME) if self.has_ring0 and f"{RING0_NAME}-dns" in self.ports else None

    @property
    def servers(self) -> list[DemoNode]:
        """All PowerDNS servers with an agent, ring 0 last."""
        return [*self.nodes, *([self.ring0] if self.ring0 else [])]

    @property
    def front(self) -> DemoFront | None:
        """The dnsdist in front of the nodes, or None if the stack never had one."""
        if f"{FRONT_NAME}-dns" not in self.ports:
            return None
        chosen = {f"{kind}_port": self.ports[f"{FRONT_NAME}-{kind}"] for kind in FRONT_PORTS}
        return DemoFront(name=FRONT_NAME, directory=self.directory / "nodes" / FRONT_NAME, **chosen)

    def _server(self, name: str) -> DemoNode:
        return DemoNode(
            name=name,
            directory=self.directory / "nodes" / name,
            socket_directory=self.run_directory / name,
            dns_port=self.ports[f"{name}-dns"],
            agent_port=self.ports[f"{name}-agent"],
            statistics_port=self.ports[f"{name}-statistics"],
            metrics_port=self.ports[f"{name}-metrics"],
            is_ring0=name == RING0_NAME,
        )

    @property
    def env(self) -> dict[str, str]:
        """The environment of the stack's processes. Secrets are given as paths of files that contain them."""
        programs = [str(Path(sys.executable).parent), str(postgres_programs()), os.environ.get("PATH", "")]
        files = {
            f"PANEL_{name.upper().replace('-', '_')}_FILE": str(self.directory / "secrets" / name)
            for name in ("secret-key", "master-key", "database", "redis-url", *["demo-password"] * self.shape.people)
        }
        return {
            **os.environ,
            **self._environment,
            **files,
            "DJANGO_SETTINGS_MODULE": "dnspanel.settings",
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "PATH": ":".join([*programs, "/usr/sbin", "/sbin"]),
            "PANEL_RUN": str(self.run_directory),
            "PANEL_TRUSTED_PROXIES": "unix",
            "PANEL_UPDATE_PORT": str(self.update_port),
            "PANEL_UPDATE_TLS_PORT": str(self.ports["update-tls"]),
            "PANEL_URL": self.url,
            "PANEL_VAR": str(self.directory / "panel"),
            "PYTHONPATH": str(unprivileged.CHECKOUT),
            "PYTHONUNBUFFERED": "1",
            "STACK_DIR": str(self.directory),
            "STACK_WEB_SOCKET": str(self.web_socket),
        }

    # Start and stop

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start all processes and wait for them, or stop all. Raise StackError, PortTaken, NotStarted or NotUp."""
        self.start_pages()
        self.start_others()

    def start_pages(self) -> None:
        """Start the stores and, unless `stores_only`, the web processes. Raise the errors of `start`."""
        with self._stopped_by_errors():
            self._prepare()
            self._start_stores()
            if not self.shape.stores_only:
                self._say("Updating the database and the static files.")
                self.prepare_panel()
                unprivileged.make_directory(self.command_line.parent)
                unprivileged.write_program(self.command_line, cli_file.command_line(self.url))
                self._start_web()

    def start_others(self) -> None:
        """Start the panel's other processes and the nodes, and wait for them. Raise the errors of `start`."""
        if not self.shape.stores_only:
            with self._stopped_by_errors():
                self.supervisor.start(PANEL)
                self._wait("update", self.update_port)
                self._start_nodes()
                for name, times in self.starting.ends.items():
                    log = self.supervisor.logs / f"{name}.log"
                    self._say(f"{name} ended {times} times during the start and runs again. Its log: {log}")

    @contextlib.contextmanager
    def _stopped_by_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all processes of the stack. Keep its data."""
        self.supervisor.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _prepare(self) -> None:
        unprivileged.make_directory(self.directory)
        self._lock = self._lock_directory()
        for path in (self.run_directory, self.directory / "panel"):
            unprivileged.make_directory(path)
        self._choose_ports()
        self.stores.keep_passwords()
        secret_files = self.directory / "secrets"
        keep_secret(secret_files / "secret-key", lambda: secrets.token_urlsafe(64))
        keep_secret(secret_files / "master-key", lambda: Fernet.generate_key().decode())
        if self.shape.people:
            keep_secret(secret_files / "demo-password", lambda: secrets.token_hex(6))
        unprivileged.write(secret_files / "database", self.stores.database_url)
        unprivileged.write(secret_files / "redis-url", self.stores.redis_url)
        proxy.write_configuration(self.directory / "proxy", port=self.ports["web"], web_socket=self.web_socket)

    def _start_stores(self) -> None:
        self.supervisor.open(env=self.env)
        # While supervisord loads the panel, it starts nothing. Creating a new cluster takes about as long.
        is_new = not self.stores.has_cluster
        if is_new:
            self.supervisor.load()
        self.stores.prepare()
        self.supervisor.start(STORES)
        if not is_new:
            self.supervisor.load()
        self.starting.wait("postgres", lambda: not self.stores.postgres_fault())
        self.starting.wait("redis", lambda: not self.stores.redis_fault())
        self._say("PostgreSQL and Redis are up.")

    def prepare_panel(self) -> None:
        """Migrate the database and collect static files. PostgreSQL must be running. Raise StackError on failure."""
        with ThreadPoolExecutor() as pool:
            steps = [("migrate", "--verbosity=0"), ("collectstatic", "--noinput", "--verbosity=0")]
            list(pool.map(lambda step: self.manage(*step), steps))

    def _start_web(self) -> None:
        self.supervisor.start(FIRST)
        if self.shape.sample_zones:
            self._say(self.manage("demo_zones").strip())
        self.wait_for_web()
        self._say("The web pages are up.")

    def _start_nodes(self) -> None:
        """Enroll and start all nodes, and wait until they respond to DNS clients and to the panel."""
        for node in self.servers:
            node.configure()
        if self.front:
            self.front.configure()
        self.prepare_nodes()
        self.supervisor.start(self.supervisor.commands)
        for node in self.servers:
            self._wait(f"{node.name}-pdns", node.dns_port)
            self._wait(f"{node.name}-agent", node.agent_port)
        self._say(f"{len(self.nodes)} name servers are up.")
        if self.front:
            self._wait(f"{FRONT_NAME}-dnsdist", self.front.dns_port)
            self._say("The dnsdist in front of the name servers is up.")

    def prepare_nodes(self) -> None:
        """Enroll all nodes and create their LMDB files. The panel must be running. Raise StackError if this fails."""
        self._say(self.manage("demo_fleet", str(self.directory)).strip())
        agent = [sys.executable, "-m", "replication.agent"]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: self.run([*agent, "prepare", "--config", str(node.agent_toml)]), self.servers))

    def wait_for_web(self) -> None:
        """Wait until the web processes and the proxy accept requests. Raise NotUp if they don't start."""
        self._wait("web", str(self.web_socket))
        self._wait("proxy", self.ports["web"])

    def _wait(self, name: str, where: int | str) -> None:
        """Wait until the process listens on its TCP port or UNIX socket. Raise NotUp if it doesn't start."""
        self.starting.wait(name, lambda: _listens(where))

    # Commands in its environment

    def run(self, command: Sequence[str], *, stdin: str | None = None) -> str:
        """Run a command as the stack's user and in its environment. Return its output. Raise StackError if it fails."""
        done = subprocess.run(
            [*unprivileged.prefix(), *command],
            env=self.env,
            cwd=unprivileged.CHECKOUT,
            input=stdin,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise _error_of(command, done.returncode, done.stderr or done.stdout)
        return done.stdout

    def manage(self, *args: str) -> str:
        """Run a management command and return its output. Raise StackError if the command fails."""
        command = ["manage.py", *args]
        ended = self.supervisor.run_command(command)
        if ended is None:
            return self.run([sys.executable, *command])
        if ended.status != 0:
            raise _error_of(command, ended.status, ended.err or ended.out)
        return ended.out

    # Ports and lock

    def _has_process(self, name: str) -> bool:
        if self.shape.stores_only:
            return name in STORES
        if name.startswith(f"{RING0_NAME}-"):
            return self.has_ring0
        if name.startswith(f"{FRONT_NAME}-"):
            return self.has_front
        return self.shape.traffic or name != "traffic"

    def _choose_ports(self) -> None:
        """Choose and store the ports, if possible the previous ones. Raise PortTaken if a fixed port is in use."""
        path = self.directory / "stack.json"
        chosen: dict[str, int] = json.loads(path.read_text())["ports"] if path.exists() else {}
        # Processes of a stack that was just killed may still be ending.
        patience = 5 if chosen else 0
        if "web" in self._requested_ports:
            chosen["web"] = self._requested_ports["web"]
        of_servers = [f"{name}-{kind}" for name in self.server_names for kind in NODE_PORTS]
        of_servers += [f"{FRONT_NAME}-{kind}" for kind in FRONT_PORTS if self.has_front]
        for name in ("web", "update", "update-tls", *STORES, *of_servers):
            if name in chosen and not ports.wait_until_free(chosen[name], seconds=patience):
                if name == "web":
                    raise ports.PortTaken(chosen[name], "the web page", instead="set PANEL_PORT to another port")
                if name.endswith(("-dns", "-agent")):  # the panel stores these ports of the node
                    raise ports.PortTaken(chosen[name], name.replace("-", "'s ", 1), instead="stop that program")
                del chosen[name]
            if name not in chosen:
                preferred = self._requested_ports.get(name)
                chosen[name] = ports.choose(taken=set(chosen.values()), preferred=preferred, among=self._free_ports)
        unprivileged.write(path, json.dumps({"ports": chosen}, indent=1) + "\n")
        self._ports = chosen

    def _lock_directory(self) -> IO[str]:
        """Lock the directory until the returned file is closed.

        Raise StackError if a stack already runs in the directory, or if another user owns it.
        """
        path = self.directory / "stack.lock"
        try:
            lock = path.open("a")
        except PermissionError:
            owner = self.directory.owner()
            message = f"{self.directory} belongs to the user {owner}; go on as that user or as root, or remove it."
            raise StackError(message) from None
        unprivileged.give(path)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise StackError(f"The stack in {self.directory} runs already; stop that one first.") from None
        return lock


def _error_of(command: Sequence[str], status: int, output: str) -> StackError:
    """Return the error for a failed command. It contains the end of the command's output."""
    return StackError(
        "\n".join([f"{' '.join(command[:6])} ended with status {status}:", *output.strip().splitlines()[-12:]])
    )


def _listens(where: int | str) -> bool:
    """Return True if a process accepts connections on this TCP port of loopback or this UNIX socket."""
    family, address = (socket.AF_UNIX, where) if isinstance(where, str) else (socket.AF_INET, (ports.LOOPBACK, where))
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(1)
        try:
            sock.connect(address)
        except OSError:
            return False
    return True
