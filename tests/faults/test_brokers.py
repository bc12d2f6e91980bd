"""Rows 19 to 21: Redis is stopped, emptied or full, and tasks run twice. Wake-ups may be lost, edits may not."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from dnspanel.demo.supervision import procfile
from tests.faults import acts
from tests.faults.conftest import NewChecker, Run, stopped
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults

# The delay of a lost wake-up; times four for a slow machine.
POLL_SECONDS = 5.0 * 4


def client(stack: Stack) -> "redis.Redis":
    return redis.Redis.from_url(stack.stores.redis_url, socket_timeout=5)


def seconds_until_everywhere(panel: Panel, sequence: int) -> float:
    """Wait until the panel displays all nodes at this sequence. Return the seconds waited."""

    def there() -> bool:
        return all(node[1] >= sequence for node in panel.do(acts.positions)["nodes"].values())

    return until(there, seconds=60, what=f"sequence {sequence} at every node")


def edit(panel: Panel, zone: str) -> int:
    return int(panel.do(acts.change, zone=zone, values={f"www.{zone} TXT": f'"{time.monotonic_ns()}"'})["sequence"])


@pytest.fixture
def zone(panel: Panel, faulty: Stack) -> Iterator[str]:
    name = f"broker-{time.time_ns()}.test."
    panel.do(acts.create_zone, name=name)
    yield name
    panel.do(acts.delete_zone, name=name)


@contextmanager
def no_memory(stack: Stack) -> Iterator[None]:
    """Make Redis refuse all writes inside the block, by a memory limit of one byte without eviction."""
    with client(stack) as server:
        before = server.config_get("maxmemory")["maxmemory"]
        server.config_set("maxmemory", "1")
        try:
            yield
        finally:
            server.config_set("maxmemory", before)


@pytest.mark.row(19)
@pytest.mark.parametrize("fault", ["stopped", "flushed", "full"])
def test_without_the_channel_of_hints_nothing_is_lost(
    fault: str, faulty: Stack, panel: Panel, zone: str, new_checker: NewChecker
) -> None:
    with new_checker() as checker:
        checker.more(10)
        if fault == "flushed":
            for _ in range(5):
                with client(faulty) as server:
                    server.flushall()
                checker.more(5)
        else:
            with stopped(faulty, "redis") if fault == "stopped" else no_memory(faulty):
                checker.more(20)
                # Without messages, the workers look for work themselves.
                assert seconds_until_everywhere(panel, edit(panel, zone)) < POLL_SECONDS
        sequence = edit(panel, zone)
        assert seconds_until_everywhere(panel, sequence) < POLL_SECONDS
    checker.judge()
    assert max(checker.silent.values()) < 10, f"a name server was silent: {checker.silent}"


@pytest.mark.row(20)
def test_a_flushed_broker_with_tasks_under_way_ends_in_the_same_state(
    faulty: Stack, panel: Panel, new_checker: NewChecker, run: Run
) -> None:
    with new_checker(edits_per_second=100) as checker:
        for _ in range(run.times * run.few(15, 100)):
            with client(faulty) as server:
                server.flushall()
            checker.more(2)
    checker.judge()


@contextmanager
def second_worker(stack: Stack, name: str) -> Iterator[None]:
    """Run a second worker on the same queue, which takes half of the tasks."""
    command = procfile()[name].replace(f"{name}@localhost", f"{name}2@localhost")
    log = stack.supervisor.logs / f"{name}2.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*unprivileged.prefix(), "setpriv", "--pdeathsig=KILL", "--", "sh", "-c", f"exec {command}"],
            env=stack.env,
            cwd=unprivileged.CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        until(lambda: "ready" in log.read_text(), seconds=60, what=f"a second {name} worker")
        yield
    finally:
        process.kill()
        process.wait()
        log.unlink()


@pytest.mark.row(21)
def test_a_task_that_runs_twice_at_once_has_one_result(
    faulty: Stack, panel: Panel, new_checker: NewChecker, run: Run
) -> None:
    with second_worker(faulty, "publish"), second_worker(faulty, "push"), new_checker(edits_per_second=100) as checker:
        wakes: list[Callable[[], object]] = [lambda: panel.do(acts.wake_publisher)]
        wakes += [lambda name=name: panel.do(acts.wake_node, name=name) for name in faulty.node_names]  # type: ignore[misc]
        for _ in range(run.times * run.few(20, 200)):
            for wake in wakes * 2:
                wake()
            checker.more(1)
    checker.judge()
    rows = panel.do(
        acts.rows, sql="SELECT first, count(*) FROM publish_segment GROUP BY schema, epoch, first HAVING count(*) > 1"
    )
    assert rows == []
