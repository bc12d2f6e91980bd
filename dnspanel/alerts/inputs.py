"""Reads what `rules` and `metrics` go by: as many queries for a hundred nodes as for one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography import x509
from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Min, Q

from dnspanel.alerts.models import DiskMark
from dnspanel.alerts.node_rules import Setup
from dnspanel.alerts.rules import AlertInputs, DeliveryInputs, HookInputs, NodeInputs, TransfersInputs, ZonesInputs
from dnspanel.backup.models import Backup
from dnspanel.catalogs.queries import troubled_catalogs
from dnspanel.evidence.health import destinations_health
from dnspanel.fleet.models import Authority, Bootstrap, Delivery, Divergence, Node
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, heartbeats
from dnspanel.fleet.nodes.reported import read_report
from dnspanel.fleet.nodes.reported_setup import setup_differences
from dnspanel.fleet.processes.state import ProcessesNow, processes_now
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses
from dnspanel.fleet.reads.summary import encoded_by_schema, waiting_publication
from dnspanel.primaries.models import TransferredZone
from dnspanel.publish.models import Segment, Stall
from dnspanel.redis_health import redis_problem
from dnspanel.secondaries.queries import differing_secondaries, late_secondaries
from dnspanel.zones.governance.hook_health import troubled_hooks
from dnspanel.zones.models import LogHead, Publication, PublishHook, PublishRequest, RequestState, WhenSilent
from dnspanel.zones.signing.presigned import ENDS_SOON
from replication import __version__
from replication.disk import disk_of
from replication.wire.position import Position

# A publication that was taken back is told for so long, and looked for among so many.
FAILED_FOR = timedelta(days=1)
FAILED_AMONG = 1_000
PAST_RULES_FOR = timedelta(days=1)
MOST_REQUESTS = 50
# Growth over less time says nothing.
LEAST_GROWTH_TIME = timedelta(hours=6)

# A DS that some servers of a parent do not have yet is on its way for so long; and a parent that could not be asked for
# so long needs somebody to look at it.
PARTIAL_FOR, UNKNOWN_FOR = timedelta(days=1), timedelta(days=2)
# A rollover may wait for so long before somebody is told: for nodes and secondaries, servers of a parent, a DS that
# people bring.
NODES_FOR, PARENT_FOR, DS_FOR = timedelta(minutes=30), timedelta(hours=6), timedelta(days=3)
MOST_ZONES_NAMED = 20

_ZONES = """
    SELECT kind, name, since, total FROM (
        SELECT c.kind, z.name || coalesce(' on ' || c.nodes, '') AS name, c.since,
            count(*) OVER (PARTITION BY c.kind) AS total,
            row_number() OVER (PARTITION BY c.kind ORDER BY c.since, z.name) AS place
        FROM (
            SELECT zone_id, 'misled' AS kind, since, NULL AS nodes FROM fleet_parentcheck
            WHERE state IN ('partial', 'differs', 'bogus') AND (state <> 'partial' OR since <= %(partial)s)
            UNION ALL
            SELECT u.zone_id, 'unproven', min(u.since), string_agg(n.name, ' and ' ORDER BY n.name)
            FROM fleet_unprovenzone u JOIN fleet_node n ON n.id = u.node_id GROUP BY u.zone_id
            UNION ALL
            SELECT zone_id, 'unknown', silent_since, NULL FROM fleet_parentcheck
            WHERE silent_since IS NOT NULL AND silent_since <= %(unknown)s
            UNION ALL
            SELECT zone_id, 'rollover', waits_since, NULL FROM zones_rollover
            WHERE ended_at IS NULL AND (is_stuck
                OR (late <> '{}' OR late_secondaries <> '{}') AND waits_since <= %(late)s
                OR parent_silent <> '' AND waits_since <= %(silent)s
                OR (add_ds <> '{}' OR remove_ds <> '{}') AND waits_since <= %(told)s)
            UNION ALL
            SELECT zone_id, 'ending', signatures_end, NULL FROM zones_signing
            WHERE signatures_end IS NOT NULL AND signatures_end <= %(ending)s
            UNION ALL
            SELECT zone_id, 'expired', min(remove_at), NULL FROM zones_expiry
            WHERE remove_at <= %(now)s AND refusal <> '' GROUP BY zone_id
            UNION ALL
            SELECT zone_id, 'rollover', due_refused_at, NULL FROM zones_signing WHERE due_refused_at IS NOT NULL
            UNION ALL
            SELECT zone_id, 'untransferred', coalesce(failed_since, alert_at), NULL FROM primaries_transferredzone
            WHERE alert_at <= %(now)s
        ) c JOIN zones_zone z ON z.id = c.zone_id AND z.deleted_at IS NULL
    ) ranked WHERE place <= %(most)s ORDER BY kind, place"""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was read at one moment: the facts, and what only metrics show besides."""

    inputs: AlertInputs
    statuses: tuple[NodeStatus, ...]
    epoch: UUID
    head: int
    encoded: Mapping[int, int]  # schema → sequence
    heartbeats: Mapping[str, datetime]
    processes: ProcessesNow


