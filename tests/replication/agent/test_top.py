"""What PowerDNS is asked most, counted from its rings as they arrive."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from replication.agent.pdns_api import PdnsApi
from replication.agent.top import GOOD_FOR_SECONDS, MOST_COUNTED, TopLists, count_top, statistic_items
from replication.errors import BadBytes, NotServed
from replication.wire.protocol import Counted, Top
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import API_KEY
from tests.replication.panel import Panel, small_zone


def answer(**statistics: dict[str, int]) -> bytes:
    """As PowerDNS writes it: keys sorted, numbers as texts, other statistics around the rings."""
    items: list[dict[str, Any]] = [
        {"name": "udp-queries", "type": "StatisticItem", "value": "9"},
        {"name": "response-by-qtype", "type": "MapStatisticItem", "value": [{"name": "TRAP", "value": "99"}]},
    ]
    for name, counts in statistics.items():
        value = [{"name": what, "value": str(count)} for what, count in counts.items()]
        items.append({"name": name.replace("_", "-"), "size": "10000", "type": "RingStatisticItem", "value": value})
    items.append({"name": "zz-map", "type": "MapStatisticItem", "value": [{"name": "TRAP", "value": "99"}]})
    return json.dumps(items).encode()


def counted(body: bytes, *, clients: bool = False, piece: int = 1 << 16) -> Top:
    class Pieces(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or piece, piece))

    return count_top(statistic_items(Pieces(body)), at=1.0, rcodes={"NOERROR": 3, "SERVFAIL": 9}, clients=clients)


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


def test_memory_does_not_grow_with_the_statistics() -> None:
    statistics = {
        name: {f"{n:05d}{'x' * 100}.one.test/A": n for n in range(10_000)}
        for name in ("queries", "nxdomain_queries", "unauth_queries")
    }
    body = answer(**statistics)
    assert len(body) > 4_000_000
    file = io.BytesIO(body)
    tracemalloc.start()
    top = count_top(statistic_items(file), at=1.0, rcodes={}, clients=False)
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
    panel.close()
    questions = {counted.what: counted.times for counted in top.names}
    assert questions["www.example.test/A"] >= 2
    # The agent's own questions are nobody's.
    assert not [name for name in questions if name.startswith("position.")]
    assert dict(top.types)["A"] >= 4
    assert Counted("no.example.test/A", 1) in top.nxdomain
    assert "else.test/A" in [counted.what for counted in top.refused]
    assert top.networks == ()


def test_an_answer_is_good_for_some_seconds() -> None:
    calls: list[float] = []
    now = [100.0]

    class Counting(TopLists):
        def _ask(self, at: float) -> Top:
            calls.append(at)
            return Top(at=at)

    lists = Counting(PdnsApi(1, "key"), rcodes=dict, clients=False, clock=lambda: now[0])
    for seconds in (100.0, 100.0 + GOOD_FOR_SECONDS - 0.1, 100.0 + GOOD_FOR_SECONDS, 50.0):
        now[0] = seconds
        lists.read()
    assert calls == [100.0, 104.0, 50.0]  # the clock was set back


def test_without_a_key_or_a_powerdns_no_lists_are_given() -> None:
    with pytest.raises(NotServed, match="api_key"):
        TopLists(PdnsApi(1, ""), rcodes=dict, clients=False).read()
    with pytest.raises(NotServed, match="refused"):
        TopLists(PdnsApi(free_port(), API_KEY), rcodes=dict, clients=False).read()
