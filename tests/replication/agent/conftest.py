"""A running node for tests: pdns_server, an agent, and a client with the panel's certificate."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from replication import verify
from replication.node_client import NodeClient
from tests.replication.agent.servers import (
    PDNS_SERVER,
    AgentFiles,
    AgentProcess,
    Authority,
    Pdns,
    SupervisedPdns,
    client_for,
    short_directory,
)


@dataclass
class RunningNode:
    """One node: a running pdns_server, a running agent, and a client of the agent."""

    pdns: Pdns
    agent: AgentProcess
    client: NodeClient
    files: AgentFiles
    authority: Authority

    def answer(self, name: str, type: int = 1) -> list[str]:
        """Return the rdata that PowerDNS answers now, or the answer's rcode if it has no rdata."""
        message = verify.ask("127.0.0.1", self.pdns.port, name, type, 2)
        found = [item.to_text() for rrset in message.answer if rrset.rdtype == type for item in rrset]
        return sorted(found) or [message.rcode().name]


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture
def authority(directory: Path) -> Authority:
    return Authority(directory)


@pytest.fixture
def files(directory: Path, authority: Authority) -> AgentFiles:
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    return AgentFiles(directory, authority, Pdns(directory))


@pytest.fixture
def node(files: AgentFiles, authority: Authority) -> Iterator[RunningNode]:
    """Run an agent that creates the files, and a pdns_server that serves them."""
    with running(files, authority) as node:
        yield node


@pytest.fixture
def supervised_node(directory: Path, authority: Authority) -> Iterator[RunningNode]:
    """Run a node whose PowerDNS is restarted when it ends, and whose agent can write pdns.conf."""
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    pdns = SupervisedPdns(directory)
    files = AgentFiles(directory, authority, pdns)
    files.settings["pdns_conf"] = "pdns.conf"
    files.write()
    with running(files, authority) as node:
        yield node


@pytest.fixture(scope="module")
def shared_node() -> Iterator[RunningNode]:
    """Run one node for all tests of a module that only read from it or whose requests are refused."""
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    with short_directory() as directory:
        authority = Authority(directory)
        with running(AgentFiles(directory, authority, Pdns(directory)), authority) as node:
            yield node


@contextmanager
def running(files: AgentFiles, authority: Authority) -> Iterator[RunningNode]:
    agent = AgentProcess(files)
    client = client_for(files, authority.client_context())
    try:
        agent.start()
        files.pdns.start()
        yield RunningNode(files.pdns, agent, client, files, authority)
    finally:
        client.close()
        agent.stop()
        files.pdns.kill()
