"""Rows 23, 41 and 42: new nodes, and nodes that were away longer than the log is kept."""

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts
from tests.faults.checker import Checker, Panels, answers_at_all
from tests.faults.conftest import NewChecker, Run
from tests.faults.hosts import Host
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults

# For 2.8 million records at 1 Gbit/s. This test has far fewer, on a machine that runs everything else, too.
BOOTSTRAP_SECONDS = 60.0 * 2
PAGE_SECONDS = 2.0


@pytest.mark.row(23)
def test_a_node_beyond_the_log_gets_a_snapshot_and_nothing_rises_from_the_dead(
    panel: Panel, host: Host, far_member: Member, new_checker: NewChecker
) -> None:
    gone = [f"gone-{time.time_ns()}-{n}.test." for n in range(3)]
    for name in gone:
        panel.do(acts.create_zone, name=name, values={f"www.{name} AAAA": "2001:db8::23"})
    far_member.wait_until_in_sync()
    with new_checker() as checker:
        host.cut()
        for name in gone:
            panel.do(acts.delete_zone, name=name)
        checker.more(20)
        panel.do(acts.forget_the_log)
        host.heal()
        far_member.wait_until_in_sync(seconds=180)
        assert any("snapshot" in sentence for sentence in panel.do(acts.events, name=far_member.name))
        for name in gone:
            assert far_member.rcode(f"www.{name}", "AAAA") == "REFUSED"
        checker.add(far_member.server)
        checker.more(10)
    checker.judge()


@contextlib.contextmanager
def many_authors(faulty: Stack, number: int) -> Iterator[None]:
    """Let `number` processes publish as fast as they can, each in a separate zone."""
    stop = threading.Event()

    def author(panel: Panel, zone: str) -> None:
        panel.do(acts.create_zone, name=zone)
        turn = 0
        while not stop.is_set():
            values = [{f"n{n}.{zone} AAAA": f"2001:db8::{turn:x}:{n:x}"} for n in range(50)]
            panel.do(acts.change_many, zone=zone, values=values)
            turn += 1

    with contextlib.ExitStack() as running:
        panels = [running.enter_context(Panel(faulty)) for _ in range(number)]
        threads = [
            threading.Thread(target=author, args=(panel, f"author-{time.time_ns()}-{n}.test."))
            for n, panel in enumerate(panels)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)


@pytest.mark.row(41)
def test_a_node_joins_while_the_log_runs_on(
    faulty: Stack, panels: Panels, seeds: Iterator[int], new_checker: NewChecker, run: Run
) -> None:
    panels.test.do(acts.create_many, prefix=f"estate-{time.time_ns()}-", count=run.few(500, 20_000), owners=10)
    panels.test.do(acts.maintain)
    with new_checker() as checker, contextlib.ExitStack() as authors:
        authors.enter_context(many_authors(faulty, run.few(1, 3)))
        before = panels.test.do(acts.positions)["head"]
        began = time.monotonic()
        with Member(faulty, panels.test, f"new{next(seeds)}") as node:
            until(
                lambda: panels.test.do(acts.positions)["nodes"][node.name][1] > before,
                seconds=BOOTSTRAP_SECONDS,
                what="the new node beyond where the head was when it came",
            )
            assert time.monotonic() - began < BOOTSTRAP_SECONDS
            checker.add(node.server)
            checker.more(10)
            authors.close()  # with constant edits, a node is at the head only by chance
            judge_when_quiet(checker, node)


def judge_when_quiet(checker: Checker, node: Member) -> None:
    checker.stop_edits()
    node.wait_until_in_sync(seconds=180)


@pytest.mark.row(42)
def test_many_nodes_bootstrap_at_once_and_the_panel_stays_responsive(
    faulty: Stack, panel: Panel, seeds: Iterator[int], new_checker: NewChecker, run: Run
) -> None:
    """A full run uses 16 real agents with PowerDNS in place of a hundred nodes, because of the machine's limits."""
    panel.do(acts.create_many, prefix=f"crowd-{time.time_ns()}-", count=run.few(500, 10_000), owners=10)
    panel.do(acts.forget_the_log)
    with contextlib.ExitStack() as crowd, new_checker(edits_per_second=5) as checker:
        nodes = [Member(faulty, panel, f"crowd{next(seeds)}", start=False) for _ in range(run.few(3, 16))]
        for node in nodes:
            crowd.enter_context(node)
        for node in nodes:
            node.start_pdns()
        for node in nodes:
            node.start_agent(wait=False)
        slowest = 0.0
        while not all_in_sync(panel, nodes):
            slowest = max(slowest, seconds_of_a_page(faulty))
            assert slowest < PAGE_SECONDS * 5, f"a page took {slowest:.1f} s"
        assert answers_at_all([node.server for node in nodes], seconds=5)
        for node in nodes:
            checker.add(node.server)
        checker.more(5)
        checker.judge()


def all_in_sync(panel: Panel, nodes: list[Member]) -> bool:
    found = panel.do(acts.positions)
    near = found["head"] - 50  # edits continue
    return all(found["nodes"][node.name][1] >= near for node in nodes)


def seconds_of_a_page(stack: Stack) -> float:
    began = time.monotonic()
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    return time.monotonic() - began
