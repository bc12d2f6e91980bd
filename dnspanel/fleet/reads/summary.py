"""Summarize the fleet and waiting publications in one line, for the header of every page, alerts and metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from dnspanel.database.sql import fetch_all
from dnspanel.fleet.models import Delivery, NodeState
from dnspanel.fleet.node_health import CONTACT_KNOWN_FOR, FAULTS, LATE_AFTER, WELL, Word
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, heartbeats
from dnspanel.fleet.processes.state import is_at_work
from dnspanel.fleet.reads.node_counts import NodeCounts, count_nodes
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses, without_ring0
from dnspanel.fleet.rollout import waiting_publications as places
from dnspanel.fleet.rollout.gates import read_gates
from dnspanel.fleet.rollout.waiting_publications import Follower, Pipeline, Waiting, oldest_waiting
from dnspanel.publish.encoding.stall import stalls
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.texts import gettext, joined
from dnspanel.zones.log.publish_hold import current_hold

_MOST_NAMED = 3

_ENCODED = """
    SELECT s.schema, greatest(
        (SELECT g.last FROM publish_segment g WHERE g.schema = s.schema AND g.epoch = %(epoch)s
         ORDER BY g.last DESC LIMIT 1),
        (SELECT max(p.sequence) FROM publish_snapshot p WHERE p.schema = s.schema AND p.epoch = %(epoch)s), 0)
    FROM unnest(%(schemas)s::int[]) s (schema) ORDER BY s.schema"""


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """The fleet in one line. `tone` is ok, warn, bad or quiet. Only nodes that take pushes count.

    The line names a canary with a problem, but doesn't count it, because no client queries it.
    """

    counts: NodeCounts  # of live servers
    tone: str
    message: str


def fleet_summary(*, now: datetime | None = None, statuses: Sequence[NodeStatus] | None = None) -> FleetSummary:
    """Return the number of live nodes, and any problems with nodes or the delivery to them.

    If publishing or all delivery is stopped, the line contains only the reason. Pass `statuses` if the result of
    `watched_statuses` is already known.
    """
    now = now or timezone.now()
    everything = watched_statuses(now=now) if statuses is None else statuses
    watched = [s for s in everything if s.node.state == NodeState.ACTIVE]
    late = late_publication(everything, now=now)
    # The canary first, because the others wait for it.
    troubled = sorted((s for s in watched if s.health.word not in WELL), key=lambda s: not s.node.is_ring0)
    counts = live_counts(watched, late)
    if trouble := _trouble_of_publishing():
        return FleetSummary(counts, "bad", trouble)
    if not without_ring0(watched):
        return FleetSummary(counts, "quiet", gettext("No active node"))
    tone = "bad" if any(s.health.word in FAULTS for s in troubled) else "warn" if troubled else "ok"
    parts = [gettext("Live: {counts}").format(counts=counts.text)]
    if late is not None and late.place in places.BEFORE_NODES:  # which makes nodes late without own faults
        troubled = [s for s in troubled if s.health.word not in places.FOLLOWS]
    parts += _list_troubled(troubled)
    if late is not None and late.name not in {s.node.name for s in troubled}:
        tone = "bad" if tone == "bad" or late.late_by(now) >= places.VERY_LATE_AFTER else "warn"
        parts.append(places.describe(late, now))
    return FleetSummary(counts, tone, joined("; ", parts))


def live_counts(statuses: Sequence[NodeStatus], late: Waiting | None) -> NodeCounts:
    """Count the live servers. A healthy server that lacks the publication `late` doesn't count as live."""

    def is_live(status: NodeStatus) -> bool:
        has_it = late is None or status.lacks_since is None or status.lacks > late.sequence
        return status.health.word in WELL and has_it

    return count_nodes((status.node, is_live(status)) for status in statuses)


