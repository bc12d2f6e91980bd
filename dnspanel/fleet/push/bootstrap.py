"""Request snapshots for nodes, and detect nodes that lost data they had acknowledged. Verbs.

A node needs a snapshot if segments can't bring it to the head. The task that sends snapshots finds the request's row
even if the task wasn't woken.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from dnspanel.fleet import events
from dnspanel.fleet.models import Bootstrap, Node, NodeState
from dnspanel.publish.reading.schemas import use_schema
from dnspanel.texts import gettext
from replication.errors import BadBytes
from replication.wire.position import Position, position_from_json

# A report can have been sent before the ack arrived.
REPORT_DELAY = timedelta(seconds=10)

logger = logging.getLogger(__name__)


def ask_for_snapshot(*, node_id: int, reason: str, now: datetime, schema: int | None = None) -> bool:
    """Request the newest snapshot for the node. Return False if one is already requested or the node isn't active.

    The first reason is kept until the snapshot has arrived. `reason` is a clause, such as "it is beyond the log".
    `schema` selects a snapshot for this PowerDNS schema, which the node uses from then on.
    """
    with transaction.atomic():
        node = Node.objects.filter(pk=node_id, state=NodeState.ACTIVE).only("name", "schema").first()
        if node is None:
            return False
        if schema is not None:
            use_schema(schema=schema, now=now)
        _, is_new = Bootstrap.objects.get_or_create(
            node_id=node_id, defaults={"reason": reason, "schema": schema or node.schema, "asked_at": now}
        )
        if is_new:
            events.note(
                node_id=node_id,
                kind="snapshot",
                message=gettext("Full snapshot requested. Reason: {reason}.").format(reason=reason),
                now=now,
            )
    if is_new:
        logger.warning("snapshot asked for node=%s: %s", node.name, reason)
    return is_new


def regressed_nodes() -> list[tuple[int, str]]:
    """Return (node id, reason as a clause) for each node that needs a snapshot because it lost data.

    The agent's last report is sufficient. A push would detect this only if there is data to push.
    """
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
