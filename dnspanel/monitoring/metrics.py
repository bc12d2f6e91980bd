"""Export metrics of the fleet and the panel to Prometheus, with the same number of queries for any number of nodes.

A node's counters are sums over all its samples, so they don't reset when its PowerDNS restarts. They only reset if
Redis is emptied. Unknown values are omitted, because a zero would look like a measurement.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.models import Alert
from dnspanel.alerts.panel_conditions import PanelInputs
from dnspanel.alerts.process_rules import is_overdue
from dnspanel.audit.forward.conditions import EvidenceInputs
from dnspanel.backup.conditions import BackupInputs
from dnspanel.conditions import Reading, kinds
from dnspanel.database.sql import fetch_one
from dnspanel.fleet import telemetry
from dnspanel.fleet.conditions.condition_inputs import FleetInputs, NodeInputs
from dnspanel.fleet.models import NodeState, Release
from dnspanel.fleet.node_health import OFFLINE_AFTER, Word
from dnspanel.fleet.nodes.fronts import report_of
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, WATCH
from dnspanel.fleet.processes.process_roles import BUSY_FOR, REQUIRED
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.fleet.rollout.waiting_publications import Waiting
from dnspanel.processes.redis_health import RedisProblem
from dnspanel.publish.conditions import PublishInputs
from dnspanel.zones.conditions import LogInputs
from replication import __version__

QUEUES = tuple(BUSY_FOR)
# The number of newest confirmations that push latencies are measured over.
PROOFS = 1_000
QUANTILES = (0.5, 0.9, 0.99)

_LATENCIES = """
    SELECT percentile_disc(%s::float[]) WITHIN GROUP (ORDER BY greatest(0, extract(epoch FROM a.at - p.at))), count(*)
    FROM (SELECT epoch, sequence, at FROM fleet_ack ORDER BY id DESC LIMIT %s) a
    JOIN zones_publication p ON p.sequence = a.sequence AND p.epoch = a.epoch"""

Family = CounterMetricFamily | GaugeMetricFamily


def exposition(now: datetime) -> bytes:
    """Return all metrics in Prometheus's text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fleet(read(now), now))
    return generate_latest(registry)


class _Fleet(Collector):
    """A collector of all metrics: those in one `Reading`, and those that need their own queries or Redis."""

    def __init__(self, reading: Reading, now: datetime) -> None:
        self._reading, self._now = reading, now

    def collect(self) -> Iterator[Metric]:
        fleet = self._reading.of(FleetInputs)
        yield from _of_nodes(fleet, self._now)
        yield from _of_traffic(fleet.statuses)
        yield from _of_fronts(fleet.statuses)
        yield from _of_panel(self._reading)
        yield from _of_waiting(fleet.waiting, self._now)
        yield from _of_processes(fleet, self._now)
        yield from _of_evidence(self._reading.of(EvidenceInputs))
        yield from _of_alerts()


def _of_nodes(fleet: FleetInputs, now: datetime) -> Iterator[Family]:
    by_id = {node.node_id: node for node in fleet.nodes}
    pairs = [(status, by_id[status.node.pk]) for status in fleet.statuses]
    up = _gauge("node_up", "Whether the node's agent answers", "node")
    state = _gauge("node_state", "The word for how a node stands: 1 for the one that holds", "node", "state")
    position = _gauge("node_position", "The newest sequence that the node answered over DNS", "node")
    changes = _gauge("node_lag_changes", "Publications that the node lacks", "node")
    seconds = _gauge("node_lag_seconds", "For how long the node has lacked the oldest of them", "node")
    contact = _gauge("node_contact_timestamp_seconds", "When the panel last heard of the node", "node")
    for status, _ in pairs:
        node, health = status.node, status.health
        up.add_metric([node.name], _is_up(status, now))
        for word in Word:
            state.add_metric([node.name, word], health.word == word)
        position.add_metric([node.name], node.acked)
        changes.add_metric([node.name], health.lag)
        seconds.add_metric([node.name], health.lag_seconds)
        if node.contact_at is not None:
            contact.add_metric([node.name], node.contact_at.timestamp())
    yield from (up, state, position, changes, seconds, contact)
    yield from _of_reports([inputs for _, inputs in pairs])


