"""Query the status of every node for pages and APIs, in a few queries for any number of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dnspanel.database.field_copies import copy_fields
from dnspanel.fleet.errors import UnknownNode
from dnspanel.fleet.models import Bootstrap, Node, NodeState
from dnspanel.fleet.node_health import Health, HealthInputs, health
from dnspanel.fleet.nodes import machines
from dnspanel.fleet.nodes.node_lifecycle import nodes_named
from dnspanel.fleet.rollout.gates import Gates, read_gates, with_limit
from dnspanel.texts import gettext
from dnspanel.zones.models import Epoch, LogHead, Publication
from replication.wire.position import Position


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The sequence and time at which the current epoch began, or 0 and None for the first epoch."""

    after: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node, its health, and the log's current epoch."""

    node: Node
    health: Health
    head_epoch: UUID
    lacks: int = 0  # the oldest sequence that it lacks
    lacks_since: datetime | None = None  # when that was published; None: it lacks nothing

    def has_acked(self, sequence: int) -> bool:
        """Return True if the node acknowledged this sequence in the current epoch of the log."""
        return self.node.epoch == self.head_epoch and self.node.acked >= sequence


def head() -> Position:
    """Return the newest position of the log."""
    row = LogHead.objects.get()
    return Position(row.epoch, row.sequence)


def node_statuses(*, now: datetime) -> tuple[NodeStatus, ...]:
    """Return the status of every node that clients query (neither retired nor ring 0), ordered by name."""
    return without_ring0(watched_statuses(now=now))


def watched_statuses(*, now: datetime) -> tuple[NodeStatus, ...]:
    """Return the status of every node that operators watch (not retired, including ring 0), ordered by name."""
    return _statuses(list(_with_related(Node.objects.exclude(state=NodeState.RETIRED).order_by("name"))), now)


def without_ring0(statuses: Sequence[NodeStatus]) -> tuple[NodeStatus, ...]:
    """Return the statuses without ring 0, which only the panel queries."""
    return tuple(status for status in statuses if not status.node.is_ring0)


def statuses_of(node_ids: Sequence[int], *, now: datetime) -> tuple[NodeStatus, ...]:
    """Return the statuses of these nodes in the given order, without retired nodes."""
    nodes = Node.objects.filter(pk__in=node_ids).exclude(state=NodeState.RETIRED)
    found = {status.node.pk: status for status in _statuses(list(_with_related(nodes)), now)}
    return tuple(found[node_id] for node_id in node_ids if node_id in found)


def node_status(*, name: str, now: datetime) -> NodeStatus:
    """Return the status of the node with this name or slug, even if it is retired. Raise UnknownNode if not found."""
    found = _statuses(list(_with_related(nodes_named(name))[:1]), now)
    if not found:
        raise UnknownNode(name)
    return found[0]


def _with_related(nodes: "QuerySet[Node]") -> "QuerySet[Any]":
    related = with_limit(nodes).select_related("group", "bootstrap", "drained_by")
    return related.defer("certificate_pem", "next_certificate_pem")


def _statuses(nodes: Sequence[Any], now: datetime) -> tuple[NodeStatus, ...]:
    if not nodes:
        return ()
    newest = head()
    is_new_epoch = any(node.epoch not in {None, newest.epoch} for node in nodes)
    began = _beginning_of(newest.epoch) if is_new_epoch else _Beginning()
    lacking = {node.pk: (node.acked if node.epoch == newest.epoch else began.after) + 1 for node in nodes}
    gates = read_gates(now=now) if any(_is_limited(node, newest) for node in nodes) else None
    published = dict(Publication.objects.filter(sequence__in=set(lacking.values())).values_list("sequence", "at"))
    statuses = []
    for node in nodes:
        is_behind = node.epoch != newest.epoch or node.acked < newest.sequence
        # A new node has been behind since its creation, and a node of another epoch since this epoch began, not since
        # the first publication ever.
        times = (published.get(lacking[node.pk]), node.created_at, began.at if node.epoch != newest.epoch else None)
        since = max(at for at in times if at is not None)
        inputs = _inputs(node, newest, since, gates, began.after)
        statuses.append(
            NodeStatus(
                node,
                health(inputs, now),
                newest.epoch,
                lacking[node.pk],
                since if is_behind and newest.sequence else None,
            )
        )
    return tuple(statuses)


def _beginning_of(epoch: UUID) -> _Beginning:
    row = Epoch.objects.filter(epoch=epoch).values_list("began_after", "began_at").first()
    return _Beginning(*row) if row else _Beginning()


def _is_limited(node: Any, newest: Position) -> bool:
    """Return True if the node has reached its limit and newer publications exist."""
    return node.limit is not None and node.epoch == newest.epoch and node.limit <= node.acked < newest.sequence


def _inputs(node: Any, newest: Position, since: datetime, gates: Gates | None, began_after: int) -> HealthInputs:
    return copy_fields(
        HealthInputs,
        node,
        moved_at=max((at for at in (node.acked_at, node.applied_at) if at is not None), default=None),
        refusal=machines.describe_conflict(node) or node.refusal,
        head_epoch=newest.epoch,
        head=newest.sequence,
        behind_since=since,
        began_after=began_after,
        waits=gates.reason_to_wait(group_id=node.group_id, is_ring0=node.is_ring0)
        if gates and _is_limited(node, newest)
        else "",
        snapshot=_describe_snapshot(node),
    )


def _describe_snapshot(node: Node) -> str:
    """Describe the progress of a snapshot transfer to the node. Return "" if there is no transfer."""
    bootstrap: Bootstrap | None = getattr(node, "bootstrap", None)
    if bootstrap is None:
        return ""
    if bootstrap.error:
        return gettext("Sending the snapshot failed: {error}.").format(error=bootstrap.error)
    if not bootstrap.chunks:
        return gettext("The node is waiting for a snapshot. Reason: {reason}.").format(reason=bootstrap.reason)
    if bootstrap.chunks_sent < bootstrap.chunks:
        return gettext("The node has received {sent} of {count} parts of a snapshot. Reason: {reason}.").format(
            sent=bootstrap.chunks_sent, count=bootstrap.chunks, reason=bootstrap.reason
        )
    return gettext("The node is installing a snapshot. Reason: {reason}.").format(reason=bootstrap.reason)
