"""Parts of a running stack die or forget while edits go on; afterwards every promise must hold.

Each outage hits in the middle of a run of edits whose record says what was
acknowledged. What must hold is in `promises`.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import dns.exception
import pytest
import redis

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.stack import ask, until, wait_until_in_sync

pytestmark = pytest.mark.faults

EDITS = 60
STEADY = "test101.org."


class Watch:
    """Asks every node for a zone that is never edited; counts answers that must not be."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.wrong: list[str] = []
        self.answered = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            for node in self.stack.nodes:
                try:
                    answer = ask(node, f"www.{STEADY}", timeout=0.5)
                except (dns.exception.Timeout, OSError):
                    continue  # a killed server does not answer; a wrong answer is another matter
                self.answered += 1
                if answer.rdata != ("1.1.1.1", "42.42.42.42"):
                    self.wrong.append(f"{node.name}: {answer}")


class Edits:
    """A run of random edits in a process of its own, with its record; ended with the block at the latest."""

    def __init__(self, stack: Stack, *, seed: int, edits: int = EDITS) -> None:
        self.stack = stack
        self.record = stack.directory / f"edits-{seed}.jsonl"
        unprivileged.write(self.record, "")
        what = ["--seed", str(seed), "--edits", str(edits), "--record", str(self.record)]
        self._process = subprocess.Popen(
            [*unprivileged.prefix(), sys.executable, "-m", "tests.faults.traffic", *what],
            env=stack.env,
            cwd=unprivileged.CHECKOUT,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Edits":
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.communicate()

    def until_made(self, number: int) -> None:
        """Wait until this many edits were acknowledged."""
        until(lambda: self.made() >= number or self._process.poll() is not None, seconds=60, what=f"{number} edits")

    def made(self) -> int:
        return len(self.record.read_text().splitlines())

    def finish(self) -> None:
        """Wait for the last edit; every single one must have been accepted."""
        _, errors = self._process.communicate(timeout=120)
        assert self._process.returncode == 0, errors


def assert_promises_hold(stack: Stack, record: Path) -> None:
    done = subprocess.run(
        [*unprivileged.prefix(), sys.executable, "-m", "tests.faults.promises", "--record", str(record)],
        env=stack.env,
        cwd=unprivileged.CHECKOUT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def kill_now(stack: Stack, name: str) -> None:
    """Kill the process; one that was just killed has to be there again first."""

    def killed() -> bool:
        try:
            stack.supervisor.kill(name)
        except ProcessLookupError:
            return False
        return True

    until(killed, seconds=30, what=f"{name} to kill")


def kill(name: str) -> Callable[[Stack], None]:
    def outage(stack: Stack) -> None:
        kill_now(stack, name)

    outage.__name__ = f"kill_{name}"
    return outage


def flush_redis(stack: Stack) -> None:
    redis.Redis.from_url(stack.stores.redis_url).flushall()


def kill_every_process_of_the_panel(stack: Stack) -> None:
    for name in ("publish", "push", "beat", "collector", "update", "web"):
        kill_now(stack, name)


OUTAGES: list[Callable[[Stack], None]] = [
    flush_redis,
    kill("redis"),
    kill("publish"),
    kill("push"),
    kill("ns1-agent"),
    kill("ns2-pdns"),
    kill_every_process_of_the_panel,
]


@pytest.fixture(autouse=True)
def _in_sync(stack: Stack) -> None:
    wait_until_in_sync(stack)


@pytest.fixture(scope="module")
def seeds() -> Iterator[int]:
    """A new seed for each run of edits, so that their zones do not meet."""
    return iter(range(1, 1000))


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.__name__)
def test_everything_converges_after(outage: Callable[[Stack], None], stack: Stack, seeds: Iterator[int]) -> None:
    with Watch(stack) as watch, Edits(stack, seed=next(seeds)) as edits:
        for made in (15, 30, 45):
            edits.until_made(made)
            outage(stack)
        edits.finish()
        assert_promises_hold(stack, edits.record)
    assert watch.wrong == []
    assert watch.answered > 0


def test_edits_are_saved_with_everything_else_dead(stack: Stack, seeds: Iterator[int]) -> None:
    dead = ["redis", "publish", "push", "beat", "collector", *(f"{name}-agent" for name in stack.node_names)]
    stack.supervisor.stop(dead)
    try:
        with Edits(stack, seed=next(seeds), edits=20) as edits:
            edits.finish()
        answers = [ask(node, f"www.{STEADY}") for node in stack.nodes]
    finally:
        stack.supervisor.start(dead)
    assert [answer.rdata for answer in answers] == [("1.1.1.1", "42.42.42.42")] * len(stack.nodes)
    assert_promises_hold(stack, edits.record)


def test_a_node_that_restarts_without_the_panel_serves_what_it_had(stack: Stack) -> None:
    panel = ["web", "publish", "push", "beat", "collector", "update"]
    stack.supervisor.stop(panel)
    try:
        for name in ("ns3-agent", "ns3-pdns"):
            kill_now(stack, name)
        node = stack.nodes[2]

        def serves() -> bool:
            try:
                return ask(node, f"www.{STEADY}", timeout=0.2).rdata == ("1.1.1.1", "42.42.42.42")
            except (dns.exception.Timeout, OSError):
                return False

        until(serves, seconds=10, what="ns3 serves again")
    finally:
        stack.supervisor.start(panel)