def read(now: datetime) -> Reading:
    """How the fleet and the panel are just now, in the same few queries for any fleet, and a question to Redis."""
    statuses = watched_statuses(now=now)
    log = LogHead.objects.get()
    encoded = encoded_by_schema(log.epoch, [status.node.schema for status in statuses])
    beats = heartbeats()
    authority = Authority.objects.only("client_pem", "created_at").first()
    disk = disk_of(next(path for path in (settings.VAR_DIR, *settings.VAR_DIR.parents) if path.exists()))
    zones = _zones(now)
    requests = _requests(now)
    inputs = AlertInputs(
        nodes=_nodes(statuses, Position(log.epoch, log.sequence), now),
        secondaries=tuple(late_secondaries(now)),
        differing=tuple(differing_secondaries()),
        stalls=tuple(Stall.objects.order_by("schema").values_list("message", flat=True)),
        unencoded_since=_first_after(log.epoch, _encoded_everywhere(encoded)),
        waiting=waiting_publication(statuses, now=now, encoded=encoded, beats=beats),
        hold_reason=log.held_reason,
        delivery=_delivery(),
        failed=_failed(log.sequence, now),
        past_rules=tuple((r.pk, r.ended_by.username if r.ended_by else "", r.reason) for r in requests if r.ended_at),
        unpublished=tuple((r.pk, r.name, r.refusal) for r in requests if not r.ended_at),
        damaged_segments=Segment.objects.filter(damaged=True).count(),
        redis_problem=redis_problem(),
        collector_at=beats.get(COLLECTOR),
        certificate_expires_at=_certificate_ends(authority),
        backup_at=Backup.objects.aggregate(at=Max("at"))["at"],
        misled=zones.get("misled", ZonesInputs()),
        unproven=zones.get("unproven", ZonesInputs()),
        unknown=zones.get("unknown", ZonesInputs()),
        rollovers=zones.get("rollover", ZonesInputs()),
        ending=zones.get("ending", ZonesInputs()),
        expired=zones.get("expired", ZonesInputs()),
        transfers=_transfers(zones["untransferred"], now) if "untransferred" in zones else TransfersInputs(),
        catalogs=tuple(troubled_catalogs()),
        hooks=tuple(map(_hook, troubled_hooks())),
        evidence=destinations_health(),
        set_up_at=authority.created_at if authority else None,
        disk_free_bytes=disk.free_bytes,
        disk_bytes=disk.bytes,
        disk_free_inodes=disk.free_inodes,
        disk_inodes=disk.inodes,
    )
    return Reading(inputs, statuses, log.epoch, log.sequence, encoded, beats, processes_now(beats))


def _zones(now: datetime) -> dict[str, ZonesInputs]:
    """The zones with a trouble, by which: their parents, nodes on which they do not validate, a rollover that stands
    still, signatures that end, a record that stays though it expired, primaries from which nothing comes."""
    parameters: dict[str, Any] = {
        "partial": now - PARTIAL_FOR,
        "unknown": now - UNKNOWN_FOR,
        "late": now - NODES_FOR,
        "silent": now - PARENT_FOR,
        "told": now - DS_FOR,
        "ending": now + ENDS_SOON,
        "now": now,
        "most": MOST_ZONES_NAMED,
    }
    found: dict[str, ZonesInputs] = {}
    with connection.cursor() as cursor:
        cursor.execute(_ZONES, parameters)
        for kind, name, since, total in cursor.fetchall():
            before = found.get(kind, ZonesInputs())
            found[kind] = ZonesInputs(total, (*before.first, (name, since)))
    return found


def _transfers(late: ZonesInputs, now: datetime) -> TransfersInputs:
    """Why the first of these zones is not transferred, and how many of them no node has."""
    rows = TransferredZone.objects.filter(alert_at__lte=now, zone__deleted_at=None)
    reason = rows.filter(zone__name=late.first[0][0]).values_list("error", flat=True).first()
    return TransfersInputs(late, reason or "", rows.filter(zone__is_served=False, zone__is_catalog=False).count())


