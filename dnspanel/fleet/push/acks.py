"""Record the nodes' reports: acks, refusals, status, and the time of last contact. Verbs."""

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.database.sql import execute, fetch_one
from dnspanel.fleet.models import Node
from dnspanel.fleet.signals import fronts_changed
from replication.wire import protocol
from replication.wire.position import Position

# A statement that updates several nodes first locks them by id. With other orders, two statements could deadlock.
_IN_ORDER = "SELECT id FROM fleet_node WHERE id = ANY(%(nodes)s::bigint[]) ORDER BY id FOR NO KEY UPDATE"

_RECORD_ACKS = f"""
WITH ack AS (
    SELECT * FROM unnest(
        %(nodes)s::bigint[], %(epochs)s::uuid[], %(sequences)s::bigint[], %(digests)s::bytea[], %(unanswered)s::jsonb[]
    ) ack (node_id, epoch, sequence, digest, unanswered)
), mine AS ({_IN_ORDER}), moved AS (
    UPDATE fleet_node n SET
        epoch = ack.epoch, acked = ack.sequence, acked_at = %(now)s, digest = ack.digest, unanswered = ack.unanswered,
        contact_at = greatest(contact_at, %(now)s), refusal = '', refused_at = NULL, refused_since = NULL
    FROM ack JOIN mine ON mine.id = ack.node_id
    WHERE n.id = ack.node_id AND (n.epoch IS NULL OR n.epoch = ack.epoch AND n.acked < ack.sequence)
    RETURNING n.id, n.schema, n.epoch, n.acked
), proved AS (
    INSERT INTO fleet_ack (node_id, epoch, sequence, at)
    SELECT id, epoch, acked, %(now)s FROM moved ON CONFLICT DO NOTHING
), head AS (
    SELECT schema, epoch, greatest(
        (SELECT max(last) FROM publish_segment s WHERE s.schema = place.schema AND s.epoch = place.epoch),
        (SELECT max(sequence) FROM publish_snapshot s WHERE s.schema = place.schema AND s.epoch = place.epoch)
    ) AS newest
    FROM (SELECT DISTINCT moved.schema, h.epoch FROM moved JOIN zones_loghead h ON h.epoch = moved.epoch) place
)
SELECT id, newest FROM moved LEFT JOIN head USING (schema, epoch)
"""

_RECORD_SNAPSHOT_ACK = """
WITH moved AS (
    UPDATE fleet_node SET
        epoch = %(epoch)s, acked = %(sequence)s, acked_at = %(now)s, digest = %(digest)s, schema = %(schema)s,
        unanswered = %(unanswered)s::jsonb,
        contact_at = greatest(contact_at, %(now)s), refusal = '', refused_at = NULL, refused_since = NULL
    WHERE id = %(node)s AND epoch IS NOT DISTINCT FROM %(from_epoch)s AND acked = %(from_sequence)s
    RETURNING id
), proved AS (
    INSERT INTO fleet_ack (node_id, epoch, sequence, at)
    SELECT id, %(epoch)s, %(sequence)s, %(now)s FROM moved ON CONFLICT DO NOTHING
)
SELECT count(*) FROM moved
"""

_RECORD_REPORTS = f"""
WITH mine AS ({_IN_ORDER})
UPDATE fleet_node AS n SET report = said.report, reported_at = said.at,
    unanswered = CASE
        WHEN (said.report -> 'position' ->> 'sequence')::bigint >= n.acked
        THEN coalesce(said.report -> 'unanswered', '[]') ELSE n.unanswered END
FROM jsonb_to_recordset(%(reports)s::jsonb) AS said (id bigint, at timestamptz, report jsonb)
    JOIN mine ON mine.id = said.id
WHERE n.id = said.id
"""

_RECORD_CONTACT = f"""
WITH mine AS ({_IN_ORDER})
UPDATE fleet_node AS n SET contact_at = %(now)s
FROM mine WHERE n.id = mine.id AND (n.contact_at IS NULL OR n.contact_at < %(now)s)
"""

# The newest ack of each node is always kept, because it shows when the node reached its position.
_FORGET_ACKS = """
DELETE FROM fleet_ack a USING fleet_node n
WHERE n.id = a.node_id AND a.at < %s AND (a.epoch, a.sequence) IS DISTINCT FROM (n.epoch, n.acked)"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of an ack that advanced the node.

    `newest` is the newest sequence in a segment or snapshot for the node's schema, or None if this epoch has none.
    """

    newest: int | None

    def is_behind(self, sequence: int, limit: int | None) -> bool:
        """Return True if a node at `sequence` lacks a publication up to and including `limit` (None: no limit)."""
        return self.newest is not None and sequence < (self.newest if limit is None else min(self.newest, limit))


