"""PowerDNS's most frequent questions, counted from its rings as they arrive."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from replication.agent.powerdns.pdns_api import PdnsApi
from replication.agent.powerdns.top import (
    GOOD_FOR_SECONDS,
    MOST_COUNTED,
    MOST_ZONES,
    TopLists,
    count_top,
    count_zones,
    statistic_items,
    zone_finder,
)
from replication.errors import BadBytes, NotServed
from replication.wire.protocol import Counted, Top
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import API_KEY
from tests.replication.panel import Panel, small_zone


def answer(**statistics: dict[str, int]) -> bytes:
    """Return PowerDNS's statistics: sorted keys, numbers as strings, other statistics around the rings."""
    items: list[dict[str, Any]] = [
        {"name": "udp-queries", "type": "StatisticItem", "value": "9"},
        {"name": "response-by-qtype", "type": "MapStatisticItem", "value": [{"name": "TRAP", "value": "99"}]},
    ]
    for name, counts in statistics.items():
        value = [{"name": what, "value": str(count)} for what, count in counts.items()]
        items.append({"name": name.replace("_", "-"), "size": "10000", "type": "RingStatisticItem", "value": value})
    items.append({"name": "zz-map", "type": "MapStatisticItem", "value": [{"name": "TRAP", "value": "99"}]})
    return json.dumps(items).encode()


ZONES = {"one.test.", "deep.one.test.", "bad.test."}
zone_of = zone_finder(ZONES.__contains__)


def counted(body: bytes, *, clients: bool = False, piece: int = 1 << 16) -> Top:
    class Pieces(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or piece, piece))

    rcodes = {"NOERROR": 3, "SERVFAIL": 9}
    return count_top(statistic_items(Pieces(body)), at=1.0, rcodes=rcodes, clients=clients, zone_of=zone_of)


def test_names_types_and_failures_are_counted_the_most_first() -> None:
    top = counted(
        answer(
            queries={"www.one.test/A": 5, "one.test/MX": 9, "mail.one.test/A": 2},
            nxdomain_queries={"no.one.test/A": 4},
            servfail_queries={"bad.test/A": 1},
            unauth_queries={"else.test/A": 7},
            noerror_queries={"empty.one.test/A": 8},
        )
    )
    assert top.names == (Counted("one.test/MX", 9), Counted("www.one.test/A", 5), Counted("mail.one.test/A", 2))
    assert top.types == (Counted("MX", 9), Counted("A", 7))
    assert top.rcodes == (Counted("SERVFAIL", 9), Counted("NOERROR", 3))
    assert (top.nxdomain, top.servfail) == ((Counted("no.one.test/A", 4),), (Counted("bad.test/A", 1),))
    assert top.refused == (Counted("else.test/A", 7),)
    assert (top.at, top.networks) == (1.0, ())


def test_zones_are_counted_by_the_closest_one_that_is_here() -> None:
    queries = {
        "www.one.test/A": 5, "ONE.test/MX": 9, "a.b.deep.one.test/A": 2, "deep.one.test/DS": 1, "test/NS": 4,
        "else.test/A": 7, "..bad/A": 3, r"a\.b.one.test/A": 1, "position.dnspanel.invalid/TXT": 1,
    }  # fmt: skip
    top = counted(answer(queries=queries))
    assert top.zones == (Counted("one.test.", 15), Counted("deep.one.test.", 3))
    assert top.questions == sum(queries.values()) - 1, "the agent's own question is nobody's"
    many = {f"www.{number}.test/A": 1 for number in range(MOST_ZONES + 9)}
    items = list(statistic_items(io.BytesIO(answer(queries=many))))
    full = count_top(items, at=1.0, rcodes={}, clients=False, zone_of=zone_finder(lambda name: name.count(".") == 2))
    assert len(full.zones) == MOST_ZONES


def test_a_zone_alone_is_counted_among_all_questions() -> None:
    body = answer(
        queries={"www.one.test/A": 5, "x.deep.one.test/TXT": 2, "else.test/A": 93},
        nxdomain_queries={"no.one.test/A": 4, "no.deep.one.test/A": 6},
        servfail_queries={"bad.test/A": 1},
    )
    found = count_zones(statistic_items(io.BytesIO(body)), ["one.test.", "bad.test."], at=7.0, zone_of=zone_of)
    one, bad = found["one.test."], found["bad.test."]
    assert (one.names, one.types) == ((Counted("www.one.test/A", 5),), (Counted("A", 5),))
    assert (one.nxdomain, one.servfail) == ((Counted("no.one.test/A", 4),), ())
    assert (one.zones, one.questions, one.at) == ((Counted("one.test.", 5),), 100, 7.0)
    assert (bad.names, bad.zones, bad.questions) == ((), (Counted("bad.test.", 0),), 100)
    assert bad.servfail == (Counted("bad.test/A", 1),)


