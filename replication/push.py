"""Bring a node to the panel's head: decide what it lacks, send it, and return its ack.

`steps.next_step` decides and is pure. `bring_to_head` acts, over a `NodeClient` and a `ChangeLog`; `send_snapshot`
acts where segments cannot help.
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
    """A segment of the log that can be read when its turn comes."""

    first: int
    last: int
    size: int
    open: Callable[[], BinaryIO]


class ChangeLog(Protocol):
    """The panel's sealed segments for one schema."""

    def way(self, have: Position | None) -> Way:
        """Return what there is for a node at `have`, as of now."""

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        """Return the segments that bring a node from `sequence` to where it may be, in order."""


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
    """Bring a node to a snapshot, whatever is there; return its ack.

    1. Offer the manifest, and send the chunks that the node lacks: all, or the rest of an earlier attempt.
    2. Have it installed. A node that needs new files puts them in place and restarts; then
       ask again, for `restart_seconds`.

    `sent` is called with each chunk's number and size; `unproven` is as in `NodeClient.push`. Raise what the agent
    refuses with, or NodeUnreachable; calling again continues where this ended.
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
    """Push what the node lacks until it is where it may be; return its last ack, None if it lacked nothing.

    The ack may be of an earlier position than the node's files: while its PowerDNS does not know all new zones.

    `have` is where the panel believes the node to be; if the node says Gap, its own position counts. `until`
    (monotonic time) ends the work early between two requests. `unproven` is as in `NodeClient.push`. `pace` is kept
    from one call to the next: a request that failed by time is repeated with less.
    Raise NeedsSnapshot if no segments may be sent, what `next_step` refuses with, what reading the log raises
    and what the agent answers.
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
                    # The files are beyond what was sent, by a push that was not proved. An agent that says so without
                    # having been asked about the rest is not believed: the rest is sent again.
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
    """The body of a request, with how many segments it has and the last of their sequences."""

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
    """Yield what each request sends: small segments together in memory, a large one alone from its file."""
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
