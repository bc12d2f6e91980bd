"""Tests of a node's minutes and hours, which are sums of its seconds in a real Redis."""

import time
from typing import Any

import pytest

from dnspanel.fleet import telemetry
from dnspanel.fleet.rollup import HOURS, MINUTES, points_of, roll_up
from tests.dnspanel.fleet.test_telemetry import sample

pytestmark = pytest.mark.usefixtures("live_redis")
NODE = 9


def keep(*samples: Any) -> None:
    telemetry.keep_samples(node_id=NODE, samples=samples)
    roll_up(node_id=NODE)


@pytest.fixture
def minute() -> int:
    """Return the end of a past minute that isn't the end of an hour."""
    end = int(time.time()) // 60 * 60 - 60
    return end if end % 3600 else end - 60


def test_a_minute_is_the_mean_of_its_seconds(minute: int) -> None:
    seconds = [sample(minute - 59 + n, 10 + n % 2 * 20, latency_us=100 + n % 2 * 200) for n in range(60)]
    keep(*seconds, sample(minute + 1))
    [point] = points_of(NODE, MINUTES)
    assert (point.at, point.qps, point.noerror, point.other) == (minute, 20, 18, 2)
    assert (point.latency_ms, point.cache_hit) == (0.2, 0.75)


def test_a_minute_that_is_not_over_is_not_told(minute: int) -> None:
    keep(sample(minute - 59), sample(minute - 1))
    assert points_of(NODE, MINUTES) == []
    keep(sample(minute))
    assert [point.at for point in points_of(NODE, MINUTES)] == [minute]


def test_what_comes_late_still_counts(minute: int) -> None:
    keep(sample(minute - 119))
    keep(*(sample(minute - 118 + n) for n in range(120)))  # the agent could not be reached for two minutes
    assert [point.qps for point in points_of(NODE, MINUTES)] == [10, 10]


def test_each_minute_is_counted_once_however_often_it_is_summed_up(minute: int) -> None:
    for _ in range(3):
        keep(sample(minute - 1), sample(minute + 1))
    assert [(point.at, point.qps) for point in points_of(NODE, MINUTES)] == [(minute, 10)]


def test_minutes_without_samples_are_one_gap(minute: int) -> None:
    keep(sample(minute - 240), sample(minute - 1), sample(minute + 1))
    assert [(point.at, point.qps) for point in points_of(NODE, MINUTES)] == [
        (minute - 240, 10),
        (minute - 180, None),
        (minute, 10),
    ]


def test_a_restart_of_powerdns_counts_for_nothing(minute: int) -> None:
    keep(sample(minute - 2), sample(minute - 1, 0, seconds=0.0), sample(minute, 30), sample(minute + 1))
    assert [point.qps for point in points_of(NODE, MINUTES)] == [20]


def test_questions_are_split_by_transport(minute: int) -> None:
    keep(sample(minute, 60, tcp=30, udp6=20, tcp6=10), sample(minute + 1))
    [point] = points_of(NODE, MINUTES)
    assert (point.udp4, point.udp6, point.tcp4, point.tcp6) == (40, 20, 20, 10)


def test_hours_are_sums_of_minutes() -> None:
    hour = int(time.time()) // 3600 * 3600
    keep(*(sample(hour - 3000 + 60 * n, 10 * n) for n in range(51)), sample(hour + 60))
    [point] = points_of(NODE, HOURS)
    assert (point.at, point.qps) == (hour, 250)


def test_without_redis_there_are_no_points(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert points_of(NODE, MINUTES) == []
