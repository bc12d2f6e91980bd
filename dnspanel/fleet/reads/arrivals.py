"""Query when a publication arrived at each node, and how long this took."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Subquery

from dnspanel.database.sql import fetch_all
from dnspanel.fleet.models import Ack, Node, NodeState
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.push.maintenance import ACKS_KEPT
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses, without_ring0
from dnspanel.zones.models import Publication

USUAL_OF = 100  # publications before the shown one, whose median is the usual time

# A push can confirm several publications at once. The acknowledgement then belongs to the last of them.
_USUAL = """
SELECT a.node_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM a.at - p.at)::float8) * 1000
FROM fleet_ack a JOIN zones_publication p ON p.epoch = a.epoch AND p.sequence = a.sequence
WHERE a.node_id = ANY(%s) AND a.epoch = %s AND a.sequence >= %s AND a.sequence < %s GROUP BY a.node_id
"""


@dataclass(frozen=True, slots=True)
class NodeArrival:
    """The arrival of a publication at a node. Before it arrives, `message` explains why the node lacks it.

    The time of the arrival is unknown if the node joined later, or if the acks of that time have been deleted.
    """

    node: Node
    has_it: bool
    arrived_at: datetime | None
    ms: float | None  # from the publication to the confirmation, by the panel's clock
    word: Word
    message: str


def arrivals(publication: Publication, *, now: datetime, with_canary: bool = False) -> list[NodeArrival]:
    """Return every active node, sorted by name, with its first ack of this publication. `with_canary` includes ring 0.

    If the given publication has failed, return []. It is read again, because it can fail later; then no node has it.
    Acks in the publication's epoch count, and so does a node's position in the current epoch. This takes four queries
    for any number of nodes.
    """
    if publication.failed_reason:
        return []
    statuses = watched_statuses(now=now)
    active = [s for s in (statuses if with_canary else without_ring0(statuses)) if s.node.state == NodeState.ACTIVE]
    proofs = Ack.objects.filter(
        node=OuterRef("pk"), epoch=publication.epoch, sequence__gte=publication.sequence
    ).order_by("sequence")
    nodes = Node.objects.filter(pk__in=[status.node.pk for status in active]).annotate(
        at=Subquery(proofs.values("at")[:1]),
        is_valid=Exists(Publication.objects.filter(pk=publication.pk, failed_reason="")),
    )
    acked = {pk: at for pk, at, is_valid in nodes.values_list("pk", "at", "is_valid") if is_valid}
    return [_arrival(status, acked, publication, now) for status in active]


def usual_ms(publication: Publication, nodes: Collection[int]) -> dict[int, float]:
    """Return the median time of these nodes to confirm one of the USUAL_OF publications before this one.

    The keys are ids of nodes, and the values are milliseconds. Needs one query.
    """
    last = publication.sequence
    return dict(fetch_all(_USUAL, [list(nodes), publication.epoch, last - USUAL_OF, last]))


def _arrival(
    status: NodeStatus, acked: Mapping[int, datetime | None], publication: Publication, now: datetime
) -> NodeArrival:
    node, word = status.node, status.health.word
    at = acked.get(node.pk)
    if node.pk not in acked or not (at or status.has_acked(publication.sequence)):
        return NodeArrival(node, has_it=False, arrived_at=None, ms=None, word=word, message=status.health.message)
    if at is None or node.created_at > publication.at or publication.at < now - ACKS_KEPT:
        return NodeArrival(node, has_it=True, arrived_at=None, ms=None, word=word, message="")
    ms = max(0.0, (at - publication.at).total_seconds() * 1000)
    return NodeArrival(node, has_it=True, arrived_at=at, ms=ms, word=word, message="")
