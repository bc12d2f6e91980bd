"""Tests of the collector against agents over real TLS, Redis and PostgreSQL."""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from dnspanel.fleet import collector as fleet_collector
from dnspanel.fleet import telemetry, zone_queries
from dnspanel.fleet.collector import RECORD_SECONDS, Collector
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, heartbeats
from dnspanel.fleet.rollup import MINUTES, points_of
from replication.wire.protocol import Counted, Status, Top
from tests.dnspanel.fleet.conftest import NOW, Served
from tests.dnspanel.fleet.test_telemetry import sample
from tests.ports import free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("live_redis")]

Serve = Callable[..., Served]


ticks = count(step=RECORD_SECONDS)


def seconds_of(collector: Collector, number: int = 1) -> None:
    """Run this many ticks. Each is late enough to be recorded in PostgreSQL."""
    for _ in range(number):
        collector.tick(next(ticks))
        collector.settle()


@pytest.fixture
def collector() -> Any:
    collector = Collector()
    yield collector
    collector.close()


def test_samples_contact_and_versions_are_kept(served: Serve, collector: Collector) -> None:
    made = served()
    now = int(time.time())
    made.agent.samples = [sample(now - 1), sample(now, 20)]
    seconds_of(collector, 2)
    assert telemetry.live_now([made.node.pk])[made.node.pk].qps == 20
    made.node.refresh_from_db()
    assert made.node.contact_at is not None
    assert made.node.versions == {"agent": "1", "powerdns": "4.7.3"}


def test_why_an_agent_is_not_reached_is_kept_until_it_is(served: Serve, collector: Collector) -> None:
    made = served()
    port = made.node.agent_port
    Node.objects.filter(pk=made.node.pk).update(agent_port=free_port())
    seconds_of(collector, 2)
    made.node.refresh_from_db()
    assert "Connection refused" in made.node.contact_problem
    Node.objects.filter(pk=made.node.pk).update(agent_port=port)
    seconds_of(collector, 3)
    made.node.refresh_from_db()
    assert made.node.contact_problem == ""


def test_only_new_samples_are_asked_for(served: Serve, collector: Collector) -> None:
    made = served()
    now = int(time.time())
    made.agent.samples = [sample(now - 2)]
    seconds_of(collector)
    made.agent.samples.append(sample(now - 1))
    seconds_of(collector)
    assert [point.at for point in telemetry.points(made.node.pk)] == [now - 2, now - 1]


@pytest.mark.parametrize("is_old", [False, True])
def test_once_it_is_known_what_is_new_it_comes_with_the_status(
    served: Serve, collector: Collector, is_old: bool
) -> None:
    made = served()
    now = int(time.time())
    made.agent.is_old, made.agent.samples = is_old, [sample(now - 2)]
    seconds_of(collector)
    made.agent.paths.clear()
    made.agent.samples.append(sample(now - 1))
    seconds_of(collector)
    again = [f"/v1/samples?after={now - 2}"] if is_old else []
    assert made.agent.paths == [f"/v1/status?samples_after={now - 2}", *again]
    assert [point.at for point in telemetry.points(made.node.pk)] == [now - 2, now - 1]


def test_a_restarted_collector_fills_in_what_it_missed(served: Serve, collector: Collector) -> None:
    made = served()
    now = int(time.time())
    made.agent.samples = [sample(now - 9)]
    seconds_of(collector)
    made.agent.samples += [sample(now - n) for n in range(8, 0, -1)]
    again = Collector()
    seconds_of(again)
    again.close()
    assert [point.at for point in telemetry.points(made.node.pk)] == list(range(now - 9, now))


def test_minutes_that_are_over_are_summed_up(served: Serve, collector: Collector) -> None:
    made = served()
    end = int(time.time()) // 60 * 60
    made.agent.samples = [sample(end - 30), sample(end - 1)]
    seconds_of(collector)
    assert points_of(made.node.pk, MINUTES) == []
    made.agent.samples.append(sample(end + 1))
    seconds_of(collector)
    assert [(point.at, point.qps) for point in points_of(made.node.pk, MINUTES)] == [(end, 10)]


def test_a_dead_node_does_not_stop_the_others(served: Serve, collector: Collector) -> None:
    dead, alive = served("ns1"), served("ns2")
    alive.agent.samples = [sample(int(time.time()))]
    dead.agent.stop()
    seconds_of(collector, 2)
    assert set(telemetry.live_now([dead.node.pk, alive.node.pk])) == {alive.node.pk}
    assert Node.objects.get(name="ns1").contact_at is None
    assert Node.objects.get(name="ns2").contact_at is not None


def test_without_redis_it_goes_on_and_later_fills_in(served: Serve, collector: Collector, settings: Any) -> None:
    made = served()
    now = int(time.time())
    made.agent.samples = [sample(now - 2), sample(now - 1)]
    url, settings.REDIS_URL = settings.REDIS_URL, "redis://127.0.0.1:1/0"
    seconds_of(collector, 2)
    assert Node.objects.get().contact_at is not None
    settings.REDIS_URL = url
    seconds_of(collector)
    assert len(telemetry.points(made.node.pk)) == 2


def test_a_node_that_left_is_asked_no_more(served: Serve, collector: Collector) -> None:
    made = served()
    seconds_of(collector)
    node_lifecycle.retire(node=made.node, now=NOW, by=None)
    seconds_of(collector)
    made.agent.samples = [sample(int(time.time()))]
    seconds_of(collector)
    assert telemetry.points(made.node.pk) == []


