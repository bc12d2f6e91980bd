"""Query the sequence that all active nodes have reached, to find zones that are behind."""

from typing import Any

from dnspanel.fleet.models import Node, NodeState
from dnspanel.zones.models import LogHead


def acked_everywhere(**_: Any) -> int | None:
    """Return the sequence that all active nodes except ring 0 have acknowledged in the current epoch.

    Return -1 if a node is in another epoch, or None if there are no active nodes. This needs two queries.
    """
    epoch = LogHead.objects.values_list("epoch", flat=True).first()
    nodes = Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).values_list("epoch", "acked")
    return min((acked if of == epoch else -1 for of, acked in nodes), default=None)
