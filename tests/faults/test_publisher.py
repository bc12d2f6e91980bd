"""Rows 3 to 6: processes that assign sequences and write segments are killed, stopped, duplicated and delayed."""

import itertools
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, crash
from tests.faults.checker import Panels
from tests.faults.conftest import NewChecker, Run
from tests.faults.crash import Point
from tests.faults.panel import Panel, PanelGone
from tests.full import choose
from tests.stack import until

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("root", "need_strace")]

# All messages to PostgreSQL, and all writes of the LMDB files and of segment objects.
PUBLISHER_CALLS = ("sendto", "write", "pwrite64", "pwritev", "fdatasync", "fsync", "link", "linkat", "unlink", "openat")
UPLOAD_CALLS = ("openat", "write", "fsync", "link", "linkat", "unlink")
ZONE = "publisher.test."


@pytest.fixture
def zone(panel: Panel, faulty: Stack) -> Iterator[str]:
    panel.do(acts.create_zone, name=ZONE)
    yield ZONE
    panel.do(acts.delete_zone, name=ZONE)


def edit(panel: Panel) -> int:
    stamp = f'"{time.monotonic_ns()}"'
    return int(panel.do(acts.change, zone=ZONE, values={f"www.{ZONE} TXT": stamp})["sequence"])


def assert_chain_is_complete(panel: Panel) -> None:
    """Check that publications have the sequences from 1 to the head, and that segments cover them without gaps."""
    sequences = panel.do(acts.rows, sql="SELECT sequence FROM zones_publication ORDER BY 1")
    assert [row[0] for row in sequences] == list(range(1, len(sequences) + 1))
    rows = panel.do(
        acts.rows,
        sql="SELECT first, last FROM publish_segment WHERE schema = 4"
        " AND epoch = (SELECT epoch FROM zones_loghead) ORDER BY first",
    )
    for (_, last), (first, _) in itertools.pairwise(rows):
        assert first == last + 1, f"segments end at {last} and go on at {first}"


def wait_until_encoded(panel: Panel, sequence: int, *, seconds: float = 60) -> None:
    until(
        lambda: panel.do(acts.rows, sql="SELECT coalesce(max(last), 0) FROM publish_segment")[0][0] >= sequence,
        seconds=seconds,
        what=f"a segment with sequence {sequence}",
    )


def publisher_pid(stack: Stack) -> int:
    until(lambda: stack.supervisor.pid("publish") is not None, seconds=30, what="a publish worker")
    pid = stack.supervisor.pid("publish")
    assert pid is not None
    return pid


def points_of_a_step(stack: Stack, panel: Panel, kinds: Sequence[str]) -> list[Point]:
    """Return all crash points of these kinds in the publish worker during one edit."""

    def operation() -> None:
        wait_until_encoded(panel, edit(panel))

    calls = crash.calls_during([publisher_pid(stack)], kinds, operation)
    return crash.points_of(calls)


def kill_publisher_at(stack: Stack, panel: Panel, point: Point) -> bool:
    """Make one edit and kill the publisher at the point. Wait until it is back, and return True if it died."""
    pid = publisher_pid(stack)
    sequence = 0

    def operation() -> None:
        nonlocal sequence
        sequence = edit(panel)

    died = crash.kill_at(pid, point, operation, seconds=5)
    if died:
        stack.supervisor.wait_for_another("publish", than=pid, seconds=60)
    wait_until_encoded(panel, sequence)
    return died


def kill_author_at(panels: Panels, point: Point) -> bool:
    """Make one edit in a process that is killed at the point, in or near its transaction. Return True if it died."""
    try:
        with crash.at_call([panels.test.pid], point):
            edit(panels.test)
    except PanelGone:
        return True
    return False


@pytest.mark.row(3)
def test_who_publishes_or_encodes_may_be_killed_at_every_statement(
    faulty: Stack, panels: Panels, zone: str, new_checker: NewChecker, run: Run
) -> None:
    edit(panels.test)
    author = crash.points_of(crash.calls_during([panels.test.pid], ["sendto"], lambda: edit(panels.test)))
    encoder = points_of_a_step(faulty, panels.test, PUBLISHER_CALLS)
    with new_checker(edits_per_second=3) as checker:
        deaths = [
            kill_author_at(panels, point) for point in choose(author, run.few(3, 1_000), seed=run.seed) * run.times
        ]
        deaths += [
            kill_publisher_at(faulty, panels.test, point)
            for point in choose(encoder, run.few(4, 1_000), seed=run.seed) * run.times
        ]
    assert any(deaths)
    checker.judge()
    assert_chain_is_complete(panels.test)


@pytest.mark.row(6)
def test_a_publisher_killed_while_it_stores_a_segment_leaves_no_half_of_it(
    faulty: Stack, panel: Panel, zone: str, new_checker: NewChecker, run: Run
) -> None:
    edit(panel)
    points = points_of_a_step(faulty, panel, UPLOAD_CALLS)
    with new_checker(edits_per_second=3) as checker:
        chosen = choose(points, run.few(4, 1_000), seed=run.seed + 6) * run.times
        deaths = [kill_publisher_at(faulty, panel, point) for point in chosen]
        assert any(deaths)
    checker.judge()
    assert_chain_is_complete(panel)
    for name, size in panel.do(acts.rows, sql="SELECT object_name, size FROM publish_segment WHERE NOT damaged"):
        path = faulty.directory / "panel" / "segments" / name
        assert path.stat().st_size == size, f"{name} is not whole"


@pytest.mark.row(4)
def test_a_publisher_that_lost_its_lock_while_it_slept_cannot_fork_the_log(
    faulty: Stack, panels: Panels, zone: str, new_checker: NewChecker
) -> None:
    panel = panels.test
    sleeper = publisher_pid(faulty)
    # The process is stopped within a step: the object is stored, but the row that activates it is missing.
    with crash.at_call([sleeper], Point("fsync", 1), sig="SIGSTOP") as trace:
        sequence = edit(panel)
        until(lambda: crash.is_stopped(trace), seconds=30, what="the publisher asleep")
    try:
        before = panel.do(acts.rows, sql="SELECT coalesce(max(last), 0) FROM publish_segment")[0][0]
        assert before < sequence
        # A lost network has this effect after its keepalives: the session ends and releases its lock.
        panel.do(
            acts.rows,
            sql="SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'dnspanel-publish-log'",
        )
        later = edit(panel)
        until(lambda: panel.do(acts.encode_here) is None, seconds=60, what="a second publisher at the head")
        wait_until_encoded(panel, later)
    finally:
        crash.wake(sleeper)
    with new_checker() as checker:
        checker.more(20)
    checker.judge()
    assert_chain_is_complete(panel)


@pytest.mark.row(5)
def test_a_long_transaction_holds_up_nobody_and_loses_nothing(
    faulty: Stack, panels: Panels, zone: str, new_checker: NewChecker
) -> None:
    with new_checker() as checker, Panel(faulty) as slow:
        done: list[int] = []
        long = threading.Thread(
            target=lambda: done.append(slow.do(acts.change_slowly, zone=ZONE, stamp='"slow"', seconds=3.0)["sequence"])
        )
        long.start()
        began = time.monotonic()
        checker.more(20, seconds=30)
        passed = panels.test.do(acts.positions)["head"]
        assert long.is_alive() or time.monotonic() - began > 3, "others had to wait for the long transaction"
        long.join(60)
        assert done, "the long transaction was not published"
        assert done[0] > passed - 20
        checker.more(10)
    checker.judge()
    assert_chain_is_complete(panels.test)
