"""The publishing panel for all tests in this folder."""

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.node_client import NodeClient
from tests.replication.agent.servers import Authority
from tests.replication.panel import Panel
from tests.replication.scripted_agent import Agent, acked


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    """Create a panel for schema 4 that hasn't published anything."""
    directory = tmp_path / "panel"
    directory.mkdir()
    panel = Panel(directory)
    yield panel
    panel.close()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[tuple[Agent, NodeClient]]:
    authority = Authority(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*authority.issue("ns1", "node"))
    listener = socket.create_server(("127.0.0.1", 0))
    agent = Agent(listener, server, lambda line, body: acked(0))
    thread = threading.Thread(target=agent.serve, daemon=True)
    thread.start()
    client = NodeClient("127.0.0.1", agent.port, authority.client_context(), answer_seconds=2)
    yield agent, client
    client.close()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)
