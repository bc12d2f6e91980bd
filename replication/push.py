"""Push missing data to a node, until the node is at the panel's head.

`steps.next_step` makes the decisions and is pure. `bring_to_head` sends segments, using a `NodeClient` and a
`ChangeLog`. `send_snapshot` is for nodes that segments cannot update.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from replication.errors import Busy, Gap, NeedsSnapshot, NodeUnreachable, NotServed, ReplicationError
from replication.node_client import RESTART_SECONDS, NodeClient
from replication.pace import MOST_SEGMENTS, Pace
from replication.steps import Nothing, Refuse, SendSnapshot, Way, next_step
from replication.store.snapshot import snapshot_id
from replication.wire.position import Position
from replication.wire.protocol import Ack

# Segments of this size together travel in one request: a node far behind purges and verifies once for all.
BATCH_BYTES = 1 << 20
BATCH_SEGMENTS = MOST_SEGMENTS
_RESTART_PAUSE_SECONDS = 0.2
_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class SealedSegment:
    """A segment of the log, whose bytes are read only when it is sent."""

    first: int
    last: int
    size: int
    open: Callable[[], BinaryIO]


class ChangeLog(Protocol):
    """The panel's sealed segments for one schema."""

    def way(self, have: Position | None) -> Way:
        """Return a description of the data that the panel can send now to a node at position `have`."""

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        """Return the segments that a node at `sequence` needs to reach its target, in order."""


def send_snapshot(  # noqa: PLR0913  # a snapshot, and how it is sent
    client: NodeClient,
    sealed: bytes,
    read_chunk: Callable[[int], bytes],
    *,
    raw_size: int,
    sent: Callable[[int, int], None] = lambda number, size: None,
    restart_seconds: float = RESTART_SECONDS,
    unproven: Collection[str] = (),
) -> Ack:
    """Make a node's data equal to a snapshot, whatever data the node has. Return the node's ack.

    1. Offer the manifest, and send the chunks that the node lacks: all, or the rest of an earlier attempt.
    2. Install the snapshot. If the node is busy, or restarts because it needs new files, repeat both steps for at most
       `restart_seconds`.
    `sent` is called with each chunk's number and size. `unproven` is described in `NodeClient.push`. Raise the agent's
    rejection, or NodeUnreachable if no answer arrives. Another call continues where this one ended.
    """
    name = snapshot_id(sealed)
    until = 0.0
    while True:
        is_complete = False
        try:
            for number in client.offer_snapshot(sealed):
                stored = read_chunk(number)
                client.send_chunk(name, number, stored)
                sent(number, len(stored))
            is_complete = True
            return client.install_snapshot(name, raw_size, unproven=unproven)
        except (Busy, NodeUnreachable, NotServed) as exc:
            may_start_anew = isinstance(exc, Busy) or (is_complete and isinstance(exc, NodeUnreachable))
            if not until and may_start_anew:
                until = time.monotonic() + restart_seconds
            if time.monotonic() >= until:
                raise
            time.sleep(_RESTART_PAUSE_SECONDS)


def bring_to_head(
    client: NodeClient,
    log: ChangeLog,
    have: Position | None,
    *,
    until: float | None = None,
    unproven: Collection[str] = (),
    pace: Pace | None = None,
) -> Ack | None:
    """Push segments until the node is at its target. Return the last ack, or None if the node lacked nothing.

    The ack can have an earlier position than the node's files, as long as its PowerDNS hasn't found all new zones.
    `have` is the node's position as stored by the panel. If the node answers Gap, the position in that answer is used.
    After `until` (monotonic time), no request is sent once there is an ack. `unproven` is described in
    `NodeClient.push`. Pass the same `pace` to each call, because a request that timed out is repeated with fewer
    segments. Raise NeedsSnapshot if the node needs a snapshot, the errors of `next_step`, errors of reading the log,
    and the agent's rejections.
    """
    ack: Ack | None = None
    restarts, pace = 0, pace or Pace()
    while until is None or ack is None or time.monotonic() < until:
        step = next_step(have, log.way(have))
        if isinstance(step, Refuse):
            raise step.error
        if isinstance(step, SendSnapshot):
            raise NeedsSnapshot(reason=step.reason)
        if isinstance(step, Nothing):
            return ack
        try:
            for batch in _batches(log.segments_after(step.after), pace):
                answer = _push_batch(client, batch, pace, unproven)
                if answer.place.sequence <= batch.last:
                    ack, have = answer, answer.place
                else:
                    # The files are ahead of this batch: an earlier push wasn't proved. The agent's claim
                    # about the rest is not trusted without a proof: the rest is sent again.
                    have = Position(answer.place.epoch, batch.last)
                if until is not None and time.monotonic() >= until and ack is not None:
                    return ack
        except Gap as gap:
            restarts += 1
            if restarts > _RESTARTS or gap.have == have:
                raise
            have = Position(gap.have.epoch, gap.have.sequence) if gap.have else None
    return ack


@dataclass(frozen=True, slots=True)
class _Batch:
    """A request's body, the number of its segments, and their last sequence."""

    body: bytes | BinaryIO
    size: int
    segments: int
    last: int


def _push_batch(client: NodeClient, batch: _Batch, pace: Pace, unproven: Collection[str]) -> Ack:
    try:
        ack = client.push(batch.body, batch.size, may_defer=True, unproven=unproven)
    except ReplicationError as exc:
        pace.note_failure(exc, batch.segments)
        raise
    pace.note_answer()
    return ack


def _batches(segments: Iterable[SealedSegment], pace: Pace) -> Iterator[_Batch]:
    """Yield the body of each request: small segments joined in memory, or the open file of a large segment."""
    waiting: list[bytes] = []
    size = last = 0
    for segment in segments:
        if waiting and (size + segment.size > BATCH_BYTES or len(waiting) >= pace.most):
            yield _Batch(b"".join(waiting), size, len(waiting), last)
            waiting, size = [], 0
        with segment.open() as file:
            if segment.size > BATCH_BYTES:
                yield _Batch(file, segment.size, 1, segment.last)
            else:
                waiting.append(file.read())
                size, last = size + segment.size, segment.last
    if waiting:
        yield _Batch(b"".join(waiting), size, len(waiting), last)
