"""Query the status of every node, and zones that fail validation on nodes, in a few queries for any number of nodes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Person
from dnspanel.database.field_copies import copy_fields
from dnspanel.fleet.errors import UnknownNode
from dnspanel.fleet.models import Bootstrap, Node, NodeState, UnprovenZone
from dnspanel.fleet.node_health import Health, HealthInputs, health
from dnspanel.fleet.nodes import machines
from dnspanel.fleet.nodes.node_lifecycle import nodes_named
from dnspanel.fleet.rollout.gates import Gates, read_gates, with_limit
from dnspanel.texts import gettext
from dnspanel.zones.models import Epoch, LogHead, Publication, Zone
from dnspanel.zones.rights import access
from replication.wire.position import Position

MOST_UNPROVEN = 20
_IN_USE = (NodeState.ACTIVE, NodeState.DRAINED)  # a drained node is left out of pushes, not of delegations


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


def acked_everywhere(**_: Any) -> int | None:
    """Return the sequence that all active nodes except ring 0 have acknowledged in the current epoch.

    Return -1 if a node is in another epoch, or None if there are no active nodes. This needs two queries.
    """
    epoch = LogHead.objects.values_list("epoch", flat=True).first()
    nodes = Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False).values_list("epoch", "acked")
    return min((acked if of == epoch else -1 for of, acked in nodes), default=None)


def public_addresses(node_names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return each node's public addresses, or else its DNS address, keyed by node name.

    Omit ring 0, and nodes that are retired or not yet enrolled. This needs one query, or none if there are no names.
    """
    if not node_names:
        return {}
    nodes = Node.objects.filter(name__in=node_names, state__in=_IN_USE, is_ring0=False)
    found = nodes.values_list("name", "public_addresses", "dns_address")
    return {name: tuple(addresses) or (own,) for name, addresses, own in found}


def unproven_on(zone: Zone) -> "QuerySet[UnprovenZone]":
    """Return a query for the nodes on which the zone fails validation, ordered by name."""
    return UnprovenZone.objects.filter(zone=zone).select_related("node").order_by("node__name")[:MOST_UNPROVEN]


def unproven_of(node: Node, zones: "QuerySet[Zone]") -> "QuerySet[UnprovenZone]":
    """Return a query for the zones in `zones` that fail validation on the node, oldest failure first."""
    found = UnprovenZone.objects.filter(node=node, zone__in=zones.values("pk"))
    return found.select_related("zone").order_by("since", "zone__name")[:MOST_UNPROVEN]


def unproven_for(person: Person, *, after: int = 0, limit: int) -> tuple[list[UnprovenZone], bool]:
    """Return entries of zones that fail validation on a node, and True if there are more.

    Only zones that this person is allowed to know, and entries with an id above `after`, are included.
    """
    visible = access.zones_visible_to(person).values("pk")
    found = UnprovenZone.objects.filter(pk__gt=after, zone__in=visible)
    rows = list(found.select_related("zone", "node").order_by("pk")[: limit + 1])
    return rows[:limit], len(rows) > limit
