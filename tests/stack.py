"""A complete real stack for tests: processes, three PowerDNS nodes and sample zones, and functions that query it."""

import fcntl
import hashlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import psycopg
import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack, StackError, StackShape
from tests.interpreter import Interpreter
from tests.ports import OF_STACKS
from tests.workers import FOLDER

ROOT = Path(__file__).resolve().parent.parent

PASSWORD = "correct horse battery staple"

# The stacks of session fixtures. They run until no remaining test needs them.
shared_stacks: list[Stack] = []


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Start the stack that all tests of a run share, with the sample zones and a low rate of queries."""
    with new_stack("stack", sample_zones=True, traffic=True) as running:
        wait_until_in_sync(running)
        shared_stacks.append(running)
        yield running


def stop_shared_stacks() -> None:
    """Stop all shared stacks, so that they don't use the processor during later tests."""
    while shared_stacks:
        shared_stacks.pop().stop()


@pytest.fixture
def fresh_stack() -> Iterator[Stack]:
    """Start a stack without zones for one test only."""
    with new_stack("fresh-stack", sample_zones=False, traffic=False) as running:
        yield running


# Long enough for a busy machine, but shorter than in production.
PATIENCE = {"PANEL_RING0_PATIENCE": "20", "PANEL_REFUSAL_PATIENCE": "6"}
# An address without a resolver, so that tests do not depend on public DNS.
NO_RESOLVER = {"PANEL_DNS_RESOLVERS": "127.0.0.1:9"}
# Other name servers of tests run on this machine.
OTHER_SERVERS = {"PANEL_SECONDARY_NETWORKS": "127.0.0.0/8", "PANEL_SOURCE_NETWORKS": "127.0.0.0/8"}


class PreparedStack(Stack):
    """A stack in a copy of a prepared directory. Only the ports and the identities of its machines are new."""

    def prepare_panel(self) -> None:
        update = "UPDATE fleet_node SET dns_port = %s, agent_port = %s, machine = '' WHERE name = %s"
        with psycopg.connect(self.stores.database_url) as connection:
            for node in self.servers:
                connection.execute(update, (node.dns_port, node.agent_port, node.name))

    def prepare_nodes(self) -> None:
        """Do nothing, because identities and LMDB files were copied."""

    @cached_property
    def interpreter(self) -> Interpreter:
        return Interpreter(self.env, prefix=unprivileged.prefix())

    def manage(self, *args: str) -> str:
        """Run a management command in a fork and return its output. Raise StackError if it fails."""
        return str(run_inside(self, "management.run", *args))

    def stop(self) -> None:
        if "interpreter" in vars(self):  # a stack that could not start has no environment for it
            self.interpreter.close()
        super().stop()


def run_inside(stack: Stack, name: str, *args: Any) -> Any:
    """Run a function of `tests.inside` in the panel's environment and return its result.

    `name` consists of module and function, such as `catalogs.follow`. Arguments and result are passed as JSON. Raise
    StackError if the function fails. A prepared stack reuses an interpreter with Django already loaded. Other stacks,
    such as those of benchmarks, start a new one.
    """
    if isinstance(stack, PreparedStack):
        ended = stack.interpreter.run(name, *args)
    else:
        with closing(Interpreter(stack.env, prefix=unprivileged.prefix())) as interpreter:
            ended = interpreter.run(name, *args)
    if ended.status != 0:
        last = (ended.err or ended.out).strip().splitlines()[-12:]
        raise StackError("\n".join([f"{name} ended with status {ended.status}:", *last]))
    return ended.result


def new_stack(name: str, *, sample_zones: bool, traffic: bool, durable: bool = False) -> Stack:
    """Return a stack in its own directory, without zones or with the sample zones. It runs within a `with` block.

    In a full run, each of its processes is started as in production.
    """
    from tests.full import is_full  # `tests.full` imports this module

    directory = FOLDER / name
    shutil.rmtree(directory, ignore_errors=True)
    files = prepared_stack()
    unprivileged.make_directory(directory)
    subprocess.run(["cp", "-a", *map(str, files.iterdir()), str(directory)], check=True)
    return PreparedStack(
        directory,
        StackShape(sample_zones=sample_zones, traffic=traffic, durable=durable, forks=not is_full()),
        free_ports=OF_STACKS,
        environment=PATIENCE | NO_RESOLVER | OTHER_SERVERS,
    )


