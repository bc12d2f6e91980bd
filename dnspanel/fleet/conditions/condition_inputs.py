"""Read the data that fleet conditions are based on, with a constant number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from cryptography import x509
from django.db.models import Count, Min

from dnspanel.conditions import NO_ZONES, NamedZones, Reading
from dnspanel.database.field_copies import copy_fields
from dnspanel.fleet.models import Authority, Bootstrap, Delivery, Divergence, Node
from dnspanel.fleet.node_health import Health
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, heartbeats
from dnspanel.fleet.nodes.reported import read_report
from dnspanel.fleet.nodes.reported_setup import setup_differences
from dnspanel.fleet.processes.state import ProcessesNow, processes_now
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses
from dnspanel.fleet.reads.summary import encoded_by_schema, waiting_publication
from dnspanel.fleet.rollout.waiting_publications import Waiting
from dnspanel.zones.conditions import LogInputs
from dnspanel.zones.models import Publication
from replication import __version__
from replication.wire.position import Position

# Growth over a shorter time isn't significant.
LEAST_GROWTH_TIME = timedelta(hours=6)
# A DS that only some servers of a parent have is probably being published. If a parent cannot be asked twice in a row,
# a person has to look.
PARTIAL_FOR, UNKNOWN_FOR = timedelta(days=1), timedelta(days=2)

ZONES = """
    SELECT zone_id, 'misled' AS kind, since, NULL AS nodes FROM fleet_parentcheck
    WHERE state IN ('partial', 'differs', 'bogus') AND (state <> 'partial' OR since <= %(partial)s)
    UNION ALL
    SELECT u.zone_id, 'unproven', min(u.since), string_agg(n.name, ' and ' ORDER BY n.name)
    FROM fleet_unprovenzone u JOIN fleet_node n ON n.id = u.node_id GROUP BY u.zone_id
    UNION ALL
    SELECT zone_id, 'unknown', silent_since, NULL FROM fleet_parentcheck
    WHERE silent_since IS NOT NULL AND silent_since <= %(unknown)s"""


class Setup(NamedTuple):
    """The versions of a node's agent and of the panel, and the differences between the node's setup and the panel's."""

    agent: str = ""
    panel: str = ""
    is_older: bool = False
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeInputs:
    """The data about one node. `report` is the agent's last report, even if the agent no longer responds."""

    node_id: int
    name: str
    state: str
    health: Health
    report: Mapping[str, Any]
    new_since: datetime | None = None  # time of the node's creation, if it was never reached
    clock_offset: float | None = None  # seconds; positive: ahead of the panel
    certificate_expires_at: datetime | None = None
    digest_equal: bool | None = None
    diverged: int = 0
    diverged_since: datetime | None = None
    bootstrap_since: datetime | None = None
    bootstrap_error: str = ""
    bytes_a_day: float | None = None  # shrinkage of its free disk; None: not known yet
    setup: Setup = field(default_factory=Setup)
    is_ahead: bool = False  # its files are at a position that this panel never had