def test_what_names_have_above_them_is_looked_up_once() -> None:
    looked: list[str] = []

    def has_zone(name: str) -> bool:
        looked.append(name)
        return name == "one.test."

    find = zone_finder(has_zone)
    assert [find(f"{n}.deep.one.test") for n in range(3)] == ["one.test."] * 3
    assert looked == ["0.deep.one.test.", "deep.one.test.", "one.test.", "1.deep.one.test.", "2.deep.one.test."]


def test_an_answer_in_pieces_counts_the_same() -> None:
    names = {f'we"ird\\{n}.one.test/TXT': n + 1 for n in range(40)} | {"Grüße.test/A": 99}
    body = answer(queries=names, nxdomain_queries={"x.test/A": 1})
    full = counted(body)
    assert full.names[0] == Counted("grüße.test/A", 99)
    assert full.names[1] == Counted('we"ird\\39.one.test/TXT', 40)
    for piece in (1, 7, 100):
        assert counted(body, piece=piece) == full


def test_clients_are_networks_and_only_where_the_operator_says_so() -> None:
    body = answer(remotes={"192.0.2.1": 5, "192.0.2.200": 6, "2001:db8:1:2::3": 4, "2001:db8:1:9::1": 1, "garbage": 1})
    assert counted(body).networks == ()
    networks = counted(body, clients=True).networks
    assert networks == (Counted("192.0.2.0/24", 11), Counted("2001:db8:1::/48", 5), Counted("other", 1))


@pytest.mark.turn(4, reason="the memory of PowerDNS's statistics")
def test_memory_does_not_grow_with_the_statistics() -> None:
    statistics = {
        name: {f"{n:05d}{'x' * 100}.one.test/A": n for n in range(10_000)}
        for name in ("queries", "nxdomain_queries", "unauth_queries")
    }
    body = answer(**statistics)
    assert len(body) > 4_000_000
    file = io.BytesIO(body)
    tracemalloc.start()
    top = count_top(statistic_items(file), at=1.0, rcodes={}, clients=False, zone_of=zone_finder(ZONES.__contains__))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(top.names) == MOST_COUNTED
    assert top.names[0].times == 9_999
    assert peak < 1_500_000


def test_an_answer_without_end_is_refused() -> None:
    with pytest.raises(BadBytes):
        list(statistic_items(io.BytesIO(b'[{"name": "' + b"x" * 1_000_000)))


def test_the_panel_gets_the_top_lists_of_powerdns(node: RunningNode, tmp_path: Path) -> None:
    panel = Panel(tmp_path)
    sealed = panel.create(small_zone("example.test."))
    node.client.push(sealed, len(sealed))
    for name in ("www.example.test.", "WWW.example.test.", "no.example.test.", "else.test."):
        node.answer(name)
    top = node.client.top()
    of_zones = node.client.top_of_zones(["example.test.", "else.test."])
    panel.close()
    questions = {counted.what: counted.times for counted in top.names}
    assert questions["www.example.test/A"] >= 2
    # The agent's own questions aren't counted.
    assert not [name for name in questions if name.startswith("position.")]
    assert dict(top.types)["A"] >= 4
    assert Counted("no.example.test/A", 1) in top.nxdomain
    assert "else.test/A" in [counted.what for counted in top.refused]
    # The agent also queried the new zone, as proof.
    zone, others = top.zones[0], top.zones[1:]
    assert (zone.what, others) == ("example.test.", ())
    assert zone.times >= 3
    assert top.questions > zone.times
    here, elsewhere = of_zones["example.test."], of_zones["else.test."]
    assert (here.zones, elsewhere.zones) == ((zone,), (Counted("else.test.", 0),))
    assert here.nxdomain == (Counted("no.example.test/A", 1),)
    assert here.questions == top.questions
    assert top.networks == ()


def test_an_answer_is_good_for_some_seconds() -> None:
    calls: list[float] = []
    now = [100.0]

    class Counting(TopLists):
        def _ask(self, at: float) -> Top:
            calls.append(at)
            return Top(at=at)

    lists = Counting(PdnsApi(1, "key"), rcodes=dict, clients=False, has_zone=ZONES.__contains__, clock=lambda: now[0])
    for seconds in (100.0, 100.0 + GOOD_FOR_SECONDS - 0.1, 100.0 + GOOD_FOR_SECONDS, 50.0):
        now[0] = seconds
        lists.read()
    assert calls == [100.0, 104.0, 50.0]  # the clock was set back


def test_without_a_key_or_a_powerdns_no_lists_are_given() -> None:
    with pytest.raises(NotServed, match="api_key"):
        TopLists(PdnsApi(1, ""), rcodes=dict, clients=False, has_zone=ZONES.__contains__).read()
    with pytest.raises(NotServed, match="refused"):
        TopLists(PdnsApi(free_port(), API_KEY), rcodes=dict, clients=False, has_zone=ZONES.__contains__).read()
