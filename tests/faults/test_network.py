"""Rows 22 to 26: a node on a separate host whose link is cut, half cut, slow or lossy, and a node that hangs."""

import signal
import time

import psutil
import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, lmdb_files
from tests.faults.checker import Checker
from tests.faults.conftest import NewChecker, Run
from tests.faults.hosts import Host
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults

# Ten seconds for 36,000 changes by the fault table, doubled for a busy machine.
CATCH_UP_SECONDS = 10.0 * 2
# For edits at healthy nodes, on a machine with two cores that runs everything.
OTHERS_SECONDS = 2.0 * 2


def status_of(panel: Panel, node: str) -> list[object]:
    """Return a node's epoch, position, state and message as the panel displays them."""
    found: list[object] = panel.do(acts.positions)["nodes"][node]
    return found


def slowest_of_others(panel: Panel, stack: Stack, *, after: int) -> float:
    """Return the 99th percentile of the seconds from edits to acknowledgments at the stack's three nodes."""
    found = panel.do(
        acts.rows,
        sql="""
        SELECT extract(epoch FROM min(a.at) - p.at)::float FROM zones_publication p CROSS JOIN fleet_node n
        JOIN fleet_ack a ON a.node_id = n.id AND a.epoch = p.epoch AND a.sequence >= p.sequence
        WHERE n.name = ANY(%s) AND p.sequence > %s GROUP BY p.sequence, p.at, n.id ORDER BY 1""",
        parameters=[list(stack.node_names), after],
    )
    return float(found[int(len(found) * 0.99) - 1][0])


def assert_others_are_quick(panel: Panel, stack: Stack, checker: Checker, after: int) -> None:
    seconds = slowest_of_others(panel, stack, after=after)
    assert seconds < OTHERS_SECONDS, f"the others waited {seconds:.1f} s"


@pytest.mark.row(22)
def test_a_node_that_was_cut_off_keeps_answering_and_catches_up(
    panel: Panel, host: Host, far_member: Member, new_checker: NewChecker, run: Run
) -> None:
    changes = run.few(1_500, 36_000)
    zone = f"backlog-{time.time_ns()}.test."
    panel.do(acts.create_zone, name=zone)
    far_member.wait_until_in_sync()
    with new_checker() as checker:
        host.cut()
        begun = lmdb_files.sequence(far_member.files.lmdb)
        for first in range(0, changes, 500):
            values = [{f"n{n % 1000}.{zone} AAAA": f"2001:db8::{n:x}"} for n in range(first, first + 500)]
            panel.do(acts.change_many, zone=zone, values=values)
        checker.stop_edits()
        head = panel.do(acts.positions)["head"]
        assert head - begun >= changes
        assert lmdb_files.sequence(far_member.files.lmdb) == begun, "something reached it"
        assert status_of(panel, far_member.name)[1] == begun
        until(lambda: status_of(panel, far_member.name)[2] != "live", seconds=60, what="the panel to show it behind")
        host.heal()
        seconds = until(
            lambda: lmdb_files.sequence(far_member.files.lmdb) == head, seconds=300, what="everything in its files"
        )
        # TCP and the push worker reconnect after their own pauses, which don't count as catching up.
        assert seconds < CATCH_UP_SECONDS + RECONNECT_SECONDS
        far_member.wait_until_in_sync()
    checker.judge()


@pytest.mark.row(24)
def test_acknowledgements_that_are_lost_leave_a_node_unconfirmed_and_applied_once(
    panel: Panel, host: Host, far_member: Member, new_checker: NewChecker
) -> None:
    zone = f"oneway-{time.time_ns()}.test."
    panel.do(acts.create_zone, name=zone)
    far_member.wait_until_in_sync()
    with new_checker() as checker:
        checker.add(far_member.server)  # queries use UDP, which this fault doesn't affect
        checker.more(5)
        checker.stop_edits()  # the next push must be the test's own edit, on the open connection
        far_member.wait_until_in_sync()
        host.spoil(lost_ports=(far_member.agent_port,))
        sequence = panel.do(acts.change, zone=zone, values={f"www.{zone} AAAA": "2001:db8::24"})["sequence"]
        until(lambda: lmdb_files.sequence(far_member.files.lmdb) >= sequence, seconds=60, what="it to be applied")
        time.sleep(1)
        assert status_of(panel, far_member.name)[1] < sequence, "shown as in sync without its acknowledgement"
        host.heal()
        far_member.wait_until_in_sync(seconds=120)
    checker.judge()


@pytest.mark.row(25)
def test_a_bad_link_slows_its_own_node_only(
    faulty: Stack, panel: Panel, host: Host, far_member: Member, new_checker: NewChecker, run: Run
) -> None:
    after = panel.do(acts.positions)["head"]
    with new_checker(edits_per_second=5) as checker:
        checker.more(5)
        host.spoil(loss=0.3, delay=0.5, bytes_per_second=125_000)
        began = lmdb_files.sequence(far_member.files.lmdb)
        checker.more(run.few(40, 400), seconds=300)
        until(lambda: lmdb_files.sequence(far_member.files.lmdb) > began, seconds=300, what="progress over a bad link")
        assert_others_are_quick(panel, faulty, checker, after)
        host.heal()
        far_member.wait_until_in_sync(seconds=120)
    checker.judge()


@pytest.mark.row(26)
def test_an_agent_that_stands_still_costs_the_others_nothing(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker, run: Run
) -> None:
    push = psutil.Process(faulty.supervisor.pid("push"))
    after = panel.do(acts.positions)["head"]
    assert member.agent is not None
    with new_checker() as checker:
        checker.more(20)
        memory = push.memory_info().rss
        member.agent.send_signal(signal.SIGSTOP)
        stands = time.monotonic()
        while time.monotonic() - stands < run.few(10, 600):
            checker.more(20)
        assert_others_are_quick(panel, faulty, checker, after)
        assert push.memory_info().rss - memory < 32 << 20, "the push worker grows while it waits"
        assert push.pid == faulty.supervisor.pid("push")
        member.agent.send_signal(signal.SIGCONT)
        member.wait_until_in_sync(seconds=120)
    checker.judge()


RECONNECT_SECONDS = 30.0
