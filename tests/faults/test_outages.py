"""Rows 45 and 48: the control socket is missing, and the whole site loses power."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, lmdb_files
from tests.faults.checker import answers_at_all, servers_of
from tests.faults.conftest import NewChecker
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.stack import ask, until

pytestmark = pytest.mark.faults

# The time in which pdns_server opens its files and answers, while all other processes start.
START_SECONDS = 20.0


@contextlib.contextmanager
def without_control_socket(node: Member) -> Iterator[None]:
    """Remove the control socket, so that PowerDNS continues but receives no commands."""
    away = node.control_socket.with_suffix(".away")
    node.control_socket.rename(away)
    try:
        yield
    finally:
        away.rename(node.control_socket)


@pytest.mark.row(45)
def test_without_the_control_socket_nothing_is_called_in_sync(
    panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    with new_checker(edits_per_second=5) as checker:
        checker.more(5)
        member.wait_until_in_sync(seconds=60)
        with without_control_socket(member):
            before = lmdb_files.sequence(member.files.lmdb)
            checker.more(10)
            until(lambda: lmdb_files.sequence(member.files.lmdb) > before, seconds=60, what="it to be applied")
            time.sleep(1)
            status = panel.do(acts.positions)["nodes"][member.name]
            assert status[1] < lmdb_files.sequence(member.files.lmdb), "in sync without a purge"
            until(lambda: panel.do(acts.positions)["nodes"][member.name][2] != "live", seconds=120, what="an alarm")
        member.wait_until_in_sync(seconds=120)
    checker.judge()


@pytest.mark.row(48)
def test_after_the_power_of_the_whole_site_nodes_answer_before_the_panel_is_back(
    faulty: Stack, panel: Panel, new_checker: NewChecker
) -> None:
    name = f"site-{time.time_ns()}.test."
    panel.do(acts.create_zone, name=name, values={f"www.{name} AAAA": "2001:db8::48"})
    with new_checker() as checker:
        checker.more(20)
        checker.stop_edits()
        faulty_at_once(faulty)
        panel.close()  # its connection to PostgreSQL is lost, too
        try:
            servers = [f"{node}-pdns" for node in faulty.server_names]
            faulty.supervisor.start([*servers, *(f"{node}-agent" for node in faulty.server_names)])
            seconds = until(lambda: answers_at_all(servers_of(faulty)), seconds=60, what="every node without the panel")
            assert seconds < START_SECONDS
            for node in faulty.nodes:
                assert ask(node, f"www.{name}", "AAAA").rdata == ("2001:db8::48",)
        finally:
            faulty.supervisor.start(faulty.supervisor.commands)
            faulty.stores.wait(seconds=60, logs=faulty.supervisor.logs)
        panel.do(acts.change, zone=name, values={f"www.{name} AAAA": "2001:db8::49"})
    checker.judge()


def faulty_at_once(stack: Stack) -> None:
    """Kill all processes, without a restart by the supervisor."""
    for name in stack.supervisor.commands:
        with contextlib.suppress(ProcessLookupError):
            stack.supervisor.kill(name)
    stack.supervisor.stop(stack.supervisor.commands)