def late_publication(statuses: Sequence[NodeStatus], *, now: datetime) -> Waiting | None:
    """Return the oldest waiting publication if it is late and no other alert explains the delay, or else None.

    If no node is late, no query runs. `statuses` is the result of `watched_statuses`.
    """
    if not any(s.lacks_since is not None and now - s.lacks_since >= places.LATE_AFTER for s in _takers(statuses)):
        return None
    waiting = waiting_publication(statuses, now=now)
    return waiting if waiting is not None and waiting.late_by(now) >= places.LATE_AFTER else None


def waiting_publication(
    statuses: Sequence[NodeStatus],
    *,
    now: datetime,
    encoded: Mapping[int, int] | None = None,
    beats: Mapping[str, datetime] | None = None,
) -> Waiting | None:
    """Return the oldest publication that waits for an active node, and its place, by the rules of `oldest_waiting`.

    If no active node lacks a publication, return None without a query. Otherwise a few queries run, for any number of
    nodes. `statuses` is the result of `watched_statuses`. Pass `encoded` and `beats` if they are already known.
    """
    takers = _takers(statuses)
    if not any(status.lacks_since is not None for status in takers):
        return None
    gates = read_gates(now=now)
    encoded = encoded_by_schema(gates.epoch, [s.node.schema for s in statuses]) if encoded is None else encoded
    beats = heartbeats() if beats is None else beats
    is_contact_known = COLLECTOR in beats and now - beats[COLLECTOR] <= CONTACT_KNOWN_FOR
    pipeline = Pipeline(
        clearances=gates.clearances(),
        is_on_hold=current_hold() is not None,
        is_stopped=gates.is_stopped,
        stopped_behind=gates.stopped_behind,
        pinned=gates.pinned,
        push_works=is_at_work("push", beats, now),
    )
    return oldest_waiting([_follower(s, encoded, now, is_contact_known=is_contact_known) for s in takers], pipeline)


def encoded_by_schema(epoch: UUID, of_nodes: Sequence[int]) -> dict[int, int]:
    """Return the newest sequence in a segment or snapshot, for each schema in use or in `of_nodes` (0: none)."""
    schemas = sorted({*schemas_in_use(), *of_nodes})
    return dict(fetch_all(_ENCODED, {"epoch": epoch, "schemas": schemas}))


def _takers(statuses: Sequence[NodeStatus]) -> list[NodeStatus]:
    return [status for status in statuses if status.node.state == NodeState.ACTIVE]


def _follower(status: NodeStatus, encoded: Mapping[int, int], now: datetime, *, is_contact_known: bool) -> Follower:
    node: Any = status.node  # with `limit`
    word = status.health.word
    gets_snapshot = getattr(node, "bootstrap", None) is not None
    moved = [at for at in (node.acked_at, node.applied_at) if at is not None and now - at <= LATE_AFTER]
    is_silent = word is Word.OFFLINE and is_contact_known
    return Follower(
        node_id=node.pk,
        name=node.name,
        is_ring0=node.is_ring0,
        sequence=status.lacks,
        since=status.lacks_since,
        limit=node.limit,
        encoded=encoded.get(node.schema, 0),
        # All other nodes wait for a canary that gets a snapshot, so the duration matters.
        has_trouble=is_silent or word is Word.REJECTING or (gets_snapshot and not node.is_ring0),
        is_moving=bool(moved) or gets_snapshot,
        acked_at=node.acked_at,
    )


def _trouble_of_publishing() -> str:
    """Return why publishing or delivery is stopped, or "" in normal operation."""
    if stalled := stalls():
        return gettext("Publishing is stopped. Reason: {reason}").format(reason=stalled[0].message)
    if stopped := Delivery.objects.exclude(stopped_reason="").values_list("stopped_reason", flat=True).first():
        return gettext("Delivery is stopped. Reason: {reason}").format(reason=stopped)
    return ""


def _list_troubled(troubled: Sequence[NodeStatus]) -> list[str]:
    named: list[str] = [
        gettext("{name} {word}").format(name=s.node.name, word=gettext(str(s.health.word)))
        for s in troubled[:_MOST_NAMED]
    ]
    if len(troubled) > _MOST_NAMED:
        named.append(gettext("{count} more").format(count=len(troubled) - _MOST_NAMED))
    return named
