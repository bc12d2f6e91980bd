"""The decision about what to send to a node next, for all positions of a node and all interruptions."""

from dataclasses import replace
from uuid import UUID

import pytest

from replication.errors import NodeAhead, ReplicationError, WrongEpoch
from replication.steps import (
    BEHIND_BYTES,
    BEHIND_SEGMENTS,
    NEW_NODE_BYTES,
    NEW_NODE_SEGMENTS,
    Nothing,
    Refuse,
    SendSegments,
    SendSnapshot,
    Way,
    next_step,
)
from replication.wire.position import Position

EPOCH = UUID("e1000000-0000-4000-8000-000000000001")
OTHER = UUID("e2000000-0000-4000-8000-000000000002")


def at(sequence: int, epoch: UUID = EPOCH) -> Position:
    return Position(epoch, sequence)


def way(head: int, target: int | None = None, oldest: int = 1, snapshot: int | None = None) -> Way:
    return Way(at(head), at(head if target is None else target), oldest, snapshot=snapshot)


@pytest.mark.parametrize(
    ("have", "log", "after"),
    [
        (None, way(5), 0),
        (at(0), way(5), 0),
        (at(4), way(5), 4),
        (at(2), way(5, oldest=3), 2),
        (at(2), way(9, target=5), 2),
        (at(2), way(9, oldest=2, snapshot=8), 2),
    ],
)
def test_a_node_behind_is_sent_what_follows(have: Position | None, log: Way, after: int) -> None:
    assert next_step(have, log) == SendSegments(after=after)


@pytest.mark.parametrize(
    ("have", "log"),
    [
        (None, Way(None)),
        (at(5), way(5)),
        (None, way(0)),
        (at(0), way(0)),
        # Other nodes go first. This node is at its target, or passed it before publications were held back.
        (at(5), way(9, target=5)),
        (at(7), way(9, target=5)),
        (None, Way(at(9), target=None)),
        (at(3, OTHER), Way(at(9), target=None)),
    ],
)
def test_a_node_that_is_where_it_may_be_is_sent_nothing(have: Position | None, log: Way) -> None:
    assert next_step(have, log) == Nothing()


@pytest.mark.parametrize(
    ("have", "log"),
    [
        # Beyond the pruned log, with an existing snapshot or one that must be made first.
        (None, way(5, oldest=2)),
        (at(1), way(5, oldest=3)),
        (at(1), way(5, oldest=3, snapshot=4)),
        # No segment is left.
        (at(1), way(5, oldest=6, snapshot=5)),
        # It has another epoch of this panel, regardless of its sequence.
        (at(9, OTHER), way(5)),
        (at(5, OTHER), way(5)),
    ],
)
def test_a_node_that_no_segment_can_help_is_sent_a_snapshot(have: Position | None, log: Way) -> None:
    step = next_step(have, log)
    assert isinstance(step, SendSnapshot)
    assert step.reason


@pytest.mark.parametrize(
    ("have", "log", "error"),
    [
        (at(6), way(5), NodeAhead),
        (at(6), way(5, target=3), NodeAhead),
        (at(1), Way(None), NodeAhead),
        (at(5, OTHER), replace(way(5), knows_epoch=False), WrongEpoch),
        (at(0, OTHER), replace(way(5), knows_epoch=False), WrongEpoch),
        (at(0, OTHER), Way(at(5), target=None, knows_epoch=False), WrongEpoch),
    ],
)
def test_what_only_the_node_knows_is_never_overwritten(have: Position, log: Way, error: type[ReplicationError]) -> None:
    step = next_step(have, log)
    assert isinstance(step, Refuse)
    assert isinstance(step.error, error)


@pytest.mark.parametrize(
    ("have", "segments", "segment_bytes", "by_snapshot"),
    [
        (None, 10, NEW_NODE_BYTES, False),
        (None, 10, NEW_NODE_BYTES + 1, True),
        (None, NEW_NODE_SEGMENTS + 1, 1, True),
        (at(3), 10, NEW_NODE_BYTES + 1, False),
        (at(3), BEHIND_SEGMENTS, BEHIND_BYTES, False),
        (at(3), BEHIND_SEGMENTS + 1, 1, True),
        (at(3), 10, BEHIND_BYTES + 4_000_001, True),
        # The newest snapshot is not beyond the node.
        (at(8), BEHIND_SEGMENTS + 1, 1, False),
    ],
)
def test_the_shorter_way_is_taken(have: Position | None, segments: int, segment_bytes: int, by_snapshot: bool) -> None:
    log = Way(at(90_000), at(90_000), 1, segments, segment_bytes, snapshot=8, snapshot_bytes=1_000_000)
    step = next_step(have, log)
    assert isinstance(step, SendSnapshot if by_snapshot else SendSegments)


def test_a_large_log_without_a_snapshot_is_sent_as_it_is() -> None:
    log = Way(at(90_000), at(90_000), 1, segments=90_000, segment_bytes=1 << 30)
    assert next_step(None, log) == SendSegments(after=0)


def test_from_every_position_the_steps_end_at_the_head() -> None:
    # At any interruption of a push, the next decision continues from there. Snapshots are at 4, the log begins at 3.
    for start in [None, *map(at, range(10)), at(2, OTHER)]:
        have, steps = start, []
        while not isinstance(step := next_step(have, way(9, oldest=3, snapshot=4)), Nothing):
            if isinstance(step, SendSnapshot):
                have = at(4)
            else:
                assert isinstance(step, SendSegments)
                have = at(step.after + 1)
            steps.append(type(step))
        assert have == at(9)
        assert steps.count(SendSnapshot) == (start is None or start.epoch == OTHER or start.sequence < 2)
