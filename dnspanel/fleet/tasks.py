"""Push: `celery worker -Q push --pool=threads`.

Tasks carry a node's id and close whatever difference they find; beat rings
every node that is behind, in case a bell was lost.
"""

import logging
import time
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from dnspanel.celery import while_postgresql_answers
from dnspanel.fleet import acks
from dnspanel.fleet.lines import Line, lines
from dnspanel.fleet.log import DatabaseChangeLog
from dnspanel.fleet.models import Node, NodeState
from replication.errors import Busy, NodeUnreachable, ReplicationError
from replication.position import Position
from replication.push import NodeClient, bring_to_head

# A bell that waited longer is worth nothing: beat has rung since.
BELL_LIFETIME = 10
# How often the progress of a node far behind is recorded: an edit in the middle of an import is proved that late.
PROGRESS_SECONDS = 0.25
# A node that refuses is tried again this often, and at every new segment.
REFUSAL_PAUSE = timedelta(seconds=10)

_PUSHED_BY = ("name", "schema", "agent_host", "agent_port", "epoch", "acked", "refusal")

logger = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def push_node(node_id: int) -> None:
    """Bring one node to the head of its schema. Twice, late or never does no harm."""
    with while_postgresql_answers():
        lines[node_id].push(lambda line: _push(node_id, line))


@shared_task(ignore_result=True)
def push_late_nodes() -> None:
    """Ring every active node that is not at the head of its schema."""
    with while_postgresql_answers():
        _ring(late_nodes())


def late_nodes() -> list[int]:
    """Return the active nodes that are behind, without those that refused just now."""
    nodes = Node.objects.filter(state=NodeState.ACTIVE).values_list(
        "pk", "schema", "epoch", "acked", "refusal", "refused_at"
    )
    patience = timezone.now() - REFUSAL_PAUSE
    heads: dict[int, Position | None] = {}
    late = []
    for node_id, schema, epoch, acked, refusal, refused_at in nodes:
        if schema not in heads:
            heads[schema] = DatabaseChangeLog(schema).newest()
        head = heads[schema]
        waits = refused_at is not None and refused_at > patience
        if head and not waits and ((epoch, acked) != (head.epoch, head.sequence) or refusal):
            late.append(node_id)
    return late


def ring_nodes(*, schema: int, **_: Any) -> None:
    """Wake the push of every active node of this schema. A dead broker costs two seconds, never a change."""
    _ring(list(Node.objects.filter(state=NodeState.ACTIVE, schema=schema).values_list("pk", flat=True)))


def _ring(node_ids: list[int]) -> None:
    try:
        for node_id in node_ids:
            push_node.apply_async((node_id,), expires=BELL_LIFETIME, retry=False)
    except (BrokerError, OSError) as exc:
        logger.warning("no bell for the nodes, beat will find the work: %s", exc)


def _push(node_id: int, line: Line) -> None:
    """Close the difference for one node, and record what it proved or why it refused."""
    node = Node.objects.filter(pk=node_id, state=NodeState.ACTIVE).only(*_PUSHED_BY).first()
    if node is None:
        return
    try:
        _bring_to_head(node, line.client(node.agent_host, node.agent_port, node.certificate_sha256))
    except (NodeUnreachable, Busy) as exc:
        if line.reachable:
            logger.warning("cannot push node=%s: %s", node.name, exc)
        line.reachable = False
    except ReplicationError as exc:
        acks.record_refusal(node_id=node_id, message=str(exc), now=timezone.now())
    else:
        line.reachable = True


def _bring_to_head(node: Node, client: NodeClient) -> None:
    """Push until the node is at the head, recording how far it is at least every PROGRESS_SECONDS."""
    started, sent = time.monotonic(), client.bytes_sent
    begin = have = Position(node.epoch, node.acked) if node.epoch else None
    log = DatabaseChangeLog(node.schema, near=node.acked if have else 0)
    at_head = False
    while not at_head:
        until = time.monotonic() + PROGRESS_SECONDS
        ack = bring_to_head(client, log, have, until=until)
        at_head = time.monotonic() < until
        if ack is None:
            break
        log.check(ack)
        acks.record_ack(node_id=node.pk, ack=ack, now=timezone.now())
        have = ack.position
    if have is begin:
        if node.refusal:
            acks.clear_refusal(node_id=node.pk)
        return
    ms = (time.monotonic() - started) * 1000
    logger.info(
        "pushed node=%s from=%s to=%s bytes=%s ms=%.1f",
        node.name, begin.sequence if begin else 0, have.sequence if have else 0, client.bytes_sent - sent, ms,
    )  # fmt: skip