def _of_reports(nodes: Sequence[NodeInputs]) -> Iterator[Family]:
    """Yield metrics from the agents' reports, and the panel's own metrics about each agent."""
    for name, key, about in (
        ("map_used_ratio", "map_used", "How full the fuller of the LMDB maps is"),
        ("disk_free_bytes", "disk_free_bytes", "Free bytes on the disk with the LMDB files"),
        ("disk_bytes", "disk_bytes", "Size of that disk"),
        ("disk_free_inodes", "disk_free_inodes", "Free inodes of that disk"),
        ("disk_inodes", "disk_inodes", "Inodes of that disk; 0: it makes them as it needs them"),
        ("oldest_reader_transactions", "oldest_reader", "Transactions since the oldest LMDB reader began"),
        ("agent_memory_bytes", "rss_bytes", "Memory of the agent"),
        ("write_lock_max_milliseconds", "write_lock_ms_max", "Longest LMDB write transaction since the agent started"),
        ("write_lock_own_max_milliseconds", "write_lock_own_ms_max", "Most processor time within one"),
    ):
        family = _gauge(f"node_{name}", about, "node")
        for node in nodes:
            if isinstance(value := node.report.get(key), int | float):
                family.add_metric([node.name], value)
        yield family
    ends = _gauge("node_certificate_expiry_timestamp_seconds", "When the node's certificate ends", "node")
    clock = _gauge("node_clock_offset_seconds", "By how much the node's clock is ahead of the panel's", "node")
    equal = _gauge("node_digest_equal", "Whether the node's digest is the panel's at its position", "node")
    diverged = _gauge("node_diverged_zones", "Zones that are not what the panel sent", "node")
    bootstrapping = _gauge("node_bootstrapping", "Whether the node is being given a snapshot", "node")
    for node in nodes:
        if node.certificate_expires_at is not None:
            ends.add_metric([node.name], node.certificate_expires_at.timestamp())
        if node.clock_offset is not None:
            clock.add_metric([node.name], node.clock_offset)
        if node.digest_equal is not None:
            equal.add_metric([node.name], node.digest_equal)
        diverged.add_metric([node.name], node.diverged)
        bootstrapping.add_metric([node.name], node.bootstrap_since is not None)
    yield from (ends, clock, equal, diverged, bootstrapping)
    info = _gauge("node_info", "The version of the node's agent; always 1", "node", "agent")
    older = _gauge("node_agent_older", "Whether the node's agent is older than the panel", "node")
    differs = _gauge("node_setup_differences", "In how many ways the node is not set up as the panel has it", "node")
    for node in nodes:
        if node.report:
            info.add_metric([node.name, node.setup.agent], 1)
            older.add_metric([node.name], node.setup.is_older)
            differs.add_metric([node.name], len(node.setup.differences))
    yield from (info, older, differs)


def _of_traffic(statuses: Sequence[NodeStatus]) -> Iterator[Family]:
    names = {status.node.pk: status.node.name for status in statuses}
    totals = telemetry.totals(list(names))
    queries = _counter("node_queries", "Questions that PowerDNS took", "node", "transport")
    answers = _counter("node_answers", "Answers that PowerDNS gave", "node", "rcode")
    cache = _counter("node_cache_lookups", "Lookups in PowerDNS's caches", "node", "cache", "result")
    latency = _gauge("node_latency_seconds", "PowerDNS's own running average of the time for an answer", "node")
    memory = _gauge("node_powerdns_memory_bytes", "Memory of PowerDNS", "node")
    for node_id, found in totals.items():
        name = names[node_id]
        for transport in ("udp", "tcp"):
            queries.add_metric([name, transport], found.get(transport, 0))
        for key, value in found.items():
            if key.startswith("rcode:"):
                answers.add_metric([name, key.removeprefix("rcode:")], value)
        for kind, prefix in (("packet", "packet"), ("query", "query")):
            cache.add_metric([name, kind, "hit"], found.get(f"{prefix}_hits", 0))
            cache.add_metric([name, kind, "miss"], found.get(f"{prefix}_misses", 0))
        latency.add_metric([name], found.get("latency_us", 0) / 1e6)
        memory.add_metric([name], found.get("memory_bytes", 0))
    yield from (queries, answers, cache, latency, memory)


def _of_fronts(statuses: Sequence[NodeStatus]) -> Iterator[Family]:
    """Yield dnsdist's metrics of the nodes behind each front. Its counters begin at dnsdist's start."""
    rotation = _gauge("front_backend_in_rotation", "Whether dnsdist asks the node, and it answers", "node", "backend")
    queries = _counter("front_backend_queries", "Questions that dnsdist sent the node", "node", "backend")
    drops = _counter("front_backend_drops", "Questions that the node left without an answer", "node", "backend")
    latency = _gauge("front_backend_latency_seconds", "dnsdist's own average of the node's time", "node", "backend")
    for status in statuses:
        report = report_of(status.node) if status.node.is_front else None
        for backend in report.backends if report else ():
            labels = [status.node.name, backend.name]
            rotation.add_metric(labels, backend.is_in and backend.is_up)
            queries.add_metric(labels, backend.queries)
            drops.add_metric(labels, backend.drops)
            latency.add_metric(labels, backend.latency_ms / 1000)
    yield from (rotation, queries, drops, latency)


