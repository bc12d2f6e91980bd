"""Read the delivery state of each stage and the limit of each node from the database (`stages` decides).

A fleet with one group and no ring 0 has no row of `Release`, so the statement that loads a node is sufficient.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import BigIntegerField, BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.database.sql import fetch_all, fetch_one
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Node
from dnspanel.fleet.node_health import OFFLINE_AFTER
from dnspanel.fleet.rollout.stages import Answers, Clearance, Member, Ring0, Stage, clearances
from dnspanel.texts import gettext, gettext_noop
from replication.message_texts import parse_text

RING0 = gettext_noop("the panel’s canary")
# Nodes of a fleet without groups.
EVERYONE = gettext_noop("all nodes")
# The period before a publication that its answers are compared with, and how long its effect is watched.
BEFORE = timedelta(minutes=5)
LONGEST_AFTER = timedelta(minutes=10)

# A node without a group belongs to the last one. Rows of another epoch stop it until the new epoch has rows.
_GROUP = """coalesce(fleet_node.group_id, (SELECT id FROM fleet_nodegroup ORDER BY "order" DESC LIMIT 1))"""
_LIMIT = f"""(
    SELECT least(
        CASE WHEN d.stopped_whole THEN 0 END,
        d.pinned,
        CASE WHEN NOT fleet_node.is_ring0 THEN (
            SELECT max(CASE WHEN r.epoch = (SELECT epoch FROM zones_loghead) THEN r.sequence ELSE 0 END)
            FROM fleet_release r WHERE r.group_id IS NOT DISTINCT FROM {_GROUP}
        ) END
    ) FROM (SELECT 1) one LEFT JOIN fleet_delivery d ON true
)"""
# True if others can wait for this node's acks: all other nodes wait for ring 0, and later groups for a group's node.
_IS_GATE = """(
    NOT fleet_node.is_front AND (fleet_node.is_ring0 OR EXISTS (SELECT FROM fleet_isolation WHERE merged_at IS NULL)
    OR EXISTS (SELECT FROM fleet_nodegroup mine JOIN fleet_nodegroup later ON later."order" > mine."order"
               WHERE mine.id = fleet_node.group_id))
)"""

# The fields of a node that a push needs.
_PUSHED_BY = frozenset(
    {
        "id",
        "name",
        "schema",
        "agent_host",
        "agent_port",
        "epoch",
        "acked",
        "refusal",
        "certificate_sha256",
        "next_certificate_sha256",
        "machine",
        "machine_address",
        "other_machine",
        "other_machine_address",
        "is_ring0",
        "dns_address",
        "dns_port",
    }
)
_READ = [field.attname for field in Node._meta.concrete_fields if field.attname in _PUSHED_BY]  # as `from_db` has them
_COLUMNS = ", ".join(f'fleet_node."{name}"' for name in _READ)

_TAKES_PUSHES = f"""
    SELECT {_COLUMNS}, {_LIMIT}, {_IS_GATE}, EXISTS (SELECT FROM fleet_unprovenzone u WHERE u.node_id = fleet_node.id)
    FROM fleet_node
    WHERE id = ANY(%s::bigint[]) AND state = 'active'
        AND NOT EXISTS (SELECT FROM fleet_bootstrap WHERE fleet_bootstrap.node_id = fleet_node.id)"""

_FREE = f"SELECT id FROM fleet_node WHERE schema = %s AND state = 'active' AND {_LIMIT} IS NULL"

# Silence means nothing unless the collector, which polls the nodes, is running.
_HEARD = """CASE WHEN (SELECT at FROM fleet_heartbeat WHERE process = 'collector') > %s THEN contact_at ELSE %s END"""
_NODES = f"""
    SELECT fleet_node.id, fleet_node.name, is_ring0, {_GROUP}, CASE WHEN epoch = %s THEN acked ELSE 0 END,
        acked_at, {_HEARD}, CASE WHEN refused_since <= %s THEN refusal ELSE '' END, digest_equal IS FALSE, is_front
    FROM fleet_node WHERE state = 'active' ORDER BY fleet_node.name"""
_GROUPS = """
    SELECT g.id, g.name, g.verify_seconds, g.skipped_reason <> '', r.sequence
    FROM (SELECT id, name, verify_seconds, skipped_reason, "order" FROM fleet_nodegroup
          UNION ALL SELECT NULL, %s, 0, '', 0 WHERE NOT EXISTS (SELECT FROM fleet_nodegroup)) g
    LEFT JOIN fleet_release r ON r.group_id IS NOT DISTINCT FROM g.id AND r.epoch = %s
    ORDER BY g."order" """
_STATE = """
    SELECT h.epoch, h.sequence, d.stopped_reason, d.stopped_group_id, d.stopped_whole, d.pinned, d.resumed_at,
        (SELECT min(failed) FROM fleet_isolation i WHERE i.epoch = h.epoch AND i.merged_at IS NULL),
        (SELECT count(*) FROM fleet_release)
    FROM zones_loghead h LEFT JOIN fleet_delivery d ON true"""
_VERIFIED = """
    SELECT n.id, (SELECT a.sequence FROM fleet_ack a WHERE a.node_id = n.id AND a.epoch = %s AND a.at <= %s
                  ORDER BY a.sequence DESC LIMIT 1)
    FROM fleet_node n WHERE n.id = ANY(%s)"""
_BEGAN = "SELECT min(at) FROM fleet_ack WHERE node_id = ANY(%s) AND epoch = %s AND sequence > %s AND at > %s"


class _Row(NamedTuple):
    id: int
    name: str
    is_ring0: bool
    group_id: int | None
    acked: int
    acked_at: datetime | None
    heard_at: datetime | None
    refusal: str
    is_diverged: bool
    is_front: bool


@dataclass(frozen=True, slots=True)
class Gates:
    """The state of delivery: the stages in order, and the limits set by people or failures."""

    epoch: UUID
    head: int
    stages: tuple[Stage, ...]
    stopped_reason: str = ""
    stopped_behind: Stage | None = None
    is_stopped: bool = False
    pinned: int | None = None
    isolated: int | None = None  # from this sequence on, only ring 0 gets publications for now
    fronts: tuple[int, ...] = ()  # no node waits for fronts
    releases: int = 0  # the number of rows of Release, in all epochs

    def clearances(self) -> list[Clearance]:
        """Return the limit of each stage, with a reason if it is below the head."""
        cleared = clearances(self.stages, head=self.head, stopped=self.stopped_behind)
        return [self._cap_clearance(clearance) for clearance in cleared]

    def reason_to_wait(self, *, group_id: int | None, is_ring0: bool) -> str:
        """Return why nodes of this group wait at their limit."""
        if self.is_stopped:
            return gettext("delivery is stopped ({reason})").format(reason=self.stopped_reason)
        cleared = self.clearances()
        groups = [c for c in cleared if c.stage.ring0 is Ring0.NO]
        # A node without a group belongs to the last one.
        mine = next((c for c in groups if c.stage.group_id == group_id), groups[-1]) if not is_ring0 else cleared[0]
        is_first = mine.sequence is None or (self.pinned is not None and self.pinned <= mine.sequence)
        if self.pinned is not None and is_first:
            return gettext("the fleet is pinned at sequence {sequence}").format(sequence=self.pinned)
        return mine.reason or gettext("the next publication is about to be sent")

    def _cap_clearance(self, clearance: Clearance) -> Clearance:
        sequence = clearance.sequence
        if self.isolated is None or clearance.stage.ring0 is not Ring0.NO:
            return clearance
        if sequence is not None and sequence < self.isolated:
            return clearance
        return replace(
            clearance,
            sequence=max(self.isolated - 1, clearance.stage.released or 0),
            reason=gettext("sequence {sequence} failed on the canary and is being reverted").format(
                sequence=self.isolated
            ),
        )


def with_limit(nodes: "QuerySet[Node]") -> "QuerySet[Any]":
    """Add the fields `limit` and `is_gate` to a query for nodes, without another statement."""
    return nodes.annotate(
        limit=RawSQL(_LIMIT, (), output_field=BigIntegerField(null=True)),
        is_gate=RawSQL(_IS_GATE, (), output_field=BooleanField()),
    )


def node_to_push(node_id: int) -> Any | None:
    """Return this node with the fields of `nodes_to_push`, or None if it doesn't take pushes."""
    return next(iter(nodes_to_push([node_id])), None)