@cache
def prepared_stack() -> Path:
    """Return the directory that new stacks copy: secrets, a migrated database, static files and nodes in sync."""
    shared = ROOT / "var" / "test" / "prepared"
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for old in shared.glob("*-*"):
            if not old.name.startswith(_digest()):
                shutil.rmtree(old)
        files = shared / f"{_digest()}-stack"
        if not files.exists():
            new = shared / "new-stack"
            with Stack(new, StackShape(sample_zones=False, traffic=False, durable=False, forks=True)) as stack:
                wait_until_in_sync(stack, seconds=60)
            for name in ("stack.json", "stack.lock", "log", "run", "supervisord.conf"):
                path = new / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            new.rename(files)
    return files


@cache
def _digest() -> str:
    """Return a digest of all code and files that a stack is made of."""
    digest = hashlib.sha256()
    for folder in ("dnspanel", "replication", "static"):
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Answer:
    """A node's answer: the response code, and the sorted rdata of the answer section as text."""

    rcode: str
    rdata: tuple[str, ...]


def ask(node: DemoNode, name: str, rdtype: str = "A", *, timeout: float = 2.0) -> Answer:
    """Query one node over UDP. Raise dns.exception.Timeout if it does not answer."""
    reply = dns.query.udp(dns.message.make_query(name, rdtype), "127.0.0.1", port=node.dns_port, timeout=timeout)
    wanted = dns.rdatatype.from_text(rdtype)
    found = sorted(str(rdata) for rrset in reply.answer if rrset.rdtype == wanted for rdata in rrset)
    return Answer(rcode=dns.rcode.to_text(reply.rcode()), rdata=tuple(found))


def ask_all(stack: Stack, name: str, rdtype: str = "A") -> list[Answer]:
    """Return the answer of each node of the stack, ordered by name."""
    return [ask(node, name, rdtype) for node in stack.nodes]


# Checking takes at most a fifth of the time, to leave the processor to others.
PAUSE_PER_LOOK, LONGEST_PAUSE = 4.0, 1.0


def until(
    condition: Callable[[], bool], *, seconds: float, what: str | Callable[[], str], pause: float = 0.05
) -> float:
    """Wait until the condition is true, and return the seconds that this took. Raise TimeoutError if it stays false.

    The error names `what`, or the result of calling it. After a slow check of the condition, the pause is longer.
    """
    start = time.monotonic()
    while True:
        began = time.monotonic()
        if condition():
            return time.monotonic() - start
        now = time.monotonic()
        if now - start > seconds:
            raise TimeoutError(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(max(pause, min(LONGEST_PAUSE, PAUSE_PER_LOOK * (now - began))))


def make_person(stack: Stack, username: str, *, role: str = "administrator") -> str:
    """Create an account through a real invitation, and return its password."""
    run_inside(stack, "people.make_person", username, role, PASSWORD)
    return PASSWORD


def wait_until_in_sync(stack: Stack, *, seconds: float = 30) -> None:
    """Wait until every node has acknowledged the head of the log. Raise TimeoutError with the reasons for the delay."""

    behind = """
        SELECT NOT EXISTS (SELECT FROM fleet_node)
            OR EXISTS (SELECT FROM fleet_node, zones_loghead WHERE acked <> sequence)"""
    with psycopg.connect(stack.stores.database_url, autocommit=True) as connection:

        def in_sync() -> bool:
            return connection.execute(behind).fetchone() == (False,)

        def what() -> str:
            rows = {words: connection.execute(sql).fetchall() for words, sql in _DELIVERY.items()}
            return "\n".join(["every node at the head of the log", *(f"{words}: {rows[words]}" for words in rows)])

        until(in_sync, seconds=seconds, what=what)


# The most useful facts if a fleet does not come into sync.
_DELIVERY = {
    "head": "SELECT sequence FROM zones_loghead",
    "nodes": """
        SELECT n.name, n.state, n.acked, n.refusal, g.name, g.verify_seconds
        FROM fleet_node n LEFT JOIN fleet_nodegroup g ON g.id = n.group_id ORDER BY n.id""",
    "delivery": "SELECT stopped_reason, stopped_whole, pinned FROM fleet_delivery",
    "released": "SELECT group_id, sequence FROM fleet_release",
    "isolations": "SELECT failed, inverse, merged_at FROM fleet_isolation",
    "unproven": "SELECT node_id, zone_id FROM fleet_unprovenzone",
    "publications": """
        SELECT sequence, channel, reason, failed_reason FROM zones_publication ORDER BY sequence DESC LIMIT 5""",
    "segments": "SELECT first, last FROM publish_segment ORDER BY last DESC LIMIT 5",
}
