"""Tests of live telemetry in a real Redis."""

import time
from typing import Any

import pytest
from django.conf import settings

from dnspanel.fleet import telemetry
from replication.wire.protocol import Counted, Sample, Top

pytestmark = pytest.mark.usefixtures("live_redis")
NODE = 7


def sample(at: int, queries: int = 10, seconds: float = 1.0, **changes: Any) -> Sample:
    usual = Sample(
        at=at,
        seconds=seconds,
        uptime=100,
        udp=queries,
        tcp=0,
        rcodes={"NOERROR": queries - 2, "REFUSED": 2},
        packet_hits=3,
        packet_misses=1,
        query_hits=0,
        query_misses=0,
        latency_us=250,
        memory_bytes=1,
    )
    return usual._replace(**changes)


def test_the_newest_second_and_the_last_minute_are_what_is_live() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - 2), sample(now - 1, 20), sample(now, 30)])
    live = telemetry.live_now([NODE, 8])
    assert set(live) == {NODE}
    assert live[NODE].qps == 30
    assert live[NODE].rcodes == {"noerror": 28, "nxdomain": 0, "servfail": 0, "other": 2}
    assert (live[NODE].latency_ms, live[NODE].cache_hit) == (0.25, 0.75)
    assert len(live[NODE].qps_minute) == 60
    assert live[NODE].qps_minute[-4:] == (None, 10, 20, 30)


def test_numbers_that_stopped_are_not_shown_as_now() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - 30)])
    live = telemetry.live_now([NODE])[NODE]
    assert live.qps is None
    assert live.qps_minute[-1] is None
    assert 10 in live.qps_minute


def test_a_sample_over_two_seconds_counts_for_both_of_them() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - 2), sample(now, 20, seconds=2.0)])
    assert telemetry.live_now([NODE])[NODE].qps_minute[-3:] == (10, 10, 10)


def test_a_restart_of_powerdns_is_a_gap_and_never_a_spike() -> None:
    now = int(time.time())
    samples = [sample(now - 2), sample(now - 1, queries=0, seconds=0.0), sample(now)]
    telemetry.keep_samples(node_id=NODE, samples=samples)
    assert [point.qps for point in telemetry.points(NODE)] == [10, None, 10]


def test_missing_seconds_are_marked_by_one_gap() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - 9), sample(now - 8), sample(now - 2), sample(now - 1)])
    assert [point.qps for point in telemetry.points(NODE)] == [10, 10, None, 10, 10]


def test_points_go_on_from_where_the_page_is() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - n) for n in (3, 2, 1)])
    assert [point.at for point in telemetry.points(NODE, after=now - 2)] == [now - 1]


def test_the_same_second_is_kept_once_however_often_it_is_told() -> None:
    now = int(time.time())
    for _ in range(2):
        telemetry.keep_samples(node_id=NODE, samples=[sample(now - 1), sample(now)])
    assert len(telemetry.points(NODE)) == 2
    assert telemetry.newest_at(node_id=NODE) == now


def test_an_hour_is_kept_and_not_much_more() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - n) for n in range(4000, -1, -1)])
    assert 3500 <= len(telemetry.points(NODE)) <= 3600


def test_without_redis_pages_have_no_numbers_but_an_answer(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    began = time.monotonic()
    assert telemetry.live_now([NODE]) == {}
    assert telemetry.points(NODE) == []
    assert time.monotonic() - began < 3


def test_totals_count_every_sample_once_however_often_it_is_sent() -> None:
    now = int(time.time())
    first, second = sample(now - 2, 10), sample(now - 1, 20, uptime=101)
    telemetry.keep_samples(node_id=NODE, samples=[first])
    telemetry.keep_samples(node_id=NODE, samples=[first, second])
    totals = telemetry.totals([NODE, 8])
    assert set(totals) == {NODE}
    assert (totals[NODE]["udp"], totals[NODE]["packet_hits"], totals[NODE]["rcode:NOERROR"]) == (30, 6, 26)
    assert (totals[NODE]["uptime"], totals[NODE]["latency_us"]) == (101, 250)


def test_totals_keep_what_the_stream_forgets() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - n) for n in range(4000, -1, -1)])
    assert telemetry.totals([NODE])[NODE]["udp"] == 40_010


def test_forgotten_samples_are_in_no_total() -> None:
    telemetry.keep_samples(node_id=NODE, samples=[sample(int(time.time()))])
    telemetry.forget_samples(node_id=NODE)
    assert telemetry.totals([NODE]) == {}


def test_without_redis_there_are_no_totals(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert telemetry.totals([NODE]) == {}


def test_a_page_that_is_looked_at_is_known_for_half_a_minute() -> None:
    assert not telemetry.is_watched(node_id=NODE)
    telemetry.watch(NODE)
    assert telemetry.is_watched(node_id=NODE)
    assert not telemetry.is_watched(node_id=NODE + 1)
    lasts = telemetry.connection(settings.REDIS_URL).ttl(f"watched:{NODE}")
    assert 0 < lasts <= telemetry.WATCHED_SECONDS


def test_top_lists_are_kept_for_a_minute() -> None:
    assert telemetry.top(NODE) is None
    top = Top(at=7.0, names=(Counted("www.one.test/A", 3),), types=(Counted("A", 3),))
    telemetry.keep_top(node_id=NODE, top=top)
    assert telemetry.top(NODE) == top
    assert 0 < telemetry.connection(settings.REDIS_URL).ttl(f"top:{NODE}") <= telemetry.TOP_SECONDS


def test_without_redis_nobody_is_watched_and_there_are_no_lists(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    telemetry.watch(NODE)
    assert telemetry.top(NODE) is None


def test_answers_of_before_do_not_count_as_those_of_after() -> None:
    now = int(time.time())
    telemetry.keep_samples(node_id=NODE, samples=[sample(now - 9), sample(now - 4, 20, seconds=5.0), sample(now, 30)])
    assert telemetry.answers_between([NODE], now - 20, now).total() == 60
    assert telemetry.answers_between([NODE], now - 9, now).total() == 50
    assert telemetry.answers_between([NODE], now - 8.9, now).total() == 30
    assert telemetry.answers_between([NODE], now - 0.5, now).total() == 0
