"""How far one publication has come: which nodes answer with it, and after how long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery

from dnspanel.fleet.health import Word
from dnspanel.fleet.models import Ack, Node, NodeState
from dnspanel.fleet.reads.queries import Standing, node_standings, ring0_standing
from dnspanel.zones.models import Publication


@dataclass(frozen=True, slots=True)
class NodeReach:
    """One node and one publication. Pending while `reached_at` is None; `sentence` then says why."""

    node: Node
    reached_at: datetime | None
    ms: float | None  # from the publication to the proof, by the panel's clock
    word: Word
    sentence: str


def reach(publication: Publication, *, now: datetime) -> list[NodeReach]:
    """Return every node that takes pushes, by name, with when it first proved this publication; ring 0 is none of them.

    One that failed is reached by nobody: positions beyond it do not hold it.

    A node whose epoch is another one has not reached it, whatever it proved
    before. Four queries, however many nodes.
    """
    if publication.failed_reason:
        return []
    return _reached(publication, node_standings(now=now))


def ring0_reach(publication: Publication, *, now: datetime) -> list[NodeReach]:
    """The same of ring 0, if there is one."""
    standing = ring0_standing(now=now)
    return _reached(publication, [standing] if standing is not None else [])


def _reached(publication: Publication, standings: Sequence[Standing]) -> list[NodeReach]:
    proofs = Ack.objects.filter(
        node=OuterRef("pk"), epoch=publication.epoch, sequence__gte=publication.sequence
    ).order_by("sequence")
    active = {standing.node.pk: standing for standing in standings if standing.node.state == NodeState.ACTIVE}
    nodes = Node.objects.filter(pk__in=list(active)).annotate(proved_at=Subquery(proofs.values("at")[:1]))
    proved = dict(nodes.values_list("pk", "proved_at"))
    return [
        _reach(standing.node, proved.get(pk), publication, standing.health.word, standing.health.sentence)
        for pk, standing in active.items()
    ]


def _reach(node: Node, at: datetime | None, publication: Publication, word: Word, sentence: str) -> NodeReach:
    if at is None:
        return NodeReach(node, None, None, word, sentence)
    ms = max(0.0, (at - publication.at).total_seconds() * 1000)
    return NodeReach(node, at, ms, word, "")
