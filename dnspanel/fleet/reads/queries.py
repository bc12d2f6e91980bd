"""Reads for the faces: the status of every node, in three queries however many nodes there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from dnspanel.fleet.errors import UnknownNode
from dnspanel.fleet.health import FAULTS, WELL, Health, HealthInputs, health
from dnspanel.fleet.models import Bootstrap, Delivery, Node, NodeState
from dnspanel.fleet.nodes import machines
from dnspanel.fleet.nodes.enroll import nodes_named
from dnspanel.fleet.rollout.gates import Gates, read_gates, with_limit
from dnspanel.publish.stall import stalls
from dnspanel.texts import gettext, joined
from dnspanel.zones.models import LogHead, Publication
from replication.wire.position import Position

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node, how it is doing, and the epoch of the present log."""

    node: Node
    health: Health
    head_epoch: UUID

    def has_acked(self, sequence: int) -> bool:
        """Whether the node has acked this sequence in the present epoch of the log."""
        return self.node.epoch == self.head_epoch and self.node.acked >= sequence


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """The fleet in one line; `tone` is ok, warn, bad or quiet, and only nodes that take pushes count."""

    live: int
    total: int
    tone: str
    message: str


def head() -> Position:
    """The newest position of the log."""
    row = LogHead.objects.get()
    return Position(row.epoch, row.sequence)


def node_statuses(*, now: datetime) -> tuple[NodeStatus, ...]:
    """Every node that has not left, by name, without ring 0: nobody else asks that one anything."""
    nodes = Node.objects.exclude(state=NodeState.RETIRED).filter(is_ring0=False).order_by("name")
    return _statuses(list(_with_related(nodes)), now)


def ring0_status(*, now: datetime) -> NodeStatus | None:
    """The status of ring 0; None for a panel without one."""
    nodes = Node.objects.exclude(state=NodeState.RETIRED).filter(is_ring0=True).order_by("name")
    return next(iter(_statuses(list(_with_related(nodes)), now)), None)


def statuses_of(node_ids: Sequence[int], *, now: datetime) -> tuple[NodeStatus, ...]:
    """These nodes, in this order; those that have left are left out."""
    nodes = Node.objects.filter(pk__in=node_ids).exclude(state=NodeState.RETIRED)
    found = {status.node.pk: status for status in _statuses(list(_with_related(nodes)), now)}
    return tuple(found[node_id] for node_id in node_ids if node_id in found)


def node_status(*, name: str, now: datetime) -> NodeStatus:
    """Return the node of this name or slug, also one that was retired; raises UnknownNode."""
    found = _statuses(list(_with_related(nodes_named(name))[:1]), now)
    if not found:
        raise UnknownNode(name)
    return found[0]


def fleet_summary(*, now: datetime | None = None, statuses: Sequence[NodeStatus] | None = None) -> FleetSummary:
    """How many of the nodes that take pushes are live, and what is wrong with the others and with publishing.

    `statuses` are those of `node_statuses`, for who has them already.
    """
    everything = node_statuses(now=now or timezone.now()) if statuses is None else statuses
    active = [s for s in everything if s.node.state == NodeState.ACTIVE]
    troubled = [s for s in active if s.health.word not in WELL]
    live = len(active) - len(troubled)
    stalled = stalls()
    if stalled:
        return FleetSummary(
            live, len(active), "bad", gettext("Publishing stands still: {reason}").format(reason=stalled[0].message)
        )
    if stopped := Delivery.objects.exclude(stopped_reason="").values_list("stopped_reason", flat=True).first():
        return FleetSummary(live, len(active), "bad", gettext("Delivery is stopped: {reason}").format(reason=stopped))
    if not active:
        return FleetSummary(0, 0, "quiet", gettext("No active node"))
    named: list[str] = [
        gettext("{name} {word}").format(name=s.node.name, word=gettext(str(s.health.word)))
        for s in troubled[:_MOST_NAMED]
    ]
    if len(troubled) > _MOST_NAMED:
        named.append(gettext("{count} more").format(count=len(troubled) - _MOST_NAMED))
    tone = "bad" if any(s.health.word in FAULTS for s in troubled) else "warn" if troubled else "ok"
    return FleetSummary(
        live,
        len(active),
        tone,
        joined("; ", [gettext("{live} of {total} nodes live").format(live=live, total=len(active)), *named]),
    )


def _with_related(nodes: "QuerySet[Node]") -> "QuerySet[Any]":
    related = with_limit(nodes).select_related("group", "bootstrap", "drained_by")
    return related.defer("certificate_pem", "next_certificate_pem")


def _statuses(nodes: Sequence[Any], now: datetime) -> tuple[NodeStatus, ...]:
    if not nodes:
        return ()
    newest = head()
    lacking = {node.pk: (node.acked if node.epoch == newest.epoch else 0) + 1 for node in nodes}
    gates = read_gates(now=now) if any(_is_limited(node, newest) for node in nodes) else None
    published = dict(Publication.objects.filter(sequence__in=set(lacking.values())).values_list("sequence", "at"))
    return tuple(
        NodeStatus(node, health(_inputs(node, newest, published.get(lacking[node.pk]), gates), now), newest.epoch)
        for node in nodes
    )


def _is_limited(node: Any, newest: Position) -> bool:
    """Whether it has all that it may have, and that is not all there is."""
    return node.limit is not None and node.epoch == newest.epoch and node.limit <= node.acked < newest.sequence


def _inputs(node: Any, newest: Position, lacks_since: datetime | None, gates: Gates | None) -> HealthInputs:
    return HealthInputs(
        state=node.state,
        epoch=node.epoch,
        acked=node.acked,
        moved_at=max((at for at in (node.acked_at, node.applied_at) if at is not None), default=None),
        contact_at=node.contact_at,
        refusal=machines.describe_conflict(node) or node.refusal,
        head_epoch=newest.epoch,
        head=newest.sequence,
        # A new node has been behind since it exists, not since the first publication of all.
        behind_since=max(lacks_since, node.created_at) if lacks_since else node.created_at,
        limit=node.limit,
        waits=gates.reason_to_wait(group_id=node.group_id, is_ring0=node.is_ring0)
        if gates and _is_limited(node, newest)
        else "",
        drained_until=node.drained_until,
        drain_reason=node.drain_reason,
        certificate_expires_at=node.certificate_expires_at,
        snapshot=_describe_snapshot(node),
    )


def _describe_snapshot(node: Node) -> str:
    """How far the snapshot on its way is; empty without one."""
    bootstrap: Bootstrap | None = getattr(node, "bootstrap", None)
    if bootstrap is None:
        return ""
    if bootstrap.error:
        return gettext("A snapshot does not get through: {error}.").format(error=bootstrap.error)
    if not bootstrap.chunks:
        return gettext("It waits for a snapshot: {reason}.").format(reason=bootstrap.reason)
    if bootstrap.chunks_sent < bootstrap.chunks:
        return gettext("It gets a snapshot, {sent} of {count} parts are there: {reason}.").format(
            sent=bootstrap.chunks_sent, count=bootstrap.chunks, reason=bootstrap.reason
        )
    return gettext("It installs a snapshot: {reason}.").format(reason=bootstrap.reason)
