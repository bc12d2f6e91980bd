"""Nodes for tests: made by the verbs, approved with a real signing request."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.utils import timezone

from dnspanel.fleet import enroll, telemetry
from dnspanel.fleet.authority import ensure_authority
from dnspanel.fleet.lines import lines
from dnspanel.fleet.models import Node
from dnspanel.publish.signing import ensure_signing_key, public_keys
from dnspanel.zones.models import LogHead
from tests.dnspanel.fleet.agents import Agent, open_store, write_pem
from tests.dnspanel.publish.conftest import publisher_directory as publisher_directory

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

MakeNode = Callable[..., Node]


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def signing_request(key: ec.EllipticCurvePrivateKey | None = None, name: str = "node") -> str:
    """A PEM request as an agent makes it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key or new_key(), hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture
def waiting_node() -> MakeNode:
    """Makes nodes that wait for their agent."""

    def make(name: str = "ns1", agent_port: int = 8533, agent_host: str = "127.0.0.1") -> Node:
        return enroll.create_node(
            name=name, dns_address="192.0.2.53", dns_port=53, agent_host=agent_host, agent_port=agent_port,
            schema=4, now=NOW, by=None,
        )  # fmt: skip

    return make


@pytest.fixture
def active_node(waiting_node: MakeNode) -> MakeNode:
    """Makes nodes whose agent was approved; `key` is the agent's own."""

    def make(name: str = "ns1", key: ec.EllipticCurvePrivateKey | None = None, agent_port: int = 8533) -> Node:
        node = waiting_node(name, agent_port)
        code = enroll.make_code(node=node, now=NOW, by=None)
        enroll.submit_request(code=code, csr_pem=signing_request(key), now=NOW)
        return enroll.approve(node=node, now=NOW, by=None)

    return make


@pytest.fixture
def live_redis() -> Iterator[None]:
    """Redis without live numbers, before and after."""
    redis = telemetry.connection(settings.REDIS_URL)
    for moment in ("before", "after"):
        for key in (*redis.scan_iter("live:*"), *redis.scan_iter("totals:*")):
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
    """Makes active nodes whose agents answer on a port of this machine."""
    running: list[Agent] = []

    def make(name: str = "ns1") -> Served:
        now = timezone.now()
        ensure_signing_key(now=now)
        key = new_key()
        node = waiting_node(name, free_port())
        code = enroll.make_code(node=node, now=now, by=None)
        enroll.submit_request(code=code, csr_pem=signing_request(key), now=now)
        enroll.approve(node=node, now=now, by=None)
        store = open_store(tmp_path / name, LogHead.objects.get().cluster)
        agent = Agent(store, public_keys())
        pem = write_pem(tmp_path / f"{name}.pem", node.certificate_pem, key)
        agent.start(pem, ensure_authority(now=now).ca_pem, node.agent_port)
        running.append(agent)
        return Served(node, agent, pem)

    yield make
    lines.close()
    for agent in running:
        agent.stop()
        agent.store.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
