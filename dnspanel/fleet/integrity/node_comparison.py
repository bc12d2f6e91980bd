"""Compare nodes with the panel by digest, and decide how to fix differences.

Each node keeps running digests, reads all of its rows again in cycles, and reports zones whose rows don't match. The
panel stores the digest of every position at the end of a segment or snapshot. A comparison sends no request to a node.
It uses the report that the collector stored in the last second or two.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from dnspanel.fleet.integrity import divergences
from dnspanel.fleet.models import Node, NodeState
from dnspanel.publish.models import Segment, Snapshot
from dnspanel.texts import gettext
from replication.errors import BadBytes
from replication.wire.position import Position
from replication.wire.protocol import Status

# Beyond this many zones, comparing the whole files is cheaper than one repair after the other.
MOST_REPAIRS = 200
# An older report of a node says nothing about its current content.
FRESH = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Seen:
    """A node's report on its content at one point in time. `digest` is empty while a change is being applied."""

    position: Position | None
    digest: bytes = b""
    diverged: tuple[tuple[int, str, str], ...] = ()
    diverged_count: int = 0
    has_read: bool = False  # its agent has read every row at least once since it was started
    has_checked: bool = False  # and once more after a difference of the digests was found


@dataclass(frozen=True, slots=True)
class Nothing:
    """The decision that no action is needed. `is_equal` is None if the digests can't be compared now."""

    is_equal: bool | None


@dataclass(frozen=True, slots=True)
class RepairZones:
    """The decision to send these zones (id, name, difference) to the node again."""

    zones: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True)
class CheckRows:
    """The decision to make the node read all its rows now, because a difference exists that it hasn't reported."""


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """The decision to send a snapshot, because repairing single zones can't help. `reason` is a clause."""

    reason: str


Decision = Nothing | RepairZones | CheckRows | TakeSnapshot


def decide(seen: Seen, expected: bytes | None) -> Decision:
    """Decide how to repair a node. `expected` is the panel's digest at the node's position, or None if unknown."""
    if seen.position is None:
        return Nothing(is_equal=None)
    beyond = [description for zone_id, _, description in seen.diverged if not zone_id]
    if beyond:
        return TakeSnapshot(
            gettext("the node’s files differ in data that doesn’t belong to a single zone: {description}").format(
                description=beyond[0]
            )
        )
    if seen.diverged_count > MOST_REPAIRS:
        return TakeSnapshot(
            gettext("{count} zones on the node differ from the panel’s").format(count=seen.diverged_count)
        )
    if seen.diverged:
        return RepairZones(seen.diverged)
    if expected is None or not seen.digest:
        return Nothing(is_equal=None)
    if seen.digest == expected:
        return Nothing(is_equal=True)
    if seen.has_checked:
        return TakeSnapshot(
            gettext("the node’s content differs from the panel’s, but no zone with differences was found")
        )
    return CheckRows()


def seen_in(status: Status, *, has_checked: bool = False) -> Seen:
    """Create a Seen from the agent's status."""
    digest = status.digest_main + status.digest_records
    position = None if status.installing else status.position
    has_read = status.checked_at > 0
    return Seen(position, digest, status.diverged, status.diverged_count, has_read, has_checked)


def compare_nodes(*, now: datetime) -> list[int]:
    """Compare all nodes that reported recently with the panel, and record the results. Return the ids of nodes to fix.

    Drained nodes are compared but not fixed. This needs three queries, and up to three more for each compared node.
    Nodes that didn't report recently, or whose position has no digest in the panel, keep their earlier result.
    """
    heard = Node.objects.filter(
        state__in=(NodeState.ACTIVE, NodeState.DRAINED), contact_at__gt=now - FRESH, is_front=False
    )
    found = [(node, seen) for node in heard if (seen := _seen_in_report(node.report)) is not None]
    expected = _digests_at((node.schema, seen.position) for node, seen in found if seen.position)
    wanting = []
    for node, seen in found:
        decision = decide(seen, expected.get((node.schema, seen.position)))
        record(node_id=node.pk, seen=seen, decision=decision, now=now)
        if not isinstance(decision, Nothing) and node.state == NodeState.ACTIVE:
            wanting.append(node.pk)
    return wanting


def record(*, node_id: int, seen: Seen, decision: Decision, now: datetime) -> None:
    """Record a comparison that was possible. If the digests are equal and all rows were read, end all divergences."""
    is_equal = decision.is_equal if isinstance(decision, Nothing) else False
    if is_equal is not None:
        divergences.record_compared(node_id=node_id, is_equal=is_equal, now=now)
    if is_equal and seen.has_read:
        divergences.record_over(node_id=node_id, now=now)


def _seen_in_report(report: dict[str, Any]) -> Seen | None:
    """Return the Seen of a stored report, or None if the report is missing or unreadable."""
    try:
        return seen_in(Status.from_json(report)) if report else None
    except BadBytes:
        return None


def _digests_at(positions: Iterable[tuple[int, Position | None]]) -> dict[tuple[int, Position | None], bytes]:
    """Return the panel's digests at these positions, with two queries. Omit unknown positions."""
    by_log: dict[tuple[int, UUID], set[int]] = defaultdict(set)
    for schema, position in positions:
        if position is not None:
            by_log[schema, position.epoch].add(position.sequence)
    if not by_log:
        return {}
    found: dict[tuple[int, Position | None], bytes] = {}
    for model, field in ((Snapshot, "sequence"), (Segment, "last")):
        condition = Q()
        for (schema, epoch), sequences in by_log.items():
            condition |= Q(schema=schema, epoch=epoch, **{f"{field}__in": sequences})
        rows = model.objects.filter(condition).values_list("schema", "epoch", field, "digest")
        found |= {(schema, Position(epoch, at)): bytes(digest) for schema, epoch, at, digest in rows}
    return found