def _of_panel(reading: Reading) -> Iterator[Family]:
    fleet, log, publishing = reading.of(FleetInputs), reading.of(LogInputs), reading.of(PublishInputs)
    panel, backup_at = reading.of(PanelInputs), reading.of(BackupInputs).backup_at
    info = _gauge("info", "The version of the panel; always 1", "version")
    info.add_metric([__version__], 1)
    yield info
    encoded = _gauge("log_encoded", "Up to which sequence there are segments", "schema")
    for schema, sequence in fleet.encoded.items():
        encoded.add_metric([str(schema)], sequence)
    yield encoded
    yield _one(_counter("publications", "Publications of the log, which is its head"), fleet.head)
    yield _one(_gauge("publishing_stalled", "Schemas for which publishing stands still"), len(publishing.stalls))
    yield _one(_gauge("publishing_held", "Whether publishing waits for a person's decision"), bool(log.hold_reason))
    stopped, pinned = bool(fleet.delivery.stopped_reason), fleet.delivery.pinned is not None
    yield _one(_gauge("delivery_stopped", "Whether delivery to later groups was stopped"), stopped)
    yield _one(_gauge("delivery_pinned", "Whether the fleet is pinned"), pinned)
    yield _one(_gauge("damaged_segments", "Segments whose object is gone or altered"), publishing.damaged_segments)
    yield _one(_gauge("redis_up", "Whether Redis answers and takes writes"), panel.redis_problem is None)
    yield _one(_gauge("redis_full", "Whether Redis is full"), panel.redis_problem is RedisProblem.FULL)
    yield _one(_gauge("disk_free_bytes", "Free bytes on the panel's disk"), panel.disk_free_bytes)
    yield _one(_gauge("disk_bytes", "Size of the panel's disk"), panel.disk_bytes)
    yield _one(_gauge("disk_free_inodes", "Free inodes of the panel's disk"), panel.disk_free_inodes)
    yield _one(_gauge("disk_inodes", "Inodes of it; 0: it makes them as it needs them"), panel.disk_inodes)
    waits = _gauge("log_waiting_since_timestamp_seconds", "When the oldest publication without a segment was made")
    yield _one(waits, fleet.unencoded_since.timestamp() if fleet.unencoded_since else None)
    ends = _gauge("certificate_expiry_timestamp_seconds", "When the certificate ends with which the panel calls agents")
    yield _one(ends, fleet.certificate_expires_at.timestamp() if fleet.certificate_expires_at else None)
    backup = _gauge("backup_timestamp_seconds", "When the newest backup of the panel was made")
    yield _one(backup, backup_at.timestamp() if backup_at else None)
    set_up = _gauge("set_up_timestamp_seconds", "When the panel was set up, from when on it has something to lose")
    yield _one(set_up, fleet.set_up_at.timestamp() if fleet.set_up_at else None)
    assert fleet.epoch is not None
    yield _stages(fleet.epoch)
    yield _queue_depths()
    yield from _push_latencies()


def _of_waiting(waiting: Waiting | None, now: datetime) -> Iterator[Family]:
    """Yield metrics of the oldest publication that some nodes don't serve yet: its time and its delay."""
    oldest = _gauge(
        "oldest_unproved_publication_timestamp_seconds",
        "When the oldest publication was published that the last nodes do not answer with",
        "place",
        "name",
    )
    late = _gauge(
        "publications_late_seconds",
        "For how long that publication has waited beyond the time that groups verify; 0 where another alert says why",
        "place",
        "name",
    )
    if waiting is None:
        late.add_metric(["", ""], 0)
    else:
        oldest.add_metric([waiting.place, waiting.name], waiting.since.timestamp())
        late.add_metric([waiting.place, waiting.name], waiting.late_by(now).total_seconds())
    yield from (oldest, late)


