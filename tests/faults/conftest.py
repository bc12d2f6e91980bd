"""Fixtures for the rows of the fault table: one running stack, its checker, and the extent of the tests."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts
from tests.faults.checker import Checker, Panels, Server, is_at_head, servers_of
from tests.faults.hosts import Host
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.full import sample_of
from tests.stack import new_stack, shared_stacks, until


@dataclass(frozen=True, slots=True)
class Run:
    """The extent of the tests: from environment variables for the benchmark, else short for `./dev test`."""

    complete: bool  # every crash point, full durations and sizes
    times: int
    seed: int

    def few(self, shortened: int, complete: int) -> int:
        """Return the first number for `./dev test`, and the second for `./dev bench faults`."""
        return complete if self.complete else shortened


# `./dev test --full` runs one row of each kind, and `./dev test` a sample of these. The benchmark runs all rows, as an
# environment variable says.
SHORTENED = (1, 4, 5, 8, 13, 16, 17, 20, 35, 37)
SAMPLED = 1


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(number): the row of the fault table that the test automates")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "FAULTS_WHOLE" in os.environ:
        return
    rows: Sequence[int] = SHORTENED
    if config.option.names_no_path:
        rows = sample_of(config).some(SHORTENED, SAMPLED, reason="rows of the fault table")
    left_out = [item for item in items if not {m.args[0] for m in item.iter_markers("row")} <= {*rows}]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def run() -> Run:
    return Run(
        complete=os.environ.get("FAULTS_WHOLE") == "1",
        times=int(os.environ.get("FAULTS_TIMES", "1")),
        seed=int(os.environ.get("FAULTS_SEED", "1")),
    )


def durable_stack(name: str) -> Stack:
    """Return a stack without zones whose PostgreSQL syncs commits to disk, so that they survive a kill."""
    return new_stack(name, sample_zones=False, traffic=False, durable=True)


@pytest.fixture(scope="session")
def shared_stack() -> Iterator[Stack]:
    with durable_stack("faults") as running:
        shared_stacks.append(running)
        yield running


@pytest.fixture(scope="session")
def panels(shared_stack: Stack) -> Iterator[Panels]:
    with Panel(shared_stack) as test, Panel(shared_stack) as edits, Panel(shared_stack) as watch:
        yield Panels(test, edits, watch)


@pytest.fixture
def panel(panels: Panels) -> Panel:
    """Return the panel process for the test's own acts."""
    return panels.test


@pytest.fixture
def faulty(shared_stack: Stack, panels: Panels) -> Stack:
    """Return the stack for faults, after retiring earlier tests' nodes and waiting until the fleet is in sync."""
    for name in panels.test.do(acts.positions)["nodes"]:
        if name not in shared_stack.server_names:  # left by a test that failed to retire it
            panels.test.do(acts.retire, name=name)
    wait_until_in_sync(panels.test)
    return shared_stack


def wait_until_in_sync(panel: Panel, *, seconds: float = 120) -> None:
    """Wait until all nodes of the fleet are at the head. Raise TimeoutError if that takes longer."""

    def in_sync() -> bool:
        found = panel.do(acts.positions)
        return all(is_at_head(found, name) for name in found["nodes"])

    until(in_sync, seconds=seconds, what="every node at the head of the log")


@pytest.fixture(scope="session")
def seeds(run: Run) -> Iterator[int]:
    """Yield a different seed for each checker of a run, so that their zones don't collide."""
    return iter(range(run.seed * 1_000, (run.seed + 1) * 1_000))


NewChecker = Callable[..., Checker]


@pytest.fixture
def new_checker(faulty: Stack, panels: Panels, seeds: Iterator[int]) -> Iterator[NewChecker]:
    """Return a function that creates a checker for the stack's three nodes and the given servers."""
    made: list[Checker] = []

    def make(*servers: Server, panels: Panels = panels, **options: float) -> Checker:
        made.append(Checker([*servers_of(faulty), *servers], panels, seed=next(seeds), **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for checker in made:
        checker.stop()


@pytest.fixture
def host() -> Iterator[Host]:
    """Create a host in a network namespace."""
    _need_root()
    with Host() as made:
        yield made


@pytest.fixture
def member(faulty: Stack, panel: Panel, seeds: Iterator[int]) -> Iterator[Member]:
    """Add a node on this machine to the fleet."""
    with Member(faulty, panel, f"m{next(seeds)}") as node:
        node.wait_until_in_sync()
        yield node


@pytest.fixture
def far_member(faulty: Stack, panel: Panel, host: Host, seeds: Iterator[int]) -> Iterator[Member]:
    """Add a node on a separate host to the fleet."""
    with Member(faulty, panel, f"far{next(seeds)}", host=host) as node:
        node.wait_until_in_sync()
        yield node


def _need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: network namespaces, loop devices")


@pytest.fixture
def root() -> None:
    """Skip the test unless it runs as root, which can switch to other users."""
    _need_root()


@pytest.fixture
def need_strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")


@contextlib.contextmanager
def stopped(stack: Stack, *names: str) -> Iterator[None]:
    """Stop these processes of the stack inside the block."""
    stack.supervisor.stop(names)
    try:
        yield
    finally:
        stack.supervisor.start(names)
