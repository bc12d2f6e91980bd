"""One request to many agents, over real TLS, with scripted answers."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replication.errors import Gap, NodeUnreachable, NotServed
from replication.fan_out import LONGEST_ANSWER, LONGEST_HEADER, push_to_all
from replication.node_client import NodeClient
from replication.wire.protocol import Ack, encode_refusal
from tests.replication.agent.servers import Authority
from tests.replication.scripted_agent import Agent, acked, at

Connected = Callable[..., tuple[Agent, NodeClient]]


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Connected]:
    """Return a function that makes agents, and clients that are connected to them."""
    authority = Authority(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*authority.issue("ns1", "node"))
    made: list[tuple[Agent, NodeClient, threading.Thread]] = []

    def make(*, answer_seconds: float = 10) -> tuple[Agent, NodeClient]:
        agent = Agent(socket.create_server(("127.0.0.1", 0)), server, lambda line, body: acked(1))
        thread = threading.Thread(target=agent.serve, daemon=True)
        thread.start()
        client = NodeClient("127.0.0.1", agent.port, authority.client_context(), answer_seconds=answer_seconds)
        made.append((agent, client, thread))
        client.push(b"first", 5)
        return agent, client

    yield make
    for agent, client, thread in made:
        client.close()
        agent.listener.shutdown(socket.SHUT_RDWR)
        agent.listener.close()
        thread.join(5)


def test_every_node_gets_its_bytes_over_the_connection_that_is_kept(connected: Connected) -> None:
    pairs = {name: connected() for name in ("ns1", "ns2", "ns3")}
    for number, (agent, _) in enumerate(pairs.values(), start=2):
        agent.answer = lambda line, body, number=number: acked(number)  # type: ignore[misc]
    before = pairs["ns1"][1].bytes_sent
    answers = {}
    for together in push_to_all({name: (client, name.encode()) for name, (_, client) in pairs.items()}):
        answers |= together
    assert {name: answer.position for name, answer in answers.items() if isinstance(answer, Ack)} == {
        "ns1": at(2),
        "ns2": at(3),
        "ns3": at(4),
    }
    for name, (agent, client) in pairs.items():
        assert agent.requests[1:] == [("PUT /v1/segments", name.encode())]
        assert agent.connections == 1
        assert client.push(b"next", 4).position == answers[name].position, "and again for one alone"
    assert agent.connections == 1
    assert 100 < pairs["ns1"][1].bytes_sent - before < 300


def test_a_refusal_concerns_its_node_alone(connected: Connected) -> None:
    pairs = {name: connected() for name in ("ns1", "ns2")}
    pairs["ns2"][0].answer = lambda line, body: encode_refusal(Gap(have=at(1), got=3), at(1))
    answers = {}
    for together in push_to_all({name: (client, b"x") for name, (_, client) in pairs.items()}):
        answers |= together
    assert isinstance(answers["ns1"], Ack)
    assert isinstance(answers["ns2"], Gap)
    assert answers["ns2"].have == at(1)


def test_nobody_waits_for_a_node_that_is_silent(connected: Connected) -> None:
    (quick, client), (silent, waiting) = connected(), connected(answer_seconds=0.3)
    done = threading.Event()
    silent.answer = lambda line, body: done.wait(5) and None
    found = push_to_all({"quick": (client, b"x"), "silent": (waiting, b"x")})
    assert [*next(found)] == ["quick"]
    late = next(found)
    done.set()
    assert isinstance(late["silent"], NodeUnreachable)
    assert "timed out" in str(late["silent"])
    assert (waiting.connection, client.connection is None, [*found]) == (None, False, [])
    assert len(quick.requests) == 2


@pytest.mark.parametrize("broken", ["ended before", "ended by it"])
def test_a_connection_that_ended_is_found_out(connected: Connected, broken: str) -> None:
    agent, client = connected()
    agent.answer = lambda line, body: None
    if broken == "ended before":
        assert client.connection is not None
        client.connection.shutdown(socket.SHUT_RDWR)
    (found,) = push_to_all({"ns1": (client, b"x")})
    assert isinstance(found["ns1"], NodeUnreachable)
    assert client.connection is None


def test_whoever_hears_nothing_out_leaves_no_answer_to_somebody_else(connected: Connected) -> None:
    (_, client), (silent, waiting) = connected(), connected()
    done = threading.Event()
    silent.answer = lambda line, body: done.wait(5) and None
    found = push_to_all({"quick": (client, b"x"), "silent": (waiting, b"x")})
    next(found)
    found.close()  # type: ignore[attr-defined]
    done.set()
    assert waiting.connection is None, "its answer would be taken for the next one"
    assert client.connection is not None


def test_a_client_that_is_not_connected_is_a_mistake(connected: Connected) -> None:
    _, client = connected()
    client.close()
    with pytest.raises(ValueError, match="not connected"):
        next(push_to_all({"ns1": (client, b"x")}))


class Raw:
    """A connection whose other end sends exactly these pieces, with a short pause before each."""

    def __init__(self, tmp_path: Path, *pieces: bytes) -> None:
        authority = Authority(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("ns1", "node"))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            thread = threading.Thread(target=self._serve, args=(listener, context, pieces), daemon=True)
            thread.start()
            self.client = NodeClient("127.0.0.1", port, authority.client_context(), answer_seconds=5)
            self.client.connection = self.client._open_connection()

    def _serve(self, listener: socket.socket, context: ssl.SSLContext, pieces: tuple[bytes, ...]) -> None:
        plain, _ = listener.accept()
        with plain, context.wrap_socket(plain, server_side=True) as tls:
            self.received = tls.recv(1 << 16)
            for piece in pieces:
                tls.sendall(piece)
                time.sleep(0.002)
            tls.recv(1)

    def answer(self) -> object:
        (found,) = push_to_all({"ns1": (self.client, b"x")})
        self.client.close()
        return found["ns1"]


def test_an_answer_may_come_in_many_pieces(tmp_path: Path) -> None:
    status, body = acked(7)
    message = f"HTTP/1.1 {status} OK\r\nServer: agent\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    raw = Raw(tmp_path, *(message[n : n + 1] for n in range(len(message))))
    found = raw.answer()
    assert isinstance(found, Ack)
    assert found.position == at(7)
    assert raw.received.startswith(b"PUT /v1/segments HTTP/1.1\r\n")
    assert b"\r\nPrefer: respond-async\r\n" in raw.received


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * LONGEST_HEADER,
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (LONGEST_ANSWER + 1),
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"SSH-2.0-OpenSSH\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_not_heard_out(tmp_path: Path, answer: bytes) -> None:
    assert isinstance(Raw(tmp_path, answer).answer(), NodeUnreachable)


def test_a_refusal_without_sense_is_one_all_the_same(tmp_path: Path) -> None:
    status, body = encode_refusal(NotServed(question="www.test. A", expected="1", found="none"), at(1))
    found = Raw(tmp_path, f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body).answer()
    assert isinstance(found, NotServed)
