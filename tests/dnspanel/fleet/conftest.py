"""Fixtures of the fleet tests: nodes that the panel's functions create and approve with a real signing request."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.utils import timezone

from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.nodes.authority import client_ssl_context, ensure_authority
from dnspanel.fleet.push.agent_connections import connections
from dnspanel.publish.keys.segment_signing import ensure_signing_key, public_keys
from dnspanel.zones.models import LogHead
from replication.agent.agent_config import format_identity, parse_identity, read_config
from replication.agent.agent_identity import format_key, write_atomically
from replication.agent.node import AgentNode
from replication.node_client import NodeClient
from replication.wire.protocol import Status
from tests.dnspanel.fleet.agents import Agent, open_store, write_pem
from tests.dnspanel.publish.conftest import publisher_directory as publisher_directory
from tests.ports import free_port

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

MakeNode = Callable[..., Node]


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def signing_request(key: ec.EllipticCurvePrivateKey | None = None, name: str = "node") -> str:
    """Return a certificate signing request in PEM, as an agent creates it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key or new_key(), hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


def create_waiting_node(name: str = "ns1", agent_port: int = 8533, agent_host: str = "127.0.0.1") -> Node:
    """Create a node that waits for its agent."""
    return node_lifecycle.create_node(
        node_lifecycle.NodeDescription(
            name=name, dns_address="192.0.2.53", dns_port=53, agent_host=agent_host, agent_port=agent_port, schema=4
        ),
        now=NOW,
        by=None,
    )


def create_front(name: str = "front1", agent_port: int = 8534) -> Node:
    """Create a front that waits for its agent."""
    return node_lifecycle.create_node(
        node_lifecycle.NodeDescription(
            name=name, dns_address="192.0.2.80", dns_port=53, agent_host="127.0.0.1", agent_port=agent_port, schema=4
        ),
        now=NOW,
        by=None,
        is_front=True,
    )


def create_active_node(
    name: str = "ns1", key: ec.EllipticCurvePrivateKey | None = None, agent_port: int = 8533
) -> Node:
    """Create a node with an approved agent. `key` is the agent's private key."""
    node = create_waiting_node(name, agent_port)
    code = node_lifecycle.make_code(node=node, now=NOW, by=None)
    node_lifecycle.submit_request(code=code, csr_pem=signing_request(key), now=NOW)
    return node_lifecycle.approve(node=node, now=NOW, by=None)


@pytest.fixture
def waiting_node() -> MakeNode:
    """Return a function that creates nodes that wait for their agent."""
    return create_waiting_node


@pytest.fixture
def active_node() -> MakeNode:
    """Return a function that creates nodes with an approved agent."""
    return create_active_node


@pytest.fixture
def live_redis() -> Iterator[None]:
    """Delete all telemetry in Redis before and after the test."""
    redis = telemetry.connection(settings.REDIS_URL)
    kinds = ("live", "totals", "top", "watched", "log", "minutes", "hours", "lags", "zone-minute", "zone-top")
    for moment in ("before", "after"):
        for key in (key for kind in kinds for key in [*redis.scan_iter(f"{kind}:*")]):
            redis.delete(key)
        if moment == "before":
            yield


@dataclass
class Served:
    """An active node and its running agent."""

    node: Node
    agent: Agent
    pem: Path


@pytest.fixture
def served(waiting_node: MakeNode, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Yield a function that creates active nodes with running test agents on this machine."""
    running: list[Agent] = []

    def make(name: str = "ns1") -> Served:
        now = timezone.now()
        ensure_signing_key(now=now)
        key = new_key()
        node = waiting_node(name, free_port())
        code = node_lifecycle.make_code(node=node, now=now, by=None)
        node_lifecycle.submit_request(code=code, csr_pem=signing_request(key), now=now)
        node_lifecycle.approve(node=node, now=now, by=None)
        store = open_store(tmp_path / name, LogHead.objects.get().cluster)
        agent = Agent(store, public_keys())
        pem = write_pem(tmp_path / f"{name}.pem", node.certificate_pem, key)
        agent.start(pem, ensure_authority(now=now).ca_pem, node.agent_port)
        running.append(agent)
        return Served(node, agent, pem)

    yield make
    connections.close()
    for agent in running:
        agent.stop()
        agent.store.close()


@pytest.fixture
def enrolled_agent(tmp_path: Path) -> Iterator[Callable[..., "EnrolledAgent"]]:
    """Yield a function that creates active nodes with real agents on this machine, without PowerDNS."""
    running: list[EnrolledAgent] = []

    def make(name: str = "ns1", age: timedelta = timedelta(0)) -> EnrolledAgent:
        running.append(EnrolledAgent(name, tmp_path / name, age))
        return running[-1]

    yield make
    connections.close()
    for agent in running:
        agent.stop()


class EnrolledAgent:
    """An enrolled real agent that tests can stop, copy and restart."""

    def __init__(self, name: str, directory: Path, age: timedelta) -> None:
        self.directory = directory
        directory.mkdir()
        self.port = free_port()
        now = timezone.now()
        self.node = node_lifecycle.create_node(
            node_lifecycle.NodeDescription(
                name=name, dns_address="127.0.0.1", dns_port=53, agent_host="127.0.0.1", agent_port=self.port, schema=4
            ),
            now=now,
            by=None,
        )
        self.enroll(age)
        self._stop = threading.Event()
        self.start()

    def enroll(self, age: timedelta = timedelta(0)) -> None:
        """Enroll as the node `age` ago, like the agent's command. The request is approved at once."""
        now = timezone.now() - age
        code = node_lifecycle.make_code(node=self.node, now=now, by=None)
        identity = self.directory / "identity"
        identity.mkdir(exist_ok=True)
        key = new_key()
        csr = signing_request(key)
        node_lifecycle.submit_request(code=code, csr_pem=csr, now=now)
        node_lifecycle.approve(node=self.node, now=now, by=None)
        given = node_lifecycle.submit_request(code=code, csr_pem=csr, now=now)
        assert isinstance(given, node_lifecycle.Enrolled)
        for file, text in (
            ("node.key", format_key(key)),
            ("node.pem", given.certificate),
            ("ca.pem", given.ca),
            ("identity.json", format_identity(parse_identity(asdict(given) | {"cluster": str(given.cluster)}))),
        ):
            write_atomically(identity / file, text)

    def start(self, more: str = "") -> None:
        """Run the agent. `more` is appended to its agent.toml."""
        config = self.directory / "agent.toml"
        config.write_text(
            'identity_dir = "identity"\nstate_dir = "state"\nlmdb_path = "lmdb/pdns.lmdb"\n'
            'control_socket = "none"\ndns_address = "127.0.0.1"\ndns_port = 1\nreceiver_threads = 1\n'
            f'listen_host = "127.0.0.1"\nlisten_port = {self.port}\nmap_size_mib = 64\n{more}'
        )
        self._stop.clear()
        self.agent = AgentNode(read_config(config))
        self._thread = threading.Thread(target=self.agent.serve, args=(self._stop,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join(timeout=10)
            self.agent.__exit__(None, None, None)

    def client(self) -> NodeClient:
        """Return a new connection of the panel to the agent. The caller keeps it open."""
        self.node.refresh_from_db()
        context = client_ssl_context(ensure_authority(now=timezone.now()))
        return NodeClient("127.0.0.1", self.port, context, certificate_sha256=self.node.pins)

    def status(self) -> Status:
        with self.client() as client:
            return client.status()
