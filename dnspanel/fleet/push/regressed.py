"""Detect nodes that report an older position than they acknowledged, because files or a disk were replaced or deleted.

A push would also detect this from the node's answer, but only if there is data to push. Here, the agent's next report
is sufficient.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from dnspanel.fleet.models import Node, NodeState
from dnspanel.texts import gettext
from replication.errors import BadBytes
from replication.wire.position import Position, position_from_json

# A report can have been sent before the ack arrived.
REPORT_DELAY = timedelta(seconds=10)


def regressed_nodes() -> list[tuple[int, str]]:
    """Return (node id, reason as a clause) for each node that needs a snapshot because it lost data."""
    reporting = Node.objects.filter(
        state=NodeState.ACTIVE, bootstrap=None, epoch__isnull=False, reported_at__gt=F("acked_at") + REPORT_DELAY
    )
    found = []
    for node_id, epoch, acked, report in reporting.values_list("pk", "epoch", "acked", "report"):
        if epoch is not None and (reason := regression(epoch, acked, report)):
            found.append((node_id, reason))
    return found


def regression(epoch: UUID, acked: int, report: Mapping[str, Any]) -> str:
    """Return a clause about data that the node lost after it acknowledged this position, or "" if it lost nothing.

    A report without a valid position, or with a position in another epoch, shows no loss.
    """
    if "position" not in report:
        return ""
    try:
        position = report["position"]
        has: Position | None = position_from_json(position) if position else None
    except BadBytes:
        return ""
    if has is None:
        return gettext("the node lost its data at sequence {acked}").format(acked=acked)
    if has.epoch == epoch and has.sequence < acked:
        return gettext("the node went back from sequence {acked} to {sequence}").format(
            acked=acked, sequence=has.sequence
        )
    return ""