def nodes_to_push(node_ids: Sequence[int]) -> list[Any]:
    """Return the nodes with these ids that take pushes, in one statement.

    Each node has the fields in `_PUSHED_BY`, and `limit`, `is_gate` and `has_unproven`.
    """
    found = []
    with prepared_cursor() as cursor:
        cursor.execute(_TAKES_PUSHES, (list(node_ids),))
        for *values, limit, is_gate, has_unproven in cursor.fetchall():
            node: Any = Node.from_db(connection.alias, _READ, values)
            node.limit, node.is_gate, node.has_unproven = limit, is_gate, has_unproven
            found.append(node)
    return found


def free_nodes(*, schema: int) -> list[int]:
    """Return the ids of a schema's active nodes that have no limit. A publication wakes these nodes."""
    with prepared_cursor() as cursor:
        cursor.execute(_FREE, (schema,))
        return [id_ for (id_,) in cursor.fetchall()]


def read_gates(*, now: datetime) -> Gates:
    """Read the state of delivery, with three statements, and two more for each group that has a time to verify."""
    with prepared_cursor() as cursor:
        cursor.execute(_STATE)
        epoch, head, reason, stopped_group, is_stopped, pinned, resumed_at, isolated, releases = cursor.fetchone()
        refused_since = now - timedelta(seconds=settings.REFUSAL_PATIENCE)
        cursor.execute(_NODES, (epoch, now - OFFLINE_AFTER, now, refused_since))
        rows = defaultdict(list)
        everyone = [_Row._make(row) for row in cursor.fetchall()]
        for row in everyone:
            if not row.is_front:
                rows[RING0 if row.is_ring0 else row.group_id].append(row)
        cursor.execute(_GROUPS, (EVERYONE, epoch))
        groups = cursor.fetchall()
    stages = [_ring0_stage(rows[RING0], now)] if rows[RING0] else []
    for id_, name, verify_seconds, is_skipped, released in groups:
        called = gettext(EVERYONE) if id_ is None else name
        stage = Stage(called, (), id_, Ring0.NO, verify_seconds, released, is_skipped)
        stages.append(_with_members(stage, rows[id_], epoch, now))
    stages = [_with_answers(stage, stages, epoch, resumed_at, now) for stage in stages]
    behind = next((s for s in stages if s.ring0 is Ring0.NO and reason and s.group_id == stopped_group), None)
    return Gates(
        epoch,
        head,
        tuple(stages),
        parse_text(reason or ""),
        None if is_stopped else behind,
        bool(is_stopped),
        pinned,
        isolated,
        tuple(row.id for row in everyone if row.is_front),
        releases,
    )