def record_ack(*, node_id: int, ack: protocol.Ack, now: datetime) -> Recorded | None:
    """Record the position that the node acknowledged, and clear an earlier refusal.

    Return None if the node doesn't advance, because it is already at this position or a later one, or in another epoch.
    """
    return record_acks(acks={node_id: ack}, now=now).get(node_id)


def record_acks(*, acks: Mapping[int, protocol.Ack], now: datetime) -> dict[int, Recorded]:
    """Record several nodes' acks and clear refusals. The result, keyed by node id, omits nodes that didn't move."""
    node_ids = sorted(acks)
    listed = [acks[node_id] for node_id in node_ids]
    with prepared_cursor() as cursor:
        cursor.execute(
            _RECORD_ACKS,
            {
                "nodes": node_ids,
                "epochs": [ack.position.epoch for ack in listed],
                "sequences": [ack.position.sequence for ack in listed],
                "digests": [ack.digest_main + ack.digest_records for ack in listed],
                "unanswered": [json.dumps(ack.unanswered) for ack in listed],
                "now": now,
            },
        )
        moved = {node_id: Recorded(newest) for node_id, newest in cursor.fetchall()}
    for node_id in acks.keys() - moved.keys():
        clear_refusal(node_id=node_id)
    return moved


def record_applied(*, node_id: int, position: Position, now: datetime) -> None:
    """Record that the node's files are at `position`, so that imports continue, if the node is in this epoch."""
    Node.objects.filter(pk=node_id, epoch=position.epoch).update(applied=position.sequence, applied_at=now)


def record_snapshot_ack(
    *, node_id: int, ack: protocol.Ack, schema: int, before: Position | None, now: datetime
) -> bool:
    """Record that the node acknowledged a snapshot. The node's epoch and schema can change.

    One conditional UPDATE expects the position `before`. Return False if the node is now at another position.
    """
    position = ack.position
    return bool(
        fetch_one(
            _RECORD_SNAPSHOT_ACK,
            {
                "node": node_id,
                "epoch": position.epoch,
                "sequence": position.sequence,
                "digest": ack.digest_main + ack.digest_records,
                "schema": schema,
                "unanswered": json.dumps(ack.unanswered),
                "from_epoch": before.epoch if before else None,
                "from_sequence": before.sequence if before else 0,
                "now": now,
            },
        )[0]
    )


def forget_acks(*, before: datetime) -> int:
    """Delete acks older than `before`, except those of each node's current position. Return how many were deleted."""
    return execute(_FORGET_ACKS, (before,))


def record_refusal(*, node_id: int, message: str, now: datetime) -> None:
    """Record a refusal by the node or by the panel on its behalf. Log a new reason, and notify the fronts of it."""
    repeated = Node.objects.filter(pk=node_id, refusal=message).update(refused_at=now)
    if not repeated:
        Node.objects.filter(pk=node_id).update(refusal=message, refused_at=now, refused_since=now)
        logger.error("node refuses node_id=%s: %s", node_id, message)
        fronts_changed.send_robust(sender=None)


def clear_refusal(*, node_id: int) -> None:
    """Clear the node's refusal. Write only if there was one."""
    Node.objects.filter(pk=node_id).exclude(refusal="").update(refusal="", refused_at=None, refused_since=None)


def record_reports(*, reports: Mapping[int, tuple[datetime, Mapping[str, Any]]]) -> None:
    """Store agents' reports (`Status` as JSON) with their times, in one statement for all nodes.

    `unanswered` (about ALIAS and LUA) comes from acks and reports. It isn't overwritten by a report older than the last
    ack.
    """
    if not reports:
        return
    rows = [{"id": node_id, "at": at.isoformat(), "report": report} for node_id, (at, report) in reports.items()]
    execute(_RECORD_REPORTS, {"nodes": list(reports), "reports": json.dumps(rows)})


def record_contact_problem(*, node_id: int, problem: str) -> None:
    """Record why the node's agent can't be reached ("" if it can be). Write only if the reason has changed."""
    Node.objects.filter(pk=node_id).exclude(contact_problem=problem).update(contact_problem=problem)


def record_contact(*, node_ids: Collection[int], versions: Mapping[int, Mapping[str, str]], now: datetime) -> None:
    """Record that these nodes' agents responded at `now`. `versions` has all versions of nodes with a changed one."""
    execute(_RECORD_CONTACT, {"nodes": list(node_ids), "now": now})
    for node_id, found in versions.items():
        Node.objects.filter(pk=node_id).update(versions=dict(found))
