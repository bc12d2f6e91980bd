"""The client of an agent, over real TLS: one connection, few bytes, and the errors of a broken connection."""

import contextlib
import socket
import ssl
import struct
import threading

import pytest

from replication.errors import NodeUnreachable
from replication.node_client import NodeClient
from tests.replication.scripted_agent import Agent, acked, at


def test_one_connection_serves_many_requests_with_few_bytes(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    for _ in range(3):
        client.push(b"x" * 300, 300)
    assert server.connections == 1
    assert client.bytes_sent <= 3 * (300 + 80)


def test_a_connection_that_went_stale_is_replaced_once(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    client.push(b"one", 3)
    server.answer = lambda line, body: None if body == b"two" and server.connections == 1 else acked(2)
    assert client.push(b"two", 3).position == at(2)
    assert server.connections == 2


def test_an_agent_that_hangs_up_twice_is_unreachable(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    server.answer = lambda line, body: None
    with pytest.raises(NodeUnreachable):
        client.push(b"one", 3)


def test_an_agent_that_is_silent_is_unreachable(agent: tuple[Agent, NodeClient]) -> None:
    server, _ = agent
    release = threading.Event()

    def silent(line: str, body: bytes) -> None:
        release.wait(5)

    server.answer = silent
    context = ssl._create_unverified_context()
    client = NodeClient("127.0.0.1", server.port, context, answer_seconds=0.3)
    with client, pytest.raises(NodeUnreachable, match="timed out"):
        client.push(b"one", 3)
    release.set()


def test_a_refused_connection_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(NodeUnreachable, match="refused"):
        NodeClient("127.0.0.1", port, ssl.create_default_context()).status()


def test_a_connection_that_is_reset_at_once_leaves_nothing_open() -> None:
    """An open connection would cause a ResourceWarning, which fails the test."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=reset_all, args=(listener,), daemon=True)
        acceptor.start()
        client = NodeClient("127.0.0.1", listener.getsockname()[1], ssl.create_default_context())
        for _ in range(300):
            with pytest.raises(NodeUnreachable):
                client.status()
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join(5)


def reset_all(listener: socket.socket) -> None:
    """Answer every connection with a reset, until the listener is shut down."""
    with contextlib.suppress(OSError):
        while True:
            accepted, _ = listener.accept()
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()


def test_an_agent_of_another_authority_is_unreachable(agent: tuple[Agent, NodeClient]) -> None:
    server, _ = agent
    client = NodeClient("127.0.0.1", server.port, ssl.create_default_context())
    with client, pytest.raises(NodeUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        client.status()
