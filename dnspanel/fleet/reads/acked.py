"""The progress of all active nodes, for queries that look for zones that are late."""

from typing import Any

from dnspanel.fleet.models import Node, NodeState
from dnspanel.zones.models import LogHead


def acked_everywhere(**_: Any) -> int | None:
    """Return the sequence that every active node has acked in the present epoch; None without active nodes.

    In two queries.
    """
    epoch = LogHead.objects.values_list("epoch", flat=True).first()
    nodes = Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).values_list("epoch", "acked")
    return min((acked if of == epoch else -1 for of, acked in nodes), default=None)
