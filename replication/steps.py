"""Decide the next step for a node: send segments, a snapshot, or nothing. Pure."""

from dataclasses import dataclass

from replication.errors import NodeAhead, ReplicationError, WrongEpoch
from replication.wire.position import Position

# For an empty node, a snapshot is faster beyond this many bytes, or this many segments.
NEW_NODE_BYTES = 1 << 20
NEW_NODE_SEGMENTS = 1_000
# For a node that has most data already, a snapshot must be much smaller, because the node compares every row.
BEHIND_FACTOR = 4
BEHIND_BYTES = 64 << 20
BEHIND_SEGMENTS = 20_000


@dataclass(frozen=True, slots=True)
class Way:
    """The data that the panel can send to a node at a position.

    `head` is the newest position of all, or None if nothing was ever encoded. `target` is the last position that this
    node is allowed to reach, or None if there is none yet. From the sequence `oldest` on, segments lead to the target
    without a gap. The node lacks `segments` segments with `segment_bytes` bytes. `snapshot` is the position of the
    newest snapshot that segments continue from, or None.
    """

    head: Position | None
    target: Position | None = None
    oldest: int = 1
    segments: int = 0
    segment_bytes: int = 0
    snapshot: int | None = None
    snapshot_bytes: int = 0
    knows_epoch: bool = True  # the node's epoch is a present or past one of this panel


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing to send: the node has reached its target, or it has no target yet."""


@dataclass(frozen=True, slots=True)
class SendSegments:
    """The node lacks the segments after this sequence, and the log has them."""

    after: int


@dataclass(frozen=True, slots=True)
class SendSnapshot:
    """A snapshot must be sent, because only a snapshot can update the node or because it is much faster.

    `reason` is a part of a sentence, shown to users.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The panel can't update this node. The error has the reason."""

    error: ReplicationError


Step = Nothing | SendSegments | SendSnapshot | Refuse


def next_step(have: Position | None, way: Way) -> Step:
    """Return the next step for a node at position `have`. A node without a position counts as being at sequence 0."""
    if way.head is None:
        return Nothing() if have is None else Refuse(NodeAhead(node=have, head=Position(have.epoch, 0)))
    if have is not None and have.epoch != way.head.epoch and not way.knows_epoch:
        return Refuse(WrongEpoch(ours=way.head.epoch, theirs=have.epoch))
    is_ours = have is not None and have.epoch == way.head.epoch
    sequence = have.sequence if have is not None and is_ours else 0
    if sequence > way.head.sequence:
        return Refuse(NodeAhead(node=Position(way.head.epoch, sequence), head=way.head))
    if way.target is None:
        return Nothing()
    if have is not None and not is_ours:
        return SendSnapshot("what it has is of an earlier epoch of the log")
    if sequence >= way.target.sequence:
        return Nothing()
    if sequence < way.oldest - 1:
        return SendSnapshot(f"no segments lead on from sequence {sequence}")
    if _is_sooner_by_snapshot(have, way):
        return SendSnapshot(f"that is sooner there than {way.segments} segments from sequence {sequence} on")
    return SendSegments(after=sequence)


def _is_sooner_by_snapshot(have: Position | None, way: Way) -> bool:
    if way.snapshot is None or way.snapshot <= (have.sequence if have else 0):
        return False
    if have is None:
        return way.segment_bytes > max(way.snapshot_bytes, NEW_NODE_BYTES) or way.segments > NEW_NODE_SEGMENTS
    return way.segment_bytes > BEHIND_FACTOR * way.snapshot_bytes + BEHIND_BYTES or way.segments > BEHIND_SEGMENTS
