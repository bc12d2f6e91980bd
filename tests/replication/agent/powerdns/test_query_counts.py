"""The agent counts the queries for RRsets of a real pdns_server from the packets. Tests `powerdns.capture` too."""

import socket
import subprocess
import time
from collections import Counter
from contextlib import closing

import pytest

from replication.agent.powerdns.capture import Capture
from replication.agent.powerdns.query_counts import QueryCounter
from replication.codec.keys import relative_key
from replication.dns import rdata
from replication.verify import encode_question
from replication.wire.protocol import QueryReport
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.panel import Panel, records, small_zone

ZONE = "example.test."
OTHER = "other.test."


@pytest.fixture(autouse=True)
def may_capture() -> None:
    try:
        Capture(free_port()).close()
    except PermissionError:
        pytest.skip("this process may not read packets")


def dig(port: int, *question: str) -> None:
    command = ["dig", "+tries=1", "+time=3", "@127.0.0.1", "-p", str(port), *question]
    assert "timed out" not in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def key(name: str, type: str, zone: str = ZONE) -> tuple[str, str, str]:
    return zone, relative_key(name, zone).hex(), type


class Reports:
    """The reports of a node's agent, taken one after another as the panel takes them."""

    def __init__(self, node: RunningNode, *zones: str) -> None:
        self._node, self._zones, self.taken = node, dict(enumerate(zones, 1)), ""
        self.all: list[QueryReport] = []

    def take(self) -> Counter[tuple[str, str, str]]:
        report = self._node.client.query_report(self.taken)
        self.taken = report.id
        self.all.append(report)
        return Counter(
            {(self._zones[zone], rel, rdata.type_to_text(type)): times for zone, rel, type, times in report.counts}
        )

    def begin(self) -> None:
        """Take reports until one is complete, so that PowerDNS's counters are known."""
        self.take()
        deadline = time.monotonic() + 20
        while self.all[-1].problem and time.monotonic() < deadline:
            time.sleep(0.5)
            self.take()
        assert self.all[-1].problem == ""


@pytest.fixture
def reports(node: RunningNode, panel: Panel) -> Reports:
    more = (
        records(ZONE, "alias", "CNAME", 300, f"www.{ZONE}"),
        records(ZONE, "away", "CNAME", 300, f"www.{OTHER}"),
        records(ZONE, "*.wild", "TXT", 300, '"any"'),
        records(ZONE, "there.wild", "A", 300, "192.0.2.9"),
        records(ZONE, "sub", "NS", 300, f"ns.sub.{ZONE}"),
        records(ZONE, "ns.sub", "A", 300, "192.0.2.8"),
        records(ZONE, "old", "DNAME", 300, OTHER),
    )
    for sealed in (panel.create(small_zone(ZONE, *more)), panel.create(small_zone(OTHER))):
        node.client.push(sealed, len(sealed))
    return Reports(node, ZONE, OTHER)


def test_every_question_counts_for_the_rrset_that_answers_it(node: RunningNode, reports: Reports) -> None:
    reports.begin()
    port = node.pdns.port
    for _ in range(3):  # the second and the third answer come from the packet cache
        dig(port, "www.example.test", "A")
    dig(port, "+tcp", "wWw.ExAmple.test", "A")
    dig(port, "alias.example.test", "A")
    dig(port, "alias.example.test", "CNAME")
    dig(port, "away.example.test", "A")
    dig(port, "www.old.example.test", "A")
    dig(port, "+tcp", "x.wild.example.test", "TXT")
    dig(port, "y.wild.example.test", "TXT")
    dig(port, "there.wild.example.test", "TXT")  # NODATA
    dig(port, "host.sub.example.test", "A")
    dig(port, "nothing.example.test", "A")
    dig(port, "example.test", "MX")
    dig(port, "else.invalid", "A")
    with socket.create_connection(("127.0.0.1", port)) as stream:  # two questions in three pieces
        question = encode_question(1, "www.example.test.", 1)
        both = (len(question).to_bytes(2, "big") + question) * 2
        for piece in (both[:1], both[1:30], both[30:]):
            stream.sendall(piece)
            time.sleep(0.1)
    assert node.answer("www.example.test.") == ["192.0.2.1"], "the agent's own way of asking isn't counted"
    assert reports.take() == {
        key("www.example.test.", "A"): 3 + 1 + 1 + 2,
        key("alias.example.test.", "CNAME"): 2,
        key("away.example.test.", "CNAME"): 1,
        key("www.other.test.", "A", OTHER): 2,
        key("old.example.test.", "DNAME"): 1,
        key("*.wild.example.test.", "TXT"): 2,
        key("sub.example.test.", "NS"): 1,
    }
    assert reports.all[-1].problem == ""
    assert reports.take() == {}
    first, second = reports.all[-2:]
    assert (first.end, second.problem) == (second.begin, "")


def test_a_report_is_repeated_until_it_is_taken(node: RunningNode, reports: Reports) -> None:
    reports.begin()
    dig(node.pdns.port, "www.example.test", "A")
    before = reports.taken
    first = reports.take()
    dig(node.pdns.port, "www.example.test", "A")
    reports.taken = before
    assert reports.take() == first == {key("www.example.test.", "A"): 1}
    assert reports.take() == {key("www.example.test.", "A"): 1}


def test_questions_that_do_not_fit_make_a_report_incomplete(node: RunningNode, reports: Reports) -> None:
    reports.begin()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", node.pdns.port))
        for number in range(30_000):
            sock.send(encode_question(number, f"n{number}.example.test.", 1))
    reports.take()
    assert "could not be counted" in reports.all[-1].problem
    dig(node.pdns.port, "www.example.test", "A")
    assert reports.take() == {key("www.example.test.", "A"): 1}
    assert reports.all[-1].problem == ""


def test_a_full_ring_is_noticed() -> None:
    port = free_port()
    with (
        closing(Capture(port)) as capture,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        server.bind(("127.0.0.1", port))
        sock.connect(("127.0.0.1", port))
        for number in range(5_000):
            sock.send(encode_question(number, "www.example.test.", 1))
        found = len(list(capture.read()))
        assert (found, found + capture.count_dropped()) == (4096, 5_000)


def test_questions_that_only_powerdns_sees_make_a_report_incomplete(node: RunningNode, reports: Reports) -> None:
    """Count at an unused port, in place of packets that the filter doesn't select."""
    reports.begin()

    class Counts:
        at, uptime, udp, tcp = time.time() + 1, 5, node.pdns.questions(), 0

    counter = QueryCounter(None, free_port(), counters=lambda: Counts())  # type: ignore[arg-type, return-value]
    counter.report("")
    taken = counter.report("").id
    assert counter.report(taken).problem == ""
    Counts.udp += 7
    assert "7 questions" in counter.report(counter.report("").id).problem + counter.report("").problem
    counter.stop()