@dataclass(frozen=True, slots=True)
class DeliveryInputs:
    """The restrictions on delivering publications (stopped, pinned), with their reasons and times."""

    stopped_reason: str = ""
    stopped_at: datetime | None = None
    pinned: int | None = None
    pinned_reason: str = ""
    pinned_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DiskMarks:
    """An earlier measurement of each node's free disk space: node id → (time, bytes)."""

    oldest: Mapping[int, tuple[datetime, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FleetInputs:
    """The data about all nodes, and about the delivery of publications to them, at one point in time."""

    nodes: tuple[NodeInputs, ...] = ()
    statuses: tuple[NodeStatus, ...] = ()
    epoch: UUID | None = None
    head: int = 0
    encoded: Mapping[int, int] = field(default_factory=dict)  # schema → sequence
    heartbeats: Mapping[str, datetime] = field(default_factory=dict)
    processes: ProcessesNow | None = None
    unencoded_since: datetime | None = None  # of the oldest publication without a segment
    waiting: Waiting | None = None  # the oldest publication that the last nodes do not answer with, and where it waits
    delivery: DeliveryInputs = DeliveryInputs()
    collector_at: datetime | None = None
    certificate_expires_at: datetime | None = None
    set_up_at: datetime | None = None  # when the panel first had data to lose
    misled: NamedZones = NO_ZONES  # signed zones that do not validate from their parents, or will stop doing so
    unproven: NamedZones = NO_ZONES  # zones that do not validate on a node, though no publication is the cause
    unknown: NamedZones = NO_ZONES  # zones whose parents could not be asked for a long time


def read_fleet(now: datetime, reading: Reading) -> FleetInputs:
    """Read the current state of the fleet."""
    statuses = watched_statuses(now=now)
    log = reading.of(LogInputs).head
    assert log is not None
    encoded = encoded_by_schema(log.epoch, [status.node.schema for status in statuses])
    beats = heartbeats()
    authority = Authority.objects.only("client_pem", "created_at").first()
    return FleetInputs(
        nodes=node_inputs(statuses, Position(log.epoch, log.sequence), reading.get(DiskMarks) or DiskMarks(), now),
        statuses=statuses,
        epoch=log.epoch,
        head=log.sequence,
        encoded=encoded,
        heartbeats=beats,
        processes=processes_now(beats),
        unencoded_since=_first_after(log.epoch, _encoded_everywhere(encoded)),
        waiting=waiting_publication(statuses, now=now, encoded=encoded, beats=beats),
        delivery=_delivery(),
        collector_at=beats.get(COLLECTOR),
        certificate_expires_at=_certificate_ends(authority),
        set_up_at=authority.created_at if authority else None,
        misled=reading.zones("misled"),
        unproven=reading.zones("unproven"),
        unknown=reading.zones("unknown"),
    )


def times_of_parents(now: datetime) -> dict[str, datetime]:
    """Return the parameters of the query `ZONES`: a problem at a parent counts if it began before these times."""
    return {"partial": now - PARTIAL_FOR, "unknown": now - UNKNOWN_FOR}


def node_inputs(
    statuses: Sequence[NodeStatus], head: Position, marks: DiskMarks, now: datetime
) -> tuple[NodeInputs, ...]:
    """Return the inputs for the conditions of these nodes. This needs two queries for any number of nodes."""
    open_divergences = Divergence.objects.filter(repaired_at=None).values("node").order_by()
    diverged = {row["node"]: row for row in open_divergences.annotate(zones=Count("pk"), since=Min("found_at"))}
    bootstraps = {row.node_id: row for row in Bootstrap.objects.all()}
    growth = _growth(statuses, marks, now)
    found = []
    for status in statuses:
        node, bootstrap, differs = status.node, bootstraps.get(status.node.pk), diverged.get(status.node.pk)
        found.append(
            copy_fields(
                NodeInputs,
                node,
                node_id=node.pk,
                health=status.health,
                new_since=node.created_at if node.contact_at is None else None,
                clock_offset=_clock_offset(node.report, node.reported_at),
                diverged=differs["zones"] if differs else 0,
                diverged_since=differs["since"] if differs else None,
                bootstrap_since=bootstrap.asked_at if bootstrap else None,
                bootstrap_error=bootstrap.error if bootstrap else "",
                bytes_a_day=growth.get(node.pk),
                setup=_setup(node, is_rebuilding=bootstrap is not None),
                is_ahead=_is_ahead(node.report, head),
            )
        )
    return tuple(found)


def _setup(node: Node, *, is_rebuilding: bool) -> Setup:
    reported = read_report(node)
    differences = setup_differences(node, is_rebuilding=is_rebuilding)
    return Setup(reported.agent, __version__, reported.heard and reported.is_older is True, differences)


def _is_ahead(report: Mapping[str, Any], head: Position) -> bool:
    """Return True if the node's files are at a later position than the panel's head, or belong to another history."""
    position = report.get("position")
    if not isinstance(position, Mapping):
        return False
    return position.get("epoch") != str(head.epoch) or int(position.get("sequence", 0)) > head.sequence


def _clock_offset(report: Mapping[str, object], reported_at: datetime | None) -> float | None:
    """Return the seconds that the node's clock is ahead of the panel's, or None if the node hasn't reported a time."""
    clock = report.get("clock")
    if reported_at is None or not isinstance(clock, int | float) or not clock:
        return None
    return float(clock) - reported_at.timestamp()


def _growth(statuses: Sequence[NodeStatus], marks: DiskMarks, now: datetime) -> dict[int, float]:
    """Return each node's loss of free disk space in bytes per day. Omit nodes measured for less than 6 hours."""
    free = {s.node.pk: int(s.node.report.get("disk_free_bytes", 0)) for s in statuses if s.node.report}
    return {
        node_id: (then - free[node_id]) / ((now - at) / timedelta(days=1))
        for node_id, (at, then) in marks.oldest.items()
        if node_id in free and now - at >= LEAST_GROWTH_TIME
    }


def _encoded_everywhere(encoded: Mapping[int, int]) -> int:
    """Return the sequence up to which all schemas have segments. Ignore new schemas that have no segments yet."""
    begun = [sequence for sequence in encoded.values() if sequence]
    return min(begun, default=0)


def _first_after(epoch: UUID, sequence: int) -> datetime | None:
    """Return the time of the first publication after this sequence, or None if nothing was published after it."""
    later = Publication.objects.filter(epoch=epoch, sequence__gt=sequence).order_by("sequence")
    return later.values_list("at", flat=True).first()


def _delivery() -> DeliveryInputs:
    row = Delivery.objects.first()
    if row is None:
        return DeliveryInputs()
    return DeliveryInputs(row.stopped_reason, row.stopped_at, row.pinned, row.pinned_reason, row.pinned_at)


def _certificate_ends(authority: Authority | None) -> datetime | None:
    """Return the expiry time of the panel's certificate for agents, or None if the panel has no authority yet."""
    if authority is None:
        return None
    return x509.load_pem_x509_certificate(authority.client_pem.encode()).not_valid_after_utc
