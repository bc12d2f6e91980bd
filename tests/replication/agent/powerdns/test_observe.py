"""Live statistics: only differences are sent, an outage is a gap and not a spike, and an hour is kept."""

import json
from dataclasses import replace
from functools import partial

import pytest

from replication import stats
from replication.agent.powerdns.observe import (
    KEPT_SAMPLES,
    Counters,
    Observer,
    difference,
    parse_counters,
    read_counters,
)
from replication.agent.powerdns.pdns_api import PdnsApi
from replication.errors import BadBytes, NotServed
from replication.wire.protocol import Sample
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import API_KEY
from tests.replication.panel import Panel, small_zone

START = Counters(
    at=1_795_000_000.4,
    clock=100.0,
    uptime=50,
    udp=1000,
    tcp=10,
    packet_hits=700,
    packet_misses=300,
    query_hits=50,
    query_misses=60,
    latency_us=120,
    memory_bytes=1 << 20,
    rcodes={"NOERROR": 900, "NXDOMAIN": 100},
)


def later(seconds: float = 1.0, **changes: object) -> Counters:
    moved = {"at": START.at + seconds, "clock": START.clock + seconds, "uptime": START.uptime + int(seconds)}
    return replace(START, **(moved | changes))  # type: ignore[arg-type]


def test_a_sample_is_the_difference_of_two_moments() -> None:
    rcodes = {"NOERROR": 990, "NXDOMAIN": 100, "REFUSED": 10}
    sample = difference(START, later(udp=1095, tcp=15, packet_hits=780, packet_misses=320, rcodes=rcodes))
    assert (sample.seconds, sample.udp, sample.tcp, sample.qps) == (1.0, 95, 5, 100)
    assert sample.rcodes == {"NOERROR": 90, "REFUSED": 10}
    assert sample.cache_hit_rate == 0.8


@pytest.mark.parametrize(
    "now",
    [
        later(uptime=0, udp=5000),  # restarted, and busier than before
        later(udp=3),  # restarted within the same second
        later(tcp=0),
        later(seconds=60),  # no sample for a minute
        later(seconds=0),
        later(seconds=-5),
    ],
)
def test_what_cannot_be_compared_is_a_gap(now: Counters) -> None:
    sample = difference(START, now)
    assert sample.seconds == 0
    assert sample.qps is None
    assert min(sample.udp, sample.tcp, sample.packet_hits) == 0


def test_the_first_sample_is_a_gap() -> None:
    assert difference(None, START).qps is None


def test_the_agents_own_questions_are_not_traffic() -> None:
    now = later(udp=1070, packet_misses=370, rcodes={"NOERROR": 970, "NXDOMAIN": 100}, own_questions=62)
    sample = difference(START, now)
    assert (sample.udp, sample.packet_misses, sample.rcodes) == (8, 8, {"NOERROR": 8})


def test_no_number_is_ever_negative() -> None:
    sample = difference(START, later(own_questions=500, packet_hits=1, rcodes={"NOERROR": 1}))
    numbers = [sample.udp, sample.tcp, sample.packet_hits, sample.packet_misses, *sample.rcodes.values()]
    assert min(numbers) >= 0


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b'[{"name":"uptime","value":"x"}]'])
def test_an_answer_that_is_no_statistics_is_refused(answer: bytes) -> None:
    with pytest.raises(BadBytes):
        parse_counters(answer, at=0, clock=0)


class Source:
    """A source whose counters grow by 100 questions a second, or which simulates an outage."""

    def __init__(self) -> None:
        self.seconds = 0
        self.down = False

    def __call__(self) -> Counters:
        self.seconds += 1
        if self.down:
            raise NotServed(question="statistics", expected="an answer", found="none")
        return later(self.seconds, udp=START.udp + 100 * self.seconds)


def test_an_outage_is_a_gap_and_not_a_spike() -> None:
    source = Source()
    observer = Observer(source)
    assert [observer.step() for _ in range(2)] == [True, True]
    source.down = True
    assert not observer.step()
    source.down = False
    assert [observer.step() for _ in range(2)] == [True, True]
    samples = [Sample.from_json(item) for item in json.loads(observer.samples_after(0))]
    assert [sample.qps for sample in samples] == [None, 100, None, 100]


def test_totals_are_told_while_powerdns_gives_them() -> None:
    source = Source()
    observer = Observer(source)
    assert observer.counters is None
    observer.step()
    assert observer.counters is not None
    assert observer.counters.udp >= START.udp
    source.down = True
    observer.step()
    assert observer.counters is None


def test_the_answers_of_the_last_minutes_are_summed_by_rcode() -> None:
    totals = iter([{"NOERROR": 5}, {"NOERROR": 9, "NXDOMAIN": 1}, {"NOERROR": 10, "NXDOMAIN": 4}])
    seconds = iter(range(1, 9))
    observer = Observer(lambda: later(next(seconds), rcodes=next(totals)))
    for _ in range(3):
        observer.step()
    assert observer.recent_rcodes() == {"NOERROR": 5, "NXDOMAIN": 4}


def test_an_hour_is_kept_and_given_from_any_moment() -> None:
    observer = Observer(Source())
    for _ in range(KEPT_SAMPLES + 50):
        observer.step()
    everything = json.loads(observer.samples_after(0))
    assert len(everything) == KEPT_SAMPLES
    newest = everything[-1][0]
    assert json.loads(observer.samples_after(newest - 2)) == everything[-2:]
    assert observer.samples_after(newest) == b"[]"


def test_a_clock_set_back_makes_no_second_sample_of_one_moment() -> None:
    moments = iter([later(5), later(3), later(6)])
    observer = Observer(lambda: next(moments))
    for _ in range(3):
        observer.step()
    assert [item[0] for item in json.loads(observer.samples_after(0))] == [1_795_000_005, 1_795_000_006]


def test_the_numbers_of_a_real_powerdns_are_understood(node: RunningNode, panel: Panel) -> None:
    sealed = panel.create(small_zone("example.test."))
    node.client.push(sealed, len(sealed))
    api = PdnsApi(node.pdns.api_port, API_KEY)
    before = read_counters(api)
    for _ in range(10):
        node.answer("www.example.test.")
    node.answer("nothing.example.test.")
    now = read_counters(api)
    sample = difference(before, replace(now, own_questions=before.own_questions))
    assert sample.udp >= 11
    assert sample.rcodes["NXDOMAIN"] == 1
    assert sample.rcodes["NOERROR"] >= 10
    assert now.memory_bytes > 1 << 20
    assert sample.packet_hits + sample.packet_misses >= 11


def test_without_powerdns_no_sample_is_taken() -> None:
    before = stats.SAMPLES_MISSED.value
    assert not Observer(partial(read_counters, PdnsApi(free_port(), API_KEY))).step()
    assert stats.SAMPLES_MISSED.value == before + 1


def test_with_a_wrong_key_no_sample_is_taken(node: RunningNode) -> None:
    with pytest.raises(NotServed, match="401"):
        read_counters(PdnsApi(node.pdns.api_port, "wrong"))
