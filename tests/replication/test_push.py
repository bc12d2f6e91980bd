"""Pushes that bring a node to the panel's head, over real TLS with an agent's real answers."""

import io
from collections.abc import Iterator

import pytest

from replication.errors import Gap, NeedsSnapshot, NodeAhead, NotServed
from replication.node_client import NodeClient
from replication.pace import Pace
from replication.push import BATCH_BYTES, BATCH_SEGMENTS, SealedSegment, bring_to_head
from replication.steps import Way
from replication.wire.position import Position
from replication.wire.protocol import encode_refusal
from tests.replication.scripted_agent import Agent, acked, at


class Log:
    """A log of segments. The body of each segment is its last sequence."""

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
    log = Log(*((n, n) for n in range(1, 12)))  # more was published in the meantime
    with pytest.raises(NotServed):
        bring_to_head(client, log, have, pace=pace)
    assert [len(body.split()) for _, body in server.requests] == [8, 4, 2, 3, 4]
    assert pace.is_slow
    ack = bring_to_head(client, log, at(5), pace=pace)
    assert ack is not None
    assert ack.position == at(11)


def test_what_an_agent_says_of_more_than_it_was_sent_is_not_believed(agent: tuple[Agent, NodeClient]) -> None:
    # A node's files have data from an unproved push. Older agents acknowledge all of it.
    server, client = agent
    server.answer = lambda line, body: acked(max(9, last_of(body)))
    ack = bring_to_head(client, Log(*((n, n) for n in range(1, 13))), at(0), pace=Pace(4))
    assert ack is not None
    assert ack.position == at(12)
    assert [last_of(body) for _, body in server.requests] == [4, 10, 12]
