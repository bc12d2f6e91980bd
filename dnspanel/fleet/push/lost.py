"""Nodes that say that they have less than they had proved: a disk was replaced, files were deleted or put back.

A push would find out by the node's answer, but only when there is something to
push. Here the next report of the agent is enough.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from dnspanel.fleet.models import Node, NodeState
from replication.errors import BadBytes
from replication.wire.position import Position, position_from_json

# A report may have been on its way while the proof came.
SETTLED = timedelta(seconds=10)


def lost_nodes() -> list[tuple[int, str]]:
    """Return the nodes that need a snapshot for that, each with the reason as a clause for people."""
    told = Node.objects.filter(
        state=NodeState.ACTIVE, bootstrap=None, epoch__isnull=False, reported_at__gt=F("acked_at") + SETTLED
    )
    found = []
    for node_id, epoch, acked, report in told.values_list("pk", "epoch", "acked", "report"):
        if epoch is not None and (reason := loss(epoch, acked, report)):
            found.append((node_id, reason))
    return found


def loss(epoch: UUID, acked: int, report: Mapping[str, Any]) -> str:
    """Return in words what a node has lost since it proved this position; nothing where it has not. Pure."""
    if "position" not in report:
        return ""
    try:
        told = report["position"]
        has: Position | None = position_from_json(told) if told else None
    except BadBytes:
        return ""
    if has is None:
        return f"it has lost what it had at sequence {acked}"
    if has.epoch == epoch and has.sequence < acked:
        return f"it has gone back from sequence {acked} to {has.sequence}"
    return ""
