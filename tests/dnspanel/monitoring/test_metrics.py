"""Prometheus metrics, parsed by Prometheus's own client library."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as panel_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from dnspanel.alerts.watch import keep
from dnspanel.conditions import Condition, Severity, kinds
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Ack, Node, NodeGroup, PeriodicTask, Release
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, WATCH_SINCE, answer_roll, beat
from dnspanel.fleet.processes.beats import Identity, Load, beat_process
from dnspanel.fleet.processes.periodic import know_schedule
from dnspanel.fleet.processes.process_roles import REQUIRED
from dnspanel.monitoring.metrics import exposition
from dnspanel.zones.models import LogHead, Publication
from replication.wire.front_messages import BackendReport, FrontReport
from replication.wire.protocol import Sample
from tests.dnspanel.fleet.conftest import MakeNode, create_front
from tests.people import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_redis")]

Labels = tuple[tuple[str, str], ...]


def scrape() -> dict[str, dict[Labels, float]]:
    """Return the values of all metrics by name and labels."""
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(exposition(NOW).decode()):
        assert family.documentation
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def of(node: str, **more: str) -> Labels:
    return tuple(sorted({"node": node, **more}.items()))


def sample(at: int, **counts: Any) -> Sample:
    given = {
        "seconds": 1.0,
        "uptime": 9,
        "udp": 10,
        "tcp": 1,
        "rcodes": {"NOERROR": 9, "NXDOMAIN": 2},
        "packet_hits": 6,
        "packet_misses": 4,
        "query_hits": 3,
        "query_misses": 1,
        "latency_us": 1500,
        "memory_bytes": 1 << 20,
    }
    return Sample(at=at, **{**given, **counts})


def test_an_empty_panel_has_metrics_and_invents_none() -> None:
    found = scrape()
    assert found["dnspanel_publications_total"] == {(): 0}
    assert found["dnspanel_redis_up"] == {(): 1}
    assert found["dnspanel_log_encoded"] == {(("schema", "4"),): 0}
    assert set(found["dnspanel_alerts_open"].values()) == {0}
    assert {dict(labels)["kind"] for labels in found["dnspanel_alerts_open"]} == kinds().keys()
    for unknown in (
        "node_up",
        "push_latency_seconds",
        "backup_timestamp_seconds",
        "log_waiting_since_timestamp_seconds",
    ):
        assert f"dnspanel_{unknown}" not in found


def test_how_nodes_stand(active_node: MakeNode) -> None:
    first = active_node("ns1")
    active_node("ns2")
    epoch = LogHead.objects.get().epoch
    for sequence in (1, 2, 3):
        Publication.objects.create(
            sequence=sequence, epoch=epoch, at=NOW - timedelta(seconds=60 - sequence), channel="web"
        )
    LogHead.objects.update(sequence=3)
    report = {
        "map_used": 0.25,
        "disk_free_bytes": 7,
        "disk_bytes": 9,
        "oldest_reader": 4,
        "rss_bytes": 5,
        "clock": NOW.timestamp() - 3,
        "write_lock_ms_max": 12.5,
        "write_lock_own_ms_max": 1.5,
    }
    Node.objects.filter(pk=first.pk).update(
        epoch=epoch,
        acked=1,
        acked_at=NOW,
        contact_at=NOW,
        report=report,
        reported_at=NOW,
        digest_equal=True,
        created_at=NOW - timedelta(days=1),
    )
    found = scrape()
    assert found["dnspanel_node_up"] == {of("ns1"): 1, of("ns2"): 0}
    assert found["dnspanel_node_position"] == {of("ns1"): 1, of("ns2"): 0}
    assert found["dnspanel_node_lag_changes"] == {of("ns1"): 2, of("ns2"): 3}
    assert found["dnspanel_node_lag_seconds"][of("ns1")] == 58
    assert found["dnspanel_node_state"][of("ns1", state="catching up")] == 1
    assert sum(value for labels, value in found["dnspanel_node_state"].items() if of("ns1")[0] in labels) == 1
    assert found["dnspanel_node_map_used_ratio"] == {of("ns1"): 0.25}
    assert found["dnspanel_node_disk_free_bytes"] == {of("ns1"): 7}
    assert found["dnspanel_node_clock_offset_seconds"][of("ns1")] == pytest.approx(-3)
    assert found["dnspanel_node_digest_equal"] == {of("ns1"): 1}
    assert found["dnspanel_node_diverged_zones"] == {of("ns1"): 0, of("ns2"): 0}
    assert found["dnspanel_node_certificate_expiry_timestamp_seconds"][of("ns2")] > NOW.timestamp()
    assert found["dnspanel_publications_total"] == {(): 3}


def test_traffic_counts_on_over_a_restart_of_powerdns(active_node: MakeNode) -> None:
    node = active_node("ns1")
    at = int(NOW.timestamp())
    telemetry.keep_samples(node_id=node.pk, samples=[sample(at), sample(at + 1)])
    assert scrape()["dnspanel_node_queries_total"] == {of("ns1", transport="udp"): 20, of("ns1", transport="tcp"): 2}
    restarted = sample(at + 5, seconds=0.0, udp=0, tcp=0, rcodes={}, packet_hits=0, packet_misses=0, uptime=1)
    telemetry.keep_samples(node_id=node.pk, samples=[restarted, sample(at + 6, uptime=2)])
    found = scrape()
    assert found["dnspanel_node_queries_total"][of("ns1", transport="udp")] == 30
    assert found["dnspanel_node_answers_total"] == {of("ns1", rcode="NOERROR"): 27, of("ns1", rcode="NXDOMAIN"): 6}
    assert found["dnspanel_node_cache_lookups_total"][of("ns1", cache="packet", result="hit")] == 18
    assert found["dnspanel_node_latency_seconds"] == {of("ns1"): 0.0015}


def test_push_latencies_are_of_the_newest_proofs(active_node: MakeNode) -> None:
    node = active_node()
    epoch = LogHead.objects.get().epoch
    for sequence in range(1, 101):
        Publication.objects.create(sequence=sequence, epoch=epoch, at=NOW, channel="web")
        Ack.objects.create(node=node, epoch=epoch, sequence=sequence, at=NOW + timedelta(milliseconds=sequence))
    found = scrape()
    latencies = {dict(labels)["quantile"]: value for labels, value in found["dnspanel_push_latency_seconds"].items()}
    assert latencies == {"0.5": 0.050, "0.9": 0.090, "0.99": 0.099}
    assert found["dnspanel_push_latency_proofs"] == {(): 100}


def test_alerts_heartbeats_and_stages(active_node: MakeNode) -> None:
    active_node()
    keep([Condition(f"k{n}", "node.late", Severity.WARNING, "late") for n in range(3)], now=NOW)
    beat(process=COLLECTOR, now=NOW)
    group = NodeGroup.objects.create(name="canary-test", order=77)
    epoch = LogHead.objects.get().epoch
    for to, of, sequence in ((group, epoch, 9), (None, epoch, 5), (None, uuid4(), 99)):
        Release.objects.create(group=to, epoch=of, sequence=sequence, at=NOW)
    found = scrape()
    assert found["dnspanel_alerts_open"][(("kind", "node.late"), ("severity", "warning"))] == 3
    assert found["dnspanel_heartbeat_timestamp_seconds"] == {(("process", "collector"),): NOW.timestamp()}
    # Nodes without a group wait only for ring 0. Releases of an earlier epoch don't count.
    assert found["dnspanel_group_released"] == {(("group", "canary-test"),): 9, (("group", ""),): 5}


def test_without_redis_the_rest_is_told(active_node: MakeNode, settings: Any) -> None:
    active_node()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    found = scrape()
    assert found["dnspanel_redis_up"] == {(): 0}
    assert found["dnspanel_redis_full"] == {(): 0}
    assert "dnspanel_queue_depth" not in found
    assert "dnspanel_node_queries_total" not in found
    assert found["dnspanel_node_up"] == {of("ns1"): 0}


def test_a_redis_that_is_full_is_not_up_and_has_its_own_line() -> None:
    with Redis.from_url(panel_settings.REDIS_URL) as server:
        server.config_set("maxmemory", "1")
        try:
            found = scrape()
        finally:
            server.config_set("maxmemory", "256mb")
    assert (found["dnspanel_redis_up"], found["dnspanel_redis_full"]) == ({(): 0}, {(): 1})


def test_a_scrape_of_thirty_nodes_takes_as_many_queries_as_one_of_one(active_node: MakeNode) -> None:
    counted = []
    for number in range(30):
        active_node(f"ns{number}")
        if number in {0, 29}:
            with CaptureQueriesContext(connection) as queries:
                exposition(NOW)
            counted.append(len(queries))
    assert counted[0] == counted[1] <= 32


def test_processes_and_periodic_work_are_told_by_name() -> None:
    started = NOW - timedelta(hours=2)
    beat(process=WATCH_SINCE, now=started)
    for name, pid, seconds in (("push", 1, 5), ("push", 2, 90), ("beat", 3, 31), ("web", 4, 30)):
        identity = Identity(name, "panel", pid, started)
        beat_process(identity=identity, load=Load(), now=NOW - timedelta(seconds=seconds))
    know_schedule(names=["empty-trash", "link-acts"], now=NOW - timedelta(days=9))
    PeriodicTask.objects.filter(name="link-acts").update(succeeded_at=NOW, failures=2)
    answer_roll(queue="push", now=NOW)
    found = scrape()
    instances = {dict(labels)["process"]: count for labels, count in found["dnspanel_process_instances"].items()}
    assert instances.keys() == set(REQUIRED)
    assert (instances["push"], instances["beat"], instances["web"], instances["bulk"]) == (1, 0, 1, 0)
    beats = found["dnspanel_heartbeat_timestamp_seconds"]
    assert beats[(("process", "push"),)] == (NOW - timedelta(seconds=5)).timestamp()
    assert found["dnspanel_queue_answer_timestamp_seconds"] == {(("queue", "push"),): NOW.timestamp()}
    assert found["dnspanel_periodic_last_success_timestamp_seconds"] == {(("task", "link-acts"),): NOW.timestamp()}
    assert found["dnspanel_periodic_failures"][(("task", "link-acts"),)] == 2
    overdue = found["dnspanel_periodic_overdue"]
    assert (overdue[(("task", "empty-trash"),)], overdue[(("task", "link-acts"),)]) == (1, 0)


def test_each_node_behind_a_front_is_told(active_node: MakeNode) -> None:
    backend = BackendReport("ns1", "192.0.2.53:53", 1, True, False, "has everything", 1, 0, 900, 0.0, 3, 0.5)
    front = create_front()
    Node.objects.filter(pk=front.pk).update(report={"front": FrontReport("ab", 1, 0, (backend,)).to_json()})
    labels, found = of("front1", backend="ns1"), scrape()
    assert found["dnspanel_front_backend_in_rotation"][labels] == 0
    assert found["dnspanel_front_backend_queries_total"][labels] == 900
    assert found["dnspanel_front_backend_drops_total"][labels] == 3
    assert found["dnspanel_front_backend_latency_seconds"][labels] == 0.0005
