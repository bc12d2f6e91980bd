"""Compare what nodes hold with what the panel wrote, by digest; and decide what to do about a difference.

Each node keeps running digests, reads all of its rows again and again, and names the zones whose rows do not add up.
The panel has the digests of every position at which a segment or a snapshot ends. So a comparison costs no question to
a node: the collector has asked it a second ago.
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
# What a node said longer ago says nothing about now.
FRESH = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a node reported of its content at one moment; `digest` is empty while a change was on its way."""

    position: Position | None
    digest: bytes = b""
    diverged: tuple[tuple[int, str, str], ...] = ()
    diverged_count: int = 0
    has_read: bool = False  # its agent has read every row at least once since it was started
    has_checked: bool = False  # and once more after the digests were seen to differ


@dataclass(frozen=True, slots=True)
class Nothing:
    """The node holds what the panel wrote (`is_equal`), or the panel has no digest of this position (None)."""

    is_equal: bool | None


@dataclass(frozen=True, slots=True)
class RepairZones:
    """These zones (id, name, what differs) have to be written again on the node."""

    zones: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True)
class CheckRows:
    """Something differs that the node has not named yet: it has to read all of its rows now."""


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """Single repairs cannot help. `reason` is a clause for people."""

    reason: str


Decision = Nothing | RepairZones | CheckRows | TakeSnapshot


def decide(seen: Seen, expected: bytes | None) -> Decision:
    """Decide what to do about a node, when the panel has the digest `expected` at its position (None: not
    known there).
    """
    if seen.position is None:
        return Nothing(is_equal=None)
    beyond = [description for zone_id, _, description in seen.diverged if not zone_id]
    if beyond:
        return TakeSnapshot(
            gettext("its files differ beyond single zones: {description}").format(description=beyond[0])
        )
    if seen.diverged_count > MOST_REPAIRS:
        return TakeSnapshot(
            gettext("{count} of its zones are not what the panel wrote").format(count=seen.diverged_count)
        )
    if seen.diverged:
        return RepairZones(seen.diverged)
    if expected is None or not seen.digest:
        return Nothing(is_equal=None)
    if seen.digest == expected:
        return Nothing(is_equal=True)
    if seen.has_checked:
        return TakeSnapshot(gettext("its content differs from the panel's, and no zone could be named"))
    return CheckRows()


def seen_in(status: Status, *, has_checked: bool = False) -> Seen:
    """Return what a status says of the content."""
    digest = status.digest_main + status.digest_records
    position = None if status.installing else status.position
    has_read = status.checked_at > 0
    return Seen(position, digest, status.diverged, status.diverged_count, has_read, has_checked)


def compare_nodes(*, now: datetime) -> list[int]:
    """Record of each node whether it holds what the panel wrote; return those about which something must be done.

    Three queries, and one more for each node with news. Nodes that were not heard recently, or at whose position
    the panel has no digest, keep what was recorded before.
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
    """Keep what a comparison came to; one that could not be made changes nothing."""
    is_equal = decision.is_equal if isinstance(decision, Nothing) else False
    if is_equal is not None:
        divergences.record_compared(node_id=node_id, is_equal=is_equal, now=now)
    if is_equal and seen.has_read:
        divergences.record_over(node_id=node_id, now=now)


def _seen_in_report(report: dict[str, Any]) -> Seen | None:
    """Return what the collector kept of the node's last status, None while it kept nothing."""
    try:
        return seen_in(Status.from_json(report)) if report else None
    except BadBytes:
        return None


def _digests_at(positions: Iterable[tuple[int, Position | None]]) -> dict[tuple[int, Position | None], bytes]:
    """Return the panel's digests at these positions, as far as it has them. Two queries."""
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
