"""The arrival of one publication at each node, and how long it took."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Subquery

from dnspanel.fleet.models import Ack, Node, NodeState
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.reads.queries import NodeStatus, node_statuses, ring0_status
from dnspanel.zones.models import Publication


@dataclass(frozen=True, slots=True)
class NodeArrival:
    """The arrival of one publication at one node. Until then `arrived_at` is None, and `message` explains why."""

    node: Node
    arrived_at: datetime | None
    ms: float | None  # from the publication to the confirmation, by the panel's clock
    word: Word
    message: str


def arrivals(publication: Publication, *, now: datetime) -> list[NodeArrival]:
    """Return every node that takes pushes except ring 0, by name, with its first ack of this publication.

    A failed publication never arrives: later positions don't contain it. The failure can be newer than the object
    `publication`, so it is read again. A publication also hasn't arrived at a node in another epoch, whatever the node
    acknowledged before. This takes four queries for any number of nodes.
    """
    if publication.failed_reason:
        return []
    return _arrivals(publication, node_statuses(now=now))


def ring0_arrivals(publication: Publication, *, now: datetime) -> list[NodeArrival]:
    """Return a list with the arrival at ring 0, or an empty list if there is no ring 0."""
    status = ring0_status(now=now)
    return _arrivals(publication, [status] if status is not None else [])


def _arrivals(publication: Publication, statuses: Sequence[NodeStatus]) -> list[NodeArrival]:
    proofs = Ack.objects.filter(
        Exists(Publication.objects.filter(pk=publication.pk, failed_reason="")),
        node=OuterRef("pk"),
        epoch=publication.epoch,
        sequence__gte=publication.sequence,
    ).order_by("sequence")
    active = {status.node.pk: status for status in statuses if status.node.state == NodeState.ACTIVE}
    nodes = Node.objects.filter(pk__in=list(active)).annotate(arrived_at=Subquery(proofs.values("at")[:1]))
    acked = dict(nodes.values_list("pk", "arrived_at"))
    return [
        _arrival(status.node, acked.get(pk), publication, status.health.word, status.health.message)
        for pk, status in active.items()
    ]


def _arrival(node: Node, at: datetime | None, publication: Publication, word: Word, message: str) -> NodeArrival:
    if at is None:
        return NodeArrival(node, None, None, word, message)
    ms = max(0.0, (at - publication.at).total_seconds() * 1000)
    return NodeArrival(node, at, ms, word, "")
