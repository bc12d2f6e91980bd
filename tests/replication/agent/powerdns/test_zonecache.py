import http.server
import threading
from collections.abc import Iterator

import pytest

from replication.agent.powerdns.pdns_api import PdnsApi
from replication.agent.powerdns.zonecache import MAX_SINGLE, ZoneCache
from replication.errors import NotServed
from tests.replication.agent.conftest import RunningNode
from tests.replication.panel import Panel, small_zone


class Control:
    """A control socket that accepts commands. Each command takes `takes` seconds on a simulated clock."""

    def __init__(self, *, takes: float = 0.0) -> None:
        self.sent: list[str] = []
        self.now = 100.0
        self._takes = takes

    def send(self, command: str, *, seconds: float = 0.0) -> str:
        self.sent.append(command)
        self.now += self._takes
        return "Ok"

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Api(http.server.BaseHTTPRequestHandler):
    """A PowerDNS API that stores the names to flush, and refuses names with a backslash, as PowerDNS does."""

    flushed: list[str] = []

    def do_PUT(self) -> None:
        self.flushed.append(self.path.rpartition("=")[2])
        self.send_response(422 if "%5C" in self.path else 200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def api_port() -> Iterator[int]:
    Api.flushed = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_few_zones_are_told_one_by_one(api_port: int) -> None:
    control = Control()
    ZoneCache(control, PdnsApi(api_port, "key")).learn(["one.test.", "two.test."])
    assert sorted(Api.flushed) == ["one.test.", "two.test."]
    assert control.sent == []


def test_nothing_new_costs_nothing(api_port: int) -> None:
    control = Control()
    ZoneCache(control, PdnsApi(api_port, "key")).learn([])
    assert (Api.flushed, control.sent) == ([], [])


def test_many_zones_are_learnt_by_reading_the_full_list(api_port: int) -> None:
    control = Control()
    ZoneCache(control, PdnsApi(api_port, "key")).learn([f"z{n}.test." for n in range(MAX_SINGLE + 1)])
    assert (Api.flushed, control.sent) == ([], ["rediscover"])


def test_a_name_that_powerdns_does_not_take_is_learnt_with_the_full_list(api_port: int) -> None:
    control = Control()
    ZoneCache(control, PdnsApi(api_port, "key")).learn(["odd\\046name.test."])
    assert control.sent == ["rediscover"]


def test_without_a_key_the_full_list_is_read() -> None:
    control = Control()
    ZoneCache(control, PdnsApi(1, "")).learn(["one.test."])
    assert control.sent == ["rediscover"]


def test_a_powerdns_that_is_down_is_not_taken_for_one_that_knows() -> None:
    with pytest.raises(NotServed, match=r"cache/flush of one\.test\."):
        ZoneCache(Control(), PdnsApi(1, "key")).learn(["one.test."])


def test_reading_the_list_takes_a_tenth_of_the_time_and_never_waits_for_more_than_a_second() -> None:
    control = Control(takes=0.05)
    cache = ZoneCache(control, PdnsApi(1, ""), clock=lambda: control.now, sleep=control.sleep)
    cache.learn_all()
    first = control.now
    cache.learn_all()
    assert control.now - first == pytest.approx(0.05 / 0.1 + 0.05)
    slow = Control(takes=0.8)
    cache = ZoneCache(slow, PdnsApi(1, ""), clock=lambda: slow.now, sleep=slow.sleep)
    cache.learn_all()
    first = slow.now
    cache.learn_all()
    assert slow.now - first == pytest.approx(1.0 + 0.8)


def test_a_real_powerdns_answers_for_a_new_zone_after_it_answered_refused(node: RunningNode) -> None:
    (node.files.directory / "panel").mkdir()
    panel = Panel(node.files.directory / "panel")
    try:
        assert node.answer("www.fresh.test.") == ["REFUSED"]
        sealed = panel.create(small_zone("fresh.test."))
        node.client.push(sealed, len(sealed))
        assert node.answer("www.fresh.test.") == ["192.0.2.1"]
        many = panel.create(*(small_zone(f"many{n}.test.") for n in range(MAX_SINGLE + 5)))
        assert node.answer("www.many7.test.") == ["REFUSED"]
        node.client.push(many, len(many))
        assert node.answer("www.many7.test.") == ["192.0.2.1"]
        again = panel.delete("fresh.test.")
        node.client.push(again, len(again))
        assert node.answer("www.fresh.test.") == ["REFUSED"]
        reborn = panel.create(small_zone("fresh.test."))
        node.client.push(reborn, len(reborn))
        assert node.answer("www.fresh.test.") == ["192.0.2.1"]
    finally:
        panel.close()