def test_a_node_whose_clock_is_wrong_is_drawn_at_the_panels_time(served: Serve, collector: Collector) -> None:
    made = served()
    now = int(time.time())
    made.agent.clock_offset = -3600.0
    made.agent.samples = [sample(now - 3600 - n) for n in (2, 1)]
    seconds_of(collector, 2)
    assert [round(now - point.at) for point in telemetry.points(made.node.pk)] in ([2, 1], [1, 0], [3, 2])


def test_an_emptied_redis_is_filled_again(served: Serve, collector: Collector, settings: Any) -> None:
    made = served()
    now = int(time.time())
    made.agent.samples = [sample(now - n) for n in (9, 8, 7)]
    seconds_of(collector)
    telemetry.connection(settings.REDIS_URL).delete(f"live:{made.node.pk}")
    made.agent.samples.append(sample(now - 6))
    seconds_of(collector, 2)
    assert [point.at for point in telemetry.points(made.node.pk)] == [now - 9, now - 8, now - 7, now - 6]


def test_top_lists_are_fetched_only_while_somebody_looks(
    served: Serve, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_collector, "TOP_EVERY_SECONDS", 0.0)
    made = served()
    made.agent.top, made.agent.log = Top(at=1.0, names=(Counted("www.one.test/A", 3),)), ["one line"]
    seconds_of(collector, 2)
    assert telemetry.top(made.node.pk) is None
    assert telemetry.log(made.node.pk) == []
    telemetry.watch(made.node.pk)
    seconds_of(collector)
    assert telemetry.top(made.node.pk) == made.agent.top
    assert telemetry.log(made.node.pk) == ["one line"]


def test_an_agent_without_top_lists_is_polled_all_the_same(
    served: Serve, collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fleet_collector, "TOP_EVERY_SECONDS", 0.0)
    made = served()
    made.agent.samples = [sample(int(time.time()))]
    telemetry.watch(made.node.pk)
    seconds_of(collector, 2)
    assert telemetry.top(made.node.pk) is None
    assert telemetry.points(made.node.pk)
    assert "no numbers" not in caplog.text


def test_the_collector_says_that_it_is_at_work(served: Serve, collector: Collector) -> None:
    served()
    seconds_of(collector, 2)
    assert COLLECTOR in heartbeats()


def test_a_collector_that_has_asked_nobody_yet_does_not_say_so(served: Serve, collector: Collector) -> None:
    """Regression test: after a restart, nodes that weren't asked yet had "no contact for 2 minutes"."""
    served()
    collector.tick(next(ticks))
    assert COLLECTOR not in heartbeats()
    collector.settle()
    collector.tick(next(ticks))
    assert COLLECTOR in heartbeats()


def test_a_collector_without_nodes_says_that_it_is_at_work(collector: Collector) -> None:
    seconds_of(collector, 2)
    assert COLLECTOR in heartbeats()


def test_what_a_node_says_of_itself_is_kept_as_it_is(served: Serve, collector: Collector) -> None:
    made = served()
    seconds_of(collector, 2)
    made.node.refresh_from_db()
    kept = Status.from_json(made.node.report)
    assert (kept.node, kept.state, kept.digest_main) == ("ns1", "in order", made.agent.store.digests()[0])
    assert made.node.reported_at is not None
    assert abs(made.node.reported_at.timestamp() - time.time()) < 30


def test_a_node_that_names_zones_wakes_their_repair_once_in_a_while(
    served: Serve, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = served()
    woken: list[int] = []
    monkeypatch.setattr(fleet_collector, "wake_repair", woken.append)
    seconds_of(collector, 2)
    assert woken == []
    store = made.agent.store
    with store._main.env.begin(write=True) as txn:
        for dbi, key, body in store.schema.zone_rows(77, "foreign.test."):
            txn.put(key, body, db=store._main.tables[dbi])
    made.agent.check()
    seconds_of(collector, 3)
    assert woken == [made.node.pk]
    monkeypatch.setattr(fleet_collector, "REPAIR_EVERY_SECONDS", 0.0)
    seconds_of(collector)
    assert len(woken) == 2


def test_zones_are_told_once_a_minute_and_in_detail_while_somebody_looks(
    served: Serve, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_collector, "TOP_EVERY_SECONDS", 0.0)
    made = served()
    made.agent.samples = [sample(int(time.time()) - 1, 50), sample(int(time.time()), 50)]
    zones = (Counted("one.test.", 10),)
    made.agent.top = Top(at=1.0, zones=zones, questions=100)
    made.agent.zone_tops = {
        "one.test.": Top(at=1.0, names=(Counted("www.one.test/A", 10),), zones=zones, questions=100)
    }
    seconds_of(collector, 2)
    hour = zone_queries.minutes_of("one.test.", now=time.time() + zone_queries.MINUTE)
    told = [minute.estimate.qps for minute in hour if minute.estimate]
    assert told[:1] == [5.0]
    assert zone_queries.samples_of("one.test.", [made.node.pk]) == {}
    zone_queries.watch_zones(["one.test."])
    seconds_of(collector)
    assert zone_queries.samples_of("one.test.", [made.node.pk])[made.node.pk].estimate.qps == 5.0
