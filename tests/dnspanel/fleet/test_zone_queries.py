"""Tests of a zone's query rate, estimated from the nodes' samples: arithmetic, the last hour, and unknown values."""

import math
import time
from typing import Any

import pytest

from dnspanel.fleet import telemetry, zone_queries
from dnspanel.fleet.zone_queries import MinuteOfZone, NodeSample, QueriedName
from replication.wire.protocol import MOST_TOP_ZONES, Counted, Top
from tests.dnspanel.fleet.test_telemetry import sample

pytestmark = pytest.mark.usefixtures("live_redis")
ONE, TWO = 71, 72


def top_of(zone: str, times: int, *, questions: int = 10_000, **lists: tuple[Counted, ...]) -> Top:
    return Top(at=time.time(), zones=(Counted(zone, times),), questions=questions, **lists)


def serves(node_id: int, per_second: int) -> None:
    """Give the node samples with this query rate for the last three seconds."""
    now = int(time.time())
    telemetry.keep_samples(node_id=node_id, samples=[sample(now - n, per_second) for n in (2, 1, 0)])


def test_the_share_times_what_the_node_is_asked_is_the_number() -> None:
    quarter = NodeSample(Top(at=1.0), times=2_500, questions=10_000, qps=400.0)
    assert quarter.estimate.qps == 100.0
    assert quarter.estimate.error == pytest.approx(1.96 * 400 * math.sqrt(0.25 * 0.75 / 10_000))
    nothing = NodeSample(Top(at=1.0), times=0, questions=10_000, qps=400.0)
    assert nothing.estimate == (0.0, pytest.approx(0.12))
    both = zone_queries.total_of([quarter, quarter])
    assert both is not None
    assert (both.qps, both.error) == (200.0, pytest.approx(math.sqrt(2) * quarter.estimate.error))
    assert zone_queries.total_of([]) is None


def test_the_error_holds_the_true_value_in_19_of_20_samples() -> None:
    """The test covers several shares and all possible samples, weighted by probability."""
    questions, qps = 400, 100.0
    for share in (0.05, 0.3, 0.9):
        within = 0.0
        for times in range(questions + 1):
            estimate = NodeSample(Top(at=1.0), times, questions, qps).estimate
            if abs(estimate.qps - share * qps) <= estimate.error:
                within += math.comb(questions, times) * share**times * (1 - share) ** (questions - times)
        assert within > 0.92


def test_zones_are_watched_for_a_while_and_not_too_many() -> None:
    assert zone_queries.watched_zones() == []
    zone_queries.watch_zones([f"z{number}.test." for number in range(20)])
    assert len(zone_queries.watched_zones()) == MOST_TOP_ZONES
    redis = telemetry.connection(zone_queries.settings.REDIS_URL)
    redis.zadd("watched:zones", {"old.test.": time.time() - 1})
    assert "old.test." not in zone_queries.watched_zones()


def test_samples_are_those_of_nodes_that_told_and_are_asked() -> None:
    serves(ONE, 50)
    names = (Counted("www.one.test/A", 60), Counted("a..b/A", 9), Counted("one.test/MX", 40))
    zone_queries.keep_zone_top(node_id=ONE, zone="one.test.", top=top_of("one.test.", 100, questions=1000, names=names))
    zone_queries.keep_zone_top(node_id=TWO, zone="one.test.", top=top_of("one.test.", 100))  # the rate is unknown
    zone_queries.keep_zone_top(node_id=ONE, zone="old.test.", top=Top(at=1.0))  # an agent without data about zones
    found = zone_queries.samples_of("one.test.", [ONE, TWO, 99])
    assert {node_id: (each.times, each.questions, each.qps) for node_id, each in found.items()} == {
        ONE: (100, 1000, 50)
    }
    assert zone_queries.samples_of("old.test.", [ONE]) == {}
    assert zone_queries.queried_names([*found.values(), *found.values()]) == [
        QueriedName("www.one.test.", "A", 6.0),
        QueriedName("one.test.", "MX", 4.0),
    ]


def test_an_hour_is_kept_by_minute_and_each_node_tells_once() -> None:
    now = 1_795_000_000.0
    begin = int(now) // 60 * 60
    serves(ONE, 50)
    serves(TWO, 100)
    for node_id in (ONE, TWO, ONE):
        top = Top(at=now, zones=(Counted("one.test.", 100), Counted("two.test.", 1)), questions=1000)
        zone_queries.keep_minute(node_id=node_id, top=top, at=begin - 60)
    zone_queries.keep_minute(node_id=ONE, top=Top(at=now, questions=1000), at=begin - 120)
    zone_queries.keep_minute(node_id=99, top=Top(at=now, questions=1000), at=begin - 180)  # the rate is unknown
    *earlier, silent, without, last = zone_queries.minutes_of("one.test.", now=now)
    assert len(earlier) == zone_queries.MINUTES_KEPT - 3
    assert (silent, without) == (MinuteOfZone(begin - 180, None, 0), MinuteOfZone(begin - 120, None, 1))
    assert (last.at, last.nodes) == (begin - 60, 2)
    assert last.estimate is not None
    assert last.estimate.qps == 15.0
    assert last.estimate.error == pytest.approx(1.96 * math.sqrt((50**2 + 100**2) * 0.1 * 0.9 / 1000), rel=1e-3)
    redis = telemetry.connection(zone_queries.settings.REDIS_URL)
    assert 0 < redis.ttl(f"zone-minute:{begin // 60 - 1}") <= 62 * 60


def test_without_redis_nothing_is_known(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    zone_queries.watch_zones(["one.test."])
    assert zone_queries.samples_of("one.test.", [ONE]) == {}
    assert zone_queries.minutes_of("one.test.", now=time.time()) == []
