"""Request snapshots for nodes. Verbs.

A node needs a snapshot if segments can't bring it to the head. The task that sends snapshots finds the request's row
even if the task wasn't woken.
"""

import logging
from datetime import datetime

from django.db import transaction

from dnspanel.fleet import events
from dnspanel.fleet.models import Bootstrap, Node, NodeState
from dnspanel.publish.reading.schemas import use_schema
from dnspanel.texts import gettext

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
