"""Repair a node that differs from the panel, zone by zone or with a snapshot.

1. Query the node's status. Only this response counts, not recorded reports.
2. Decide (`node_comparison.decide`). If the digests differ and the node reported no zone, make it read all rows, and
   decide again.
3. For each reported zone: reserve the node's connection, so that its position doesn't change; compile the zone from
   PostgreSQL at this position; send it. Pushes can run between two zones.
4. Query the status again, because more differences can have appeared. If ROUNDS attempts aren't enough, request a
   snapshot.
"""

import logging
import time
from datetime import datetime

from django.utils import timezone

from dnspanel.fleet.integrity import divergences
from dnspanel.fleet.integrity.node_comparison import (
    CheckRows,
    Decision,
    Nothing,
    RepairZones,
    TakeSnapshot,
    decide,
    record,
    seen_in,
)
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_keys
from dnspanel.fleet.push.agent_connections import AgentConnection
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.fleet.rollout import bogus_zones
from dnspanel.publish.errors import ZoneNotEncoded
from dnspanel.publish.files import repairs
from dnspanel.texts import gettext, ngettext
from dnspanel.zones.log.publish_hold import current_hold
from replication.errors import Gap, NodeUnreachable, ReplicationError, Transient
from replication.node_client import NodeClient
from replication.wire.protocol import Status

ROUNDS = 4
# If a push keeps the connection longer than this, a repair stops waiting.
CONNECTION_SECONDS = 20.0
# The time limit for a node to read all of its rows. Reading two million rows takes some seconds.
CHECK_SECONDS = 90.0
_POLL_SECONDS = 0.5
_PAUSE_SECONDS = 0.2

logger = logging.getLogger(__name__)


def repair(node_id: int, connection: AgentConnection) -> bool:
    """Find and repair the differences on a node. Return True if anything was sent or requested.

    Late, missing or repeated runs do no harm. Raise NodeUnreachable or another Transient if beat should try again.
    """
    if current_hold() or not connection.repairing.acquire(blocking=False):
        return False  # a person has to decide about a hold first; or another worker is repairing the node
    try:
        return _repair_in_rounds(node_id, connection)
    finally:
        connection.repairing.release()


def _repair_in_rounds(node_id: int, connection: AgentConnection) -> bool:
    node = Node.objects.filter(pk=node_id, state=NodeState.ACTIVE, bootstrap=None, other_machine="").first()
    if node is None:
        return False
    has_checked = acted = False
    for _ in range(ROUNDS):
        status = _status(node, connection)
        decision = _decide(node, status, has_checked=has_checked)
        if isinstance(decision, Nothing):
            return acted
        acted = True
        if isinstance(decision, TakeSnapshot):
            _take_snapshot(node, status, decision.reason)
            return True
        if isinstance(decision, RepairZones):
            divergences.record_found(node_id=node_id, zones=decision.zones, now=timezone.now())
            for zone in decision.zones:
                _repair_zone(node, connection, zone)
            time.sleep(_PAUSE_SECONDS)
        elif isinstance(decision, CheckRows):
            has_checked = _check(node, connection, status)
    decision = _decide(node, status := _status(node, connection), has_checked=has_checked)
    if isinstance(decision, RepairZones):
        count = len(decision.zones)
        message = ngettext(
            "{count} zone differs again after every repair", "{count} zones differ again after every repair", count
        )
        _take_snapshot(node, status, message.format(count=count))
    return acted


def _decide(node: Node, status: Status, *, has_checked: bool) -> Decision:
    """Decide how to repair the node, and record the result of the comparison."""
    seen = seen_in(status, has_checked=has_checked)
    expected = None
    if seen.position is not None:
        expected = repairs.digest_at(schema=status.schema, position=seen.position)
    decision = decide(seen, expected)
    record(node_id=node.pk, seen=seen, decision=decision, now=timezone.now())
    return decision


def _client(node: Node, connection: AgentConnection) -> NodeClient:
    return connection.client(node.agent_host, node.agent_port, node.pins)


def _status(node: Node, connection: AgentConnection) -> Status:
    with connection.reserve(CONNECTION_SECONDS):
        return _client(node, connection).status()


def _repair_zone(node: Node, connection: AgentConnection, zone: tuple[int, str, str]) -> None:
    """Send one zone. If its repair fails, only record the error, so that the other zones are still repaired.

    If the node's position has changed (Gap), skip the zone until the next round. Raise other Transient errors.
    """
    zone_id, told_name, _ = zone
    with connection.reserve(CONNECTION_SECONDS):
        client = _client(node, connection)
        try:
            differences, name = _send(client, node, zone_id, told_name, now=timezone.now())
        except Gap as gap:
            logger.info("repair put off node=%s zone_id=%s: it is at %s now", node.name, zone_id, gap.have)
        except Transient:
            raise
        except (ReplicationError, ZoneNotEncoded) as exc:
            divergences.record_failed(node_id=node.pk, zone_id=zone_id, error=str(exc))
            logger.error("cannot repair node=%s zone_id=%s: %s", node.name, zone_id, exc)
        else:
            divergences.record_repaired(
                node_id=node.pk, zone_id=zone_id, zone_name=name, differences=differences, now=timezone.now()
            )


def _send(client: NodeClient, node: Node, zone_id: int, told_name: str, now: datetime) -> tuple[tuple[str, ...], str]:
    """Compile the zone at the node's position and send it. Return the node's differences and the zone's name."""
    status = client.status()
    if status.position is None:
        raise NodeUnreachable(host=client.host, port=client.port, reason=gettext("the node didn’t report a position"))
    repair = repairs.make_repair(
        schema=status.schema, zone_id=zone_id, told_name=told_name, position=status.position, now=now
    )
    passed = bogus_zones.names_of(node)
    repaired = node_keys.with_keys(client, lambda: client.repair(repair.sealed, unproven=passed))
    return repaired.differences, repair.zone_name


def _check(node: Node, connection: AgentConnection, before: Status) -> bool:
    """Make the node read every row. Return True if it finishes or reports a zone before the time limit."""
    with connection.reserve(CONNECTION_SECONDS):
        _client(node, connection).check()
    until = time.monotonic() + CHECK_SECONDS
    while time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        if (status := _status(node, connection)).checked_at != before.checked_at or status.diverged:
            return True
    return False


def _take_snapshot(node: Node, status: Status, reason: str) -> None:
    now = timezone.now()
    divergences.record_found(node_id=node.pk, zones=status.diverged, now=now)
    ask_for_snapshot(node_id=node.pk, reason=reason, now=now)
