"""Rows 27 to 30: slow or full disks, on a node and in the panel."""

import itertools
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, crash
from tests.faults.conftest import NewChecker, Run, durable_stack
from tests.faults.disk import Disk
from tests.faults.member import Member
from tests.faults.panel import ActFailed, Panel, PanelGone
from tests.faults.test_network import assert_others_are_quick, status_of
from tests.stack import ask_all, until

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("root")]

FULL = "full.test."
_numbers = itertools.count(time.time_ns())


def bulk(panel: Panel, *, zones: int = 4_000) -> int:
    """Publish several megabytes at once, which exceeds the free space in LMDB's file."""
    return panel.do(acts.create_many, prefix=f"full-{next(_numbers)}-", count=zones, owners=20)


@pytest.mark.row(27)
@pytest.mark.usefixtures("need_strace")
def test_a_slow_disk_makes_its_node_late_and_no_other(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker, run: Run
) -> None:
    after = panel.do(acts.positions)["head"]
    assert member.agent is not None
    with new_checker() as checker:
        checker.more(10)
        with crash.slowed([member.agent.pid], "fdatasync", seconds=2.0):
            began = status_of(panel, member.name)[1]
            checker.more(run.few(60, 600), seconds=300)
            until(lambda: status_of(panel, member.name)[1] > began, seconds=120, what="progress on a slow disk")  # type: ignore[operator]
            assert_others_are_quick(panel, faulty, checker, after)
        member.wait_until_in_sync()
    checker.judge()


@pytest.fixture
def disk(faulty: Stack) -> Iterator[Disk]:
    with Disk(faulty.directory / "disk", mib=192) as mounted:
        yield mounted


@pytest.mark.row(28)
def test_a_full_disk_stops_applying_and_not_serving(
    faulty: Stack, panel: Panel, disk: Disk, seeds: Iterator[int], new_checker: NewChecker
) -> None:
    with Member(faulty, panel, f"full{next(seeds)}", data=disk.path / "node", map_size_mib=256) as node:
        node.wait_until_in_sync()
        with new_checker() as checker:
            checker.add(node.server)
            checker.more(10)
            disk.fill()
            sequence = bulk(panel)
            until(lambda: status_of(panel, node.name)[2] == "rejecting", seconds=120, what="an alarm")
            assert "couldn’t be written" in str(status_of(panel, node.name)[3])
            assert status_of(panel, node.name)[1] < sequence  # type: ignore[operator]
            disk.free()
            node.wait_until_in_sync(seconds=120)
        checker.judge()
        assert checker.silent[node.name] < 10


@pytest.mark.row(29)
def test_a_full_map_stops_applying_until_the_operator_raises_it(
    faulty: Stack, panel: Panel, seeds: Iterator[int], new_checker: NewChecker
) -> None:
    bulk(panel, zones=1)
    with Member(faulty, panel, f"map{next(seeds)}", map_size_mib=2) as node:
        until(
            lambda: status_of(panel, node.name)[1] > 0 or status_of(panel, node.name)[2] == "rejecting",
            seconds=60,
            what="a word",
        )  # type: ignore[operator]
        with new_checker() as checker:
            checker.more(5)
            bulk(panel)
            until(lambda: status_of(panel, node.name)[2] == "rejecting", seconds=120, what="an alarm")
            assert "map size" in str(status_of(panel, node.name)[3])
            node.set(map_size_mib=256)
            for stop, start in ((node.kill_agent, node.start_agent), (node.kill_pdns, node.start_pdns)):
                stop()
                start()
            node.wait_until_in_sync(seconds=120)
        checker.judge()


@pytest.mark.row(30)
def test_a_full_disk_at_the_panel_refuses_edits_and_keeps_no_half_of_them() -> None:
    stack = durable_stack("faults-full")
    with Disk(stack.directory.with_name("faults-full-disk"), mib=256) as disk, stack, Panel(stack) as panel:
        move_wal(stack, disk)
        until(lambda: edited(panel, "before"), seconds=120, what="PostgreSQL on the small disk")
        disk.fill()
        acknowledged, refusals = edit_until_refused(panel)
        assert refusals, "a full disk took every edit"
        assert all("Traceback" not in words for words in refusals)
        assert {answer.rdata for answer in ask_all(stack, f"www.{FULL}", "TXT")} == {('"before"',)}
        disk.free()
        until(lambda: edited(panel, "after"), seconds=180, what="edits to be taken again")
        found = panel.do(acts.rows, sql="SELECT sequence FROM zones_publication ORDER BY 1")
        sequences = [row[0] for row in found]
        assert sequences == list(range(1, len(sequences) + 1)), "the log has a gap"
        assert acknowledged <= set(sequences), "an acknowledged edit is gone"
        until(
            lambda: {answer.rdata for answer in ask_all(stack, f"www.{FULL}", "TXT")} == {('"after"',)},
            seconds=60,
            what="the last edit at every node",
        )
        panel.do(acts.audit)


def move_wal(stack: Stack, disk: Disk) -> None:
    """Move PostgreSQL's write-ahead log to this disk, so that commits depend on it."""
    wal = stack.directory / "postgres" / "pg_wal"
    stack.supervisor.stop(["postgres"])
    subprocess.run(["cp", "-a", str(wal), str(disk.path / "pg_wal")], check=True)
    shutil.rmtree(wal)
    wal.symlink_to(disk.path / "pg_wal")
    stack.supervisor.start(["postgres"])
    stack.stores.wait(seconds=60, logs=stack.supervisor.logs)


def edit_until_refused(panel: Panel, *, most: int = 20_000) -> tuple[set[int], list[str]]:
    """Publish edits until one is refused. Return the accepted sequences and the refusal messages."""
    taken: set[int] = set()
    long = " ".join([f'"{"x" * 250}"'] * 14)
    for number in range(most):
        try:
            values = [{f"n{n}.{FULL} TXT": f'{long} "{number}"'} for n in range(20)]
            taken.add(panel.do(acts.change_many, zone=FULL, values=values))
        except (ActFailed, PanelGone) as exc:
            return taken, [str(exc)]
    return taken, []


def edited(panel: Panel, stamp: str) -> bool:
    """Publish an edit, and create the zone if it is missing. Return True if the edit was accepted."""
    try:
        if not panel.do(acts.rows, sql="SELECT 1 FROM zones_zone WHERE name = %s", parameters=[FULL]):
            panel.do(acts.create_zone, name=FULL)
        panel.do(acts.change, zone=FULL, values={f"www.{FULL} TXT": f'"{stamp}"'})
    except ActFailed as exc:
        return exc.kind == "NothingToPublish"
    except PanelGone:
        return False
    return True
