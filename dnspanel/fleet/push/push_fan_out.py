"""Push the same data to many nodes at once. Nodes and log are read once, and all acks are written together.

This covers only the simple case: healthy nodes that lack the same few bytes, over open connections. Any other node, and
any node with an unexpected answer, gets its own push, which finds the cause. Repeating a push is harmless. Therefore,
this module decides nothing about a failing node.
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

# Larger data is not kept in memory once per slow node.
MOST_BYTES = 1 << 16

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Left:
    """The nodes that need their own push (`singly`), and the nodes that need another common push (`again`)."""

    singly: Sequence[int]
    again: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Lack:
    """The data that nodes with the same schema, limit and position lack. `body` is empty if they lack nothing."""

    log: DatabaseChangeLog
    body: bytes
    segments: int = 0


@dataclass(frozen=True, slots=True)
class _Plain:
    node: Any
    client: NodeClient
    lack: _Lack


def push_together(node_ids: Sequence[int], attempt: Callable[[int, AgentConnection], None]) -> Iterator[Left]:
    """Push to these nodes up to their limits. Yield the remaining work as soon as it is known.

    A node is in `again` if it lacks more data after the push, or if a push to it is requested during the call. If
    another push to a node is running, that push handles the node and can run `attempt` once more.
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
    """Return the healthy nodes for a common push, and the ids of nodes that need their own push.

    Healthy nodes that lack nothing are in neither result.
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
    """Return the data that a node lacks, or None if it is unreadable, too large or not in segments."""
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
    """Record the acks. If a node that later groups wait for has acknowledged, advance delivery.

    Return the nodes that now lack more data, and those whose ack is invalid, missing or not new.
    """
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
    """Release the connections of these nodes. Return the remaining work for them."""
    requested = [node_id for node_id in node_ids if taken.pop(node_id).let_go()]
    return Left(singly, [node_id for node_id in {*requested, *behind} if node_id not in singly])