def _nodes(statuses: Sequence[NodeStatus], head: Position, now: datetime) -> tuple[NodeInputs, ...]:
    open_divergences = Divergence.objects.filter(repaired_at=None).values("node").order_by()
    diverged = {row["node"]: row for row in open_divergences.annotate(zones=Count("pk"), since=Min("found_at"))}
    bootstraps = {row.node_id: row for row in Bootstrap.objects.all()}
    growth = _growth(statuses, now)
    found = []
    for status in statuses:
        node, bootstrap, differs = status.node, bootstraps.get(status.node.pk), diverged.get(status.node.pk)
        found.append(
            NodeInputs(
                node_id=node.pk,
                name=node.name,
                state=node.state,
                health=status.health,
                report=node.report,
                new_since=node.created_at if node.contact_at is None else None,
                clock_offset=_clock_offset(node.report, node.reported_at),
                certificate_expires_at=node.certificate_expires_at,
                digest_equal=node.digest_equal,
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
    """Whether the node's files are where this panel never was, or in another history than its present one."""
    position = report.get("position")
    if not isinstance(position, Mapping):
        return False
    return position.get("epoch") != str(head.epoch) or int(position.get("sequence", 0)) > head.sequence


def _clock_offset(report: Mapping[str, object], reported_at: datetime | None) -> float | None:
    """By how many seconds the node's clock is ahead of the panel's."""
    clock = report.get("clock")
    if reported_at is None or not isinstance(clock, int | float) or not clock:
        return None
    return float(clock) - reported_at.timestamp()


def _growth(statuses: Sequence[NodeStatus], now: datetime) -> dict[int, float]:
    """By how many bytes a day each node's free disk shrinks, since its oldest mark."""
    free = {s.node.pk: int(s.node.report.get("disk_free_bytes", 0)) for s in statuses if s.node.report}
    oldest = DiskMark.objects.order_by("node", "at").distinct("node").values_list("node", "at", "free_bytes")
    found = {}
    for node_id, at, then in oldest:
        if node_id in free and now - at >= LEAST_GROWTH_TIME:
            found[node_id] = (then - free[node_id]) / ((now - at) / timedelta(days=1))
    return found


def _encoded_everywhere(encoded: Mapping[int, int]) -> int:
    """Up to which sequence all schemas have segments; one that was just taken up has none and is being made."""
    begun = [sequence for sequence in encoded.values() if sequence]
    return min(begun, default=0)


def _first_after(epoch: UUID, sequence: int) -> datetime | None:
    """When the first publication after this one was made; None while there is none."""
    later = Publication.objects.filter(epoch=epoch, sequence__gt=sequence).order_by("sequence")
    return later.values_list("at", flat=True).first()


def _delivery() -> DeliveryInputs:
    row = Delivery.objects.first()
    if row is None:
        return DeliveryInputs()
    return DeliveryInputs(row.stopped_reason, row.stopped_at, row.pinned, row.pinned_reason, row.pinned_at)


def _failed(head: int, now: datetime) -> tuple[tuple[int, str], ...]:
    recent = Publication.objects.filter(sequence__gt=head - FAILED_AMONG, at__gte=now - FAILED_FOR)
    return tuple(recent.exclude(failed_reason="").order_by("sequence").values_list("sequence", "failed_reason"))


def _requests(now: datetime) -> list[PublishRequest]:
    """Requests that went past rules lately, and those that were not published at their time."""
    past = Q(state=RequestState.PAST_RULES, ended_at__gte=now - PAST_RULES_FOR)
    late = Q(state=RequestState.OPEN, draft__isnull=False, tried_at__isnull=False) & ~Q(refusal="")
    return list(PublishRequest.objects.filter(past | late).select_related("ended_by").order_by("pk")[:MOST_REQUESTS])


def _hook(hook: PublishHook) -> HookInputs:
    assert hook.failing_since is not None
    return HookInputs(hook.pk, hook.called, hook.scope, hook.failing_since, hook.when_silent == WhenSilent.REFUSE)


def _certificate_ends(authority: Authority | None) -> datetime | None:
    """When the certificate ends with which the panel calls agents."""
    if authority is None:
        return None
    return x509.load_pem_x509_certificate(authority.client_pem.encode()).not_valid_after_utc
