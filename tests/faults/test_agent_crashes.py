"""Rows 7, 8 and 9: the agent or PowerDNS is killed, or power fails, at each step of an apply."""

import itertools
import random
import time
from collections.abc import Callable, Iterator

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, crash, lmdb_files
from tests.faults.checker import answers_at_all
from tests.faults.conftest import NewChecker, Run
from tests.faults.crash import Point
from tests.faults.disk import Disk
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.full import choose
from tests.stack import until

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("root", "need_strace")]

# download; commits of records file and main file; purge and queries; acknowledgment and log
AGENT_CALLS = ("read", "pwrite64", "pwritev", "fdatasync", "sendto", "write")
COMMIT_CALLS = ("pwrite64", "pwritev", "fdatasync")
_numbers = itertools.count(time.time_ns())


def new_zone(panel: Panel) -> None:
    """Create a zone, which the agent commits in three steps: records file, main file, records file."""
    name = f"life-{next(_numbers)}.test."
    panel.do(acts.create_zone, name=name, values={f"www.{name} AAAA": "2001:db8::1"})


def zone_gone(panel: Panel) -> None:
    name = panel.do(
        acts.rows, sql="SELECT name FROM zones_zone WHERE deleted_at IS NULL AND name LIKE 'life-%%' LIMIT 1"
    )[0][0]
    panel.do(acts.delete_zone, name=name)


def points_of(node: Member, panel: Panel, operation: Callable[[Panel], None], kinds: tuple[str, ...]) -> list[Point]:
    """Return all crash points of these kinds in the agent's committing thread during one operation."""
    assert node.agent is not None

    def operate_and_wait() -> None:
        operation(panel)
        node.wait_until_in_sync()

    calls = crash.calls_during([node.agent.pid], kinds, operate_and_wait)
    return crash.points_of(calls, thread=crash.thread_that(calls, "fdatasync"))


def kill_agent_at(node: Member, panel: Panel, operation: Callable[[Panel], None], point: Point) -> bool:
    """Kill the agent at the point during the operation, check files and answers, and return True if it died."""
    assert node.agent is not None
    died = crash.kill_at(node.agent.pid, point, lambda: operation(panel), seconds=5)
    assert lmdb_files.zones_without_records(node.files.lmdb, node.schema) == []
    assert answers_at_all([node.server], seconds=5)
    return died


@pytest.mark.row(7)
def test_an_agent_killed_at_every_step_goes_on_where_it_was(
    panel: Panel, member: Member, new_checker: NewChecker, run: Run
) -> None:
    new_zone(panel)
    member.wait_until_in_sync()
    walks = [(act, points_of(member, panel, act, AGENT_CALLS)) for act in (new_zone, zone_gone)]
    deaths = 0
    with new_checker(member.server, edits_per_second=2) as checker:
        for act, points in walks * run.times:
            assert {point.name for point in points} >= {"fdatasync", "sendto"}
            for point in choose(points, run.few(2, 1_000), seed=run.seed):
                deaths += kill_agent_at(member, panel, act, point)
                member.kill_agent()
                member.start_agent()
                panel.do(acts.wake_node, name=member.name)
                member.wait_until_in_sync()
    assert deaths
    checker.judge()


@pytest.mark.row(8)
def test_powerdns_killed_during_an_apply_serves_what_was_committed(
    panel: Panel, member: Member, new_checker: NewChecker, run: Run
) -> None:
    chance = random.Random(run.seed)
    span, wanted, done = 0.4, run.times * run.few(2, 10), 0
    with new_checker(member.server, edits_per_second=5) as checker:
        for _ in range(wanted * 10):
            sequence = panel.do(acts.create_many, prefix=f"bulk-{next(_numbers)}-", count=run.few(400, 4_000), owners=5)
            time.sleep(chance.uniform(0, span))
            member.kill_pdns()
            time.sleep(0.5)  # acknowledgments from before the kill have reached the panel then
            if acked(member) >= sequence:
                span /= 2  # a fast machine applied and acknowledged it before the kill
            else:
                done += 1
                until(
                    lambda sequence=sequence: lmdb_files.sequence(member.files.lmdb) >= sequence,
                    seconds=120,
                    what=lambda: f"the agent to write all the same: {panel.do(acts.positions)}; {member.output()}",
                )
                assert acked(member) < sequence, "acknowledged without PowerDNS"
            member.start_pdns()
            member.wait_until_in_sync()
            until(lambda: lmdb_files.dead_readers(member.files.lmdb) == [], seconds=30, what="no dead readers")
            if done == wanted:
                break
    assert done == wanted
    checker.judge()


def acked(member: Member) -> int:
    """Return the newest position that the node has acknowledged to the panel."""
    position: int = member.panel.do(acts.node, name=member.name)["acked"]
    return position


@pytest.fixture
def disk(faulty: Stack, root: None) -> Iterator[Disk]:
    with Disk(faulty.directory / "disk", mib=96) as mounted:
        yield mounted


@pytest.mark.row(9)
def test_a_node_that_lost_power_has_both_data_and_position_or_neither(
    faulty: Stack, panel: Panel, disk: Disk, seeds: Iterator[int], new_checker: NewChecker, run: Run
) -> None:
    with Member(faulty, panel, f"dark{next(seeds)}", data=disk.path / "node", map_size_mib=64) as node:
        new_zone(panel)
        node.wait_until_in_sync()
        points = points_of(node, panel, new_zone, COMMIT_CALLS)
        with new_checker(node.server, edits_per_second=2) as checker:
            for point in choose(points, run.few(2, 1_000), seed=run.seed) * run.times:
                kill_agent_at(node, panel, new_zone, point)
                node.kill_agent()
                node.kill_pdns()
                disk.lose_power()
                node.start_pdns()
                node.start_agent()
                panel.do(acts.wake_node, name=node.name)
                node.wait_until_in_sync()
                assert lmdb_files.zones_without_records(node.files.lmdb, node.schema) == []
        checker.judge()
