"""Bringing a node on, over real TLS against an agent's real answers."""

import contextlib
import io
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from replication.errors import Gap, NeedsSnapshot, NodeAhead, NodeUnreachable, NotServed
from replication.pace import Pace
from replication.push import BATCH_BYTES, BATCH_SEGMENTS, NodeClient, SealedSegment, bring_to_head
from replication.steps import Way
from replication.wire.position import Position
from replication.wire.protocol import Ack, encode_message, encode_refusal
from tests.replication.agent.servers import Authority

EPOCH = UUID("e1000000-0000-4000-8000-000000000001")


def at(sequence: int) -> Position:
    return Position(EPOCH, sequence)


@dataclass
class Agent:
    """The agent's end of the wire: accepts TLS, reads requests, gives the answers it is told to give."""

    listener: socket.socket
    context: ssl.SSLContext
    answer: Callable[[str, bytes], tuple[int, bytes] | None]
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    connections: int = 0

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with contextlib.suppress(OSError), plain:
                self._serve_connection(plain)

    def _serve_connection(self, plain: socket.socket) -> None:
        with self.context.wrap_socket(plain, server_side=True) as tls, tls.makefile("rwb") as stream:
            while self._serve_one(stream):
                pass

    def _serve_one(self, stream: Any) -> bool:
        line = stream.readline().decode()
        if not line:
            return False
        size = 0
        while (header := stream.readline().strip()) != b"":
            if header.lower().startswith(b"content-length:"):
                size = int(header.split(b":")[1])
        body = stream.read(size)
        self.requests.append((line.rsplit(" ", 1)[0], body))
        answer = self.answer(line, body)
        if answer is None:
            return False
        head = f"HTTP/1.1 {answer[0]} X\r\nContent-Length: {len(answer[1])}\r\n\r\n".encode()
        stream.write(head + answer[1])
        stream.flush()
        return True


def acked(sequence: int) -> tuple[int, bytes]:
    return 200, encode_message(Ack(at(sequence), bytes(16), bytes(16)).to_json())


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


class Log:
    """A log of segments whose body is their last sequence."""

    def __init__(self, *ranges: tuple[int, int], size: int = 10) -> None:
        self.ranges, self.size = ranges, size

    def way(self, have: Position | None) -> Way:
        head = at(self.ranges[-1][1]) if self.ranges else None
        return Way(head, head, oldest=self.ranges[0][0] if self.ranges else 1)

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        for first, last in self.ranges:
            if last > sequence:
                body = f"{last:{self.size}d}".encode()
                yield SealedSegment(first, last, self.size, lambda body=body: io.BytesIO(body))  # type: ignore[misc]


def last_of(body: bytes) -> int:
    return int(body.split()[-1])


def test_a_node_behind_gets_all_it_lacks_in_one_request(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    server.answer = lambda line, body: acked(last_of(body))
    ack = bring_to_head(client, Log((1, 1), (2, 4), (5, 5)), at(1))
    assert ack is not None
    assert ack.position == at(5)
    assert [(line, body.split()) for line, body in server.requests] == [("PUT /v1/segments", [b"4", b"5"])]


def test_a_node_at_the_head_is_not_called(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    assert bring_to_head(client, Log((1, 3)), at(3)) is None
    assert server.requests == []


def test_many_and_large_segments_travel_in_several_requests(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    server.answer = lambda line, body: acked(last_of(body))
    bring_to_head(client, Log(*((n, n) for n in range(1, BATCH_SEGMENTS + 3))), None)
    assert [len(body.split()) for _, body in server.requests] == [BATCH_SEGMENTS, 2]
    server.requests.clear()
    bring_to_head(client, Log((1, 1), (2, 2), size=BATCH_BYTES + 1), None)
    assert [len(body) for _, body in server.requests] == [BATCH_BYTES + 1, BATCH_BYTES + 1]


def test_a_node_that_no_segment_can_help_is_not_called(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    with pytest.raises(NeedsSnapshot, match="sequence 1"):
        bring_to_head(client, Log((3, 3), (4, 4)), at(1))
    with pytest.raises(NodeAhead):
        bring_to_head(client, Log((3, 3), (4, 4)), at(5))
    assert server.requests == []


def test_a_gap_starts_again_from_the_nodes_own_position(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    server.answer = lambda line, body: (
        encode_refusal(Gap(have=at(1), got=3), at(1)) if len(server.requests) == 1 else acked(last_of(body))
    )
    ack = bring_to_head(client, Log((1, 1), (2, 2), (3, 3)), at(2))
    assert ack is not None
    assert ack.position == at(3)
    assert [body.split() for _, body in server.requests] == [[b"3"], [b"2", b"3"]]


def test_a_gap_that_changes_nothing_is_not_repeated_for_ever(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    server.answer = lambda line, body: encode_refusal(Gap(have=at(1), got=3), at(1))
    with pytest.raises(Gap):
        bring_to_head(client, Log((1, 1), (2, 2)), at(1))
    assert len(server.requests) == 1


def test_refusals_of_the_agent_reach_the_caller(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    refusal = NotServed(question="www.test. A", expected="1 records", found="none")
    server.answer = lambda line, body: encode_refusal(refusal, at(1))
    with pytest.raises(NotServed, match=r"www\.test"):
        bring_to_head(client, Log((1, 1)), None)


def test_a_deadline_ends_the_work_between_two_requests(agent: tuple[Agent, NodeClient]) -> None:
    server, client = agent
    server.answer = lambda line, body: acked(last_of(body))
    ack = bring_to_head(client, Log((1, 1), (2, 2), size=BATCH_BYTES + 1), None, until=0.0)
    assert ack is not None
    assert ack.position == at(1)
    assert len(server.requests) == 1


def test_a_push_that_failed_by_time_is_repeated_with_less(agent: tuple[Agent, NodeClient]) -> None:
    # A starved node was sent 475 to 569, then 475 to 584, then 475 to 639, for eight minutes.
    server, client = agent
    late = NotServed(question="www.test. A", expected="an answer", found="none")
    server.answer = lambda line, body: encode_refusal(late, at(0)) if len(body.split()) > 3 else acked(last_of(body))
    pace, have, log = Pace(), at(0), Log(*((n, n) for n in range(1, 9)))
    for _ in range(2):
        with pytest.raises(NotServed):
            bring_to_head(client, log, have, pace=pace)
    log = Log(*((n, n) for n in range(1, 12)))  # more was published since
    with pytest.raises(NotServed):
        bring_to_head(client, log, have, pace=pace)
    assert [len(body.split()) for _, body in server.requests] == [8, 4, 2, 3, 4]
    assert pace.is_slow
    ack = bring_to_head(client, log, at(5), pace=pace)
    assert ack is not None
    assert ack.position == at(11)


def test_what_an_agent_says_of_more_than_it_was_sent_is_not_believed(agent: tuple[Agent, NodeClient]) -> None:
    # The files of a node have what a push brought that was not proved; agents from before acknowledge all of it.
    server, client = agent
    server.answer = lambda line, body: acked(max(9, last_of(body)))
    ack = bring_to_head(client, Log(*((n, n) for n in range(1, 13))), at(0), pace=Pace(4))
    assert ack is not None
    assert ack.position == at(12)
    assert [last_of(body) for _, body in server.requests] == [4, 10, 12]


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
    """What is left open is a ResourceWarning, which fails the test."""
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
