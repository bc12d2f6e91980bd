"""Reads for the faces: how every node stands, in three queries however many nodes there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from dnspanel.fleet.errors import UnknownNode
from dnspanel.fleet.health import FAULTS, WELL, Facts, Health, health
from dnspanel.fleet.models import Node, NodeState
from dnspanel.publish.stall import stalls
from dnspanel.zones.models import LogHead, Publication
from replication.position import Position

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """A node, how it is doing, and the epoch of the present log."""

    node: Node
    health: Health
    head_epoch: UUID


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """The fleet in one line; `tone` is ok, warn, bad or quiet, and only nodes that take pushes count."""

    live: int
    total: int
    tone: str
    sentence: str


def head() -> Position:
    """The newest position of the log."""
    row = LogHead.objects.get()
    return Position(row.epoch, row.sequence)


def node_standings(*, now: datetime) -> tuple[Standing, ...]:
    """Every node that has not left, by name."""
    return _standings(list(Node.objects.exclude(state=NodeState.RETIRED).order_by("name")), now)


def node_standing(*, name: str, now: datetime) -> Standing:
    """One node, also one that has left; raises UnknownNode."""
    found = _standings(list(Node.objects.filter(name=name)), now)
    if not found:
        raise UnknownNode(name)
    return found[0]


def fleet_summary(*, now: datetime | None = None) -> FleetSummary:
    """How many of the nodes that take pushes are live, and what is wrong with the others and with publishing."""
    active = [s for s in node_standings(now=now or timezone.now()) if s.node.state == NodeState.ACTIVE]
    troubled = [s for s in active if s.health.word not in WELL]
    live = len(active) - len(troubled)
    stalled = stalls()
    if stalled:
        return FleetSummary(live, len(active), "bad", f"Publishing stands still: {stalled[0].message}")
    if not active:
        return FleetSummary(0, 0, "quiet", "No active node")
    named = [f"{s.node.name} {s.health.word}" for s in troubled[:_MOST_NAMED]]
    if len(troubled) > _MOST_NAMED:
        named.append(f"{len(troubled) - _MOST_NAMED} more")
    tone = "bad" if any(s.health.word in FAULTS for s in troubled) else "warn" if troubled else "ok"
    return FleetSummary(live, len(active), tone, "; ".join([f"{live} of {len(active)} nodes live", *named]))


def _standings(nodes: Sequence[Node], now: datetime) -> tuple[Standing, ...]:
    if not nodes:
        return ()
    newest = head()
    lacking = {node.pk: (node.acked if node.epoch == newest.epoch else 0) + 1 for node in nodes}
    published = dict(Publication.objects.filter(sequence__in=set(lacking.values())).values_list("sequence", "at"))
    return tuple(
        Standing(node, health(_facts(node, newest, published.get(lacking[node.pk])), now), newest.epoch)
        for node in nodes
    )


def _facts(node: Node, newest: Position, lacks_since: datetime | None) -> Facts:
    return Facts(
        state=node.state,
        epoch=node.epoch,
        acked=node.acked,
        acked_at=node.acked_at,
        contact_at=node.contact_at,
        refusal=node.refusal,
        head_epoch=newest.epoch,
        head=newest.sequence,
        # A new node has been behind since it exists, not since the first publication of all.
        behind_since=max(lacks_since, node.created_at) if lacks_since else node.created_at,
    )
