"""Push what many nodes lack alike to all of them at once: one look at nodes and log, acks recorded together.

Only what is plain: nodes in order that lack the same few bytes, over connections that are open. Every other node, and
one that does not answer as it should, is left to a push of its own, which finds out what is the matter: that is
harmless to repeat, so nothing is decided here about a node that errs.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.utils import timezone

from dnspanel.fleet.push import acks
from dnspanel.fleet.push.agent_connections import AgentConnection, connections
from dnspanel.fleet.push.segment_log import DatabaseChangeLog
from dnspanel.fleet.rollout import deliver_groups
from dnspanel.fleet.rollout.gates import nodes_to_push
from dnspanel.publish.errors import StorageUnreachable
from replication.errors import Diverged, ReplicationError
from replication.fan_out import push_to_all
from replication.node_client import NodeClient
from replication.push import BATCH_SEGMENTS
from replication.steps import Nothing, SendSegments, next_step
from replication.wire.position import Position
from replication.wire.protocol import Ack

# More is not kept in memory once for each node that is slow.
MOST_BYTES = 1 << 16

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Left:
    """The nodes that need a push of their own, and those that lack something again since theirs."""

    singly: Sequence[int]
    again: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Lack:
    """What nodes of one schema and limit at one place lack, as the log has it; no bytes: nothing."""

    log: DatabaseChangeLog
    body: bytes
    segments: int = 0


@dataclass(frozen=True, slots=True)
class _Plain:
    """A node that can be pushed to together with others."""

    node: Any
    client: NodeClient
    lack: _Lack


def push_together(node_ids: Sequence[int], attempt: Callable[[int, AgentConnection], None]) -> Iterator[Left]:
    """Bring these nodes to where they may be; yield what is left to do as soon as that is known.

    A node is left `again` if a push is requested for it in between. A node that another push works on now is left
    to that push, which may have to run `attempt` once more.
    """
    taken: dict[int, AgentConnection] = {}
    try:
        for node_id in node_ids:
            if (connection := connections[node_id]).take(partial(attempt, node_id)):
                taken[node_id] = connection
        plain, singly = _sort_out(taken)
        yield _let_go(taken, taken.keys() - plain.keys(), singly)
        began = time.monotonic()
        for answers in push_to_all({node_id: (each.client, each.lack.body) for node_id, each in plain.items()}):
            behind, singly = _record(answers, plain, (time.monotonic() - began) * 1000)
            yield _let_go(taken, answers, singly, behind)
    finally:
        _let_go(taken, list(taken))


def _sort_out(taken: Mapping[int, AgentConnection]) -> tuple[dict[int, _Plain], list[int]]:
    """Return the nodes that lack something and are plain, and those that need a push of their own; others
    lack nothing.
    """
    plain: dict[int, _Plain] = {}
    singly: list[int] = []
    lacks: dict[Any, _Lack | None] = {}
    for node in nodes_to_push(list(taken)):
        connection = taken[node.pk]
        needs_care = connection.applied or connection.pace.is_slow
        is_in_order = not (node.other_machine or node.refusal or node.has_unproven or needs_care)
        client = connection.client(node.agent_host, node.agent_port, node.pins) if is_in_order else None
        if client is None or client.connection is None or node.epoch is None:
            singly.append(node.pk)
            continue
        at = (node.schema, node.limit, node.epoch, node.acked)
        if at not in lacks:
            lacks[at] = _lack(DatabaseChangeLog(node.schema, limit=node.limit), Position(node.epoch, node.acked))
        lack = lacks[at]
        if lack is None:
            singly.append(node.pk)
        elif lack.body:
            plain[node.pk] = _Plain(node, client, lack)
    return plain, singly


def _lack(log: DatabaseChangeLog, have: Position) -> _Lack | None:
    """Return what a node lacks that is there; None if that is not for many at once, or cannot be read."""
    way = log.way(have)
    step = next_step(have, way)
    if isinstance(step, Nothing):
        return _Lack(log, b"")
    if not isinstance(step, SendSegments) or way.segment_bytes > MOST_BYTES or way.segments > BATCH_SEGMENTS:
        return None
    pieces = []
    try:
        for segment in log.segments_after(step.after):
            with segment.open() as file:
                pieces.append(file.read())
    except (ReplicationError, StorageUnreachable) as exc:
        logger.warning("cannot read what nodes lack from=%s: %s", have.sequence, exc)
        return None
    return _Lack(log, b"".join(pieces), len(pieces))


def _record(
    answers: Mapping[int, Ack | ReplicationError], plain: Mapping[int, _Plain], ms: float
) -> tuple[list[int], list[int]]:
    """Record the acks, and let others go on by them; the nodes that lack more by now, and those without a good ack."""
    now = timezone.now()
    for node_id, answer in answers.items():
        if isinstance(answer, ReplicationError):
            connections[node_id].pace.note_failure(answer, plain[node_id].lack.segments)
    proofs = {
        node_id: answer
        for node_id, answer in answers.items()
        if isinstance(answer, Ack) and answer.applied is None and _has_its_digests(answer, plain[node_id].lack.log)
    }
    recorded = acks.record_acks(acks=proofs, now=now) if proofs else {}
    if any(plain[node_id].node.is_gate for node_id in recorded):
        deliver_groups.advance(now=now)
    behind = []
    moved: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for node_id, record in recorded.items():
        node, sequence = plain[node_id].node, proofs[node_id].position.sequence
        connections[node_id].reachable = True
        moved[node.acked, sequence, len(plain[node_id].lack.body)].append(node.name)
        if record.is_behind(sequence, node.limit):
            behind.append(node_id)
    for (begin, end, size), names in moved.items():
        logger.info(
            "pushed node=%s from=%s to=%s acked=%s bytes=%s ms=%.1f", ",".join(names), begin, end, end, size, ms
        )
    return behind, [node_id for node_id in answers if node_id not in recorded]


def _has_its_digests(ack: Ack, log: DatabaseChangeLog) -> bool:
    try:
        log.check(ack)
    except Diverged:
        return False
    return True


def _let_go(
    taken: dict[int, AgentConnection],
    node_ids: Collection[int],
    singly: Sequence[int] = (),
    behind: Collection[int] = (),
) -> Left:
    """Let others push to these nodes; return what is left to do for them."""
    requested = [node_id for node_id in node_ids if taken.pop(node_id).let_go()]
    return Left(singly, [node_id for node_id in {*requested, *behind} if node_id not in singly])