def _ring0_stage(rows: Sequence[_Row], now: datetime) -> Stage:
    """Return the stage of ring 0.

    Other stages wait for ring 0 while it is live (it reported recently and serves data), or always if the setting
    RING0_REQUIRED is on.
    """
    patience = timedelta(seconds=settings.RING0_PATIENCE)
    members = tuple(_member(row, row.acked, is_live=_is_live(row, now, patience)) for row in rows)
    counts = settings.RING0_REQUIRED or any(member.is_live for member in members)
    return Stage(gettext(RING0), members, ring0=Ring0.WAITED_FOR if counts else Ring0.AWAY)


def _with_members(stage: Stage, rows: Sequence[_Row], epoch: UUID, now: datetime) -> Stage:
    verified = {row.id: row.acked for row in rows}
    if stage.verify_seconds and rows:
        until = now - timedelta(seconds=stage.verify_seconds)
        young = [row.id for row in rows if row.acked_at is not None and row.acked_at > until]
        verified |= {id_: sequence or 0 for id_, sequence in fetch_all(_VERIFIED, (epoch, until, young))}
    members = tuple(_member(row, verified[row.id], is_live=_is_live(row, now, OFFLINE_AFTER)) for row in rows)
    return replace(stage, members=members)


def _member(row: _Row, verified: int, *, is_live: bool) -> Member:
    return Member(row.id, row.name, row.acked, verified, is_live, parse_text(row.refusal), row.is_diverged)


def _is_live(row: _Row, now: datetime, patience: timedelta) -> bool:
    """Return True if the node's agent responds and the node has acknowledged a position, unlike a new node."""
    heard = row.heard_at is not None and now - row.heard_at <= patience
    return heard and row.acked > 0


def _with_answers(
    stage: Stage, stages: Sequence[Stage], epoch: UUID, resumed_at: datetime | None, now: datetime
) -> Stage:
    """Return the stage with its answer counts before and after it received the data that the next stage lacks."""
    followers = [s for s in stages[stages.index(stage) + 1 :] if s.members]
    if not stage.verify_seconds or not stage.members or not followers:
        return stage
    ids = [member.id for member in stage.members]
    others = [member.id for follower in followers for member in follower.members]
    oldest = now - LONGEST_AFTER
    (began,) = fetch_one(_BEGAN, (ids, epoch, followers[0].released or 0, oldest))
    if began is None:
        return stage
    began = max(began, resumed_at or began)
    return replace(
        stage,
        before=_answers(ids, began - BEFORE, began),
        after=_answers(ids, began, now),
        elsewhere=_answers(others, began, now),
    )


def _answers(node_ids: Sequence[int], begin: datetime, end: datetime) -> Answers:
    rcodes = telemetry.answers_between(node_ids, begin.timestamp(), end.timestamp())
    return Answers(sum(rcodes.values()), rcodes["SERVFAIL"] + rcodes["REFUSED"])