def _of_processes(fleet: FleetInputs, now: datetime) -> Iterator[Family]:
    state = fleet.processes
    assert state is not None
    newest = {name: fleet.heartbeats[name] for name in (COLLECTOR, WATCH) if name in fleet.heartbeats}
    for each in state.processes:
        if each.name != COLLECTOR:  # the collector's own heartbeat also shows that nodes report
            newest[each.name] = max(each.at, newest.get(each.name, each.at))
    beats = _gauge("heartbeat_timestamp_seconds", "When a process of the panel was last at work", "process")
    for name, at in newest.items():
        beats.add_metric([name], at.timestamp())
    instances = _gauge("process_instances", "How many processes of a name are at work", "process")
    for name in {*REQUIRED, *newest} - {WATCH} if state.processes else ():
        instances.add_metric([name], len(state.living(name, now)))
    answers = _gauge("queue_answer_timestamp_seconds", "When a worker of a queue last took a task", "queue")
    for queue, at in state.answered.items():
        answers.add_metric([queue], at.timestamp())
    success = _gauge("periodic_last_success_timestamp_seconds", "When periodic work was last done", "task")
    failures = _gauge("periodic_failures", "How often in a row it has failed", "task")
    overdue = _gauge("periodic_overdue", "Whether it should have been done by now", "task")
    for work in state.periodic:
        if work.succeeded_at is not None:
            success.add_metric([work.name], work.succeeded_at.timestamp())
        failures.add_metric([work.name], work.failures)
        overdue.add_metric([work.name], is_overdue(work, now, state.watched_since))
    yield from (beats, instances, answers, success, failures, overdue)


def _of_evidence(inputs: EvidenceInputs) -> Iterator[Family]:
    backlog = _gauge("evidence_backlog", "Acts of the audit log that a destination lacks", "destination")
    success = _gauge("evidence_success_timestamp_seconds", "When it confirmed something last", "destination")
    failing = _gauge("evidence_failing", "Whether it does not take what it is sent", "destination")
    for each in inputs.destinations:
        backlog.add_metric([each.name], each.behind)
        failing.add_metric([each.name], each.failing_since is not None)
        if each.sent_at is not None:
            success.add_metric([each.name], each.sent_at.timestamp())
    yield from (backlog, success, failing)


def _stages(epoch: UUID) -> Family:
    """Return the newest log position that each group of nodes is allowed to apply.

    The label `group` is empty for nodes without a group, which only wait for ring 0.
    """
    family = _gauge("group_released", "Up to which sequence a group of nodes may go", "group")
    for name, sequence in Release.objects.filter(epoch=epoch).values_list("group__name", "sequence"):
        family.add_metric([name or ""], sequence)
    return family


def _queue_depths() -> Family:
    """Return the number of waiting tasks in each queue, or no values if Redis is unreachable."""
    family = _gauge("queue_depth", "Tasks that wait for a worker", "queue")
    pipe = telemetry.connection(settings.REDIS_URL).pipeline(transaction=False)
    for queue in QUEUES:
        pipe.llen(queue)
    try:
        for queue, depth in zip(QUEUES, pipe.execute(), strict=True):
            family.add_metric([queue], depth)
    except RedisError:
        pass
    return family


def _push_latencies() -> Iterator[Family]:
    """Yield quantiles of the time from a publication to its confirmation, and the number of confirmations measured."""
    found, count = fetch_one(_LATENCIES, [list(QUANTILES), PROOFS])
    latencies = _gauge("push_latency_seconds", f"From publication to proof, of the last {PROOFS} proofs", "quantile")
    for quantile, seconds in zip(QUANTILES, found or (), strict=False):
        latencies.add_metric([str(quantile)], float(seconds))
    yield latencies
    yield _one(_gauge("push_latency_proofs", "Over how many proofs these latencies are"), count)


def _of_alerts() -> Iterator[Family]:
    family = _gauge("alerts_open", "Open alerts", "kind", "severity")
    rows = Alert.objects.filter(over_at=None).values("kind", "severity").annotate(alerts=Count("pk")).order_by()
    found: Mapping[tuple[str, str], int] = {(row["kind"], row["severity"]): row["alerts"] for row in rows}
    seen = {kind for kind, _ in found}
    for (kind, severity), count in found.items():
        family.add_metric([kind, severity], count)
    for kind in kinds().keys() - seen:  # so that a new alert is a change of a series, not a new series
        family.add_metric([kind, "warning"], 0)
    yield family


def _is_up(status: NodeStatus, now: datetime) -> bool:
    node = status.node
    known = node.state in {NodeState.ACTIVE, NodeState.DRAINED} and node.contact_at is not None
    return known and now - node.contact_at <= OFFLINE_AFTER  # type: ignore[operator]


def _gauge(name: str, about: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"dnspanel_{name}", about, labels=labels)


def _counter(name: str, about: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"dnspanel_{name}", about, labels=labels)


def _one(family: Family, value: float | None) -> Family:
    if value is not None:
        family.add_metric([], value)
    return family
