"""Which process of a test run takes which tests.

Two kinds of work share the machine: tests that compute, and tests that wait for a stack of real processes. Each
process of pytest-xdist belongs to one lane and takes the other lane's work only when its own is done.

A unit of work is what must stay in one process: the tests of a file, or all tests that use one running stack.
"""

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.run_results import runs_everything
from tests.stack import prepared_stack
from tests.workers import FOLDER

STACK, FAULTS, ORACLE, SOURCE = "stack", "faults", "oracle", "source"
FOLDERS = {"tests/clients": STACK, "tests/flow": STACK, "tests/faults": FAULTS, "tests/oracle": ORACLE}
# Elsewhere, and use the stack too; or read the syntax trees of all modules, which one process parses once.
JOINED = {
    "tests/dnspanel/demo/test_stack.py": STACK,
    "tests/docs/test_documents.py": SOURCE,
    "tests/test_bounds.py": SOURCE,
    "tests/test_house.py": SOURCE,
    "tests/test_languages.py": SOURCE,
    "tests/test_regular_expressions.py": SOURCE,
}
OWN_STACK = (
    "tests/faults/test_import_kills.py",
    "tests/flow/test_alerts.py",
    "tests/flow/test_bootstrap.py",
    "tests/flow/test_join.py",
    "tests/flow/test_mixed_fleet.py",
    "tests/flow/test_restored_panel.py",
    "tests/flow/test_restored_rollovers.py",
    "tests/flow/test_stages.py",
)
NO_STACK = ("tests/faults/test_harness.py", "tests/faults/test_history.py", "tests/faults/test_table.py")
ALONE = {*OWN_STACK, *NO_STACK}
# The processes of this lane: gw0 and gw1. All others compute.
WAITING = 2


def unit_of(nodeid: str) -> str:
    """The unit of work that the test belongs to."""
    path = nodeid.partition("::")[0]
    if path in ALONE:
        return path
    return JOINED.get(path) or FOLDERS.get(str(PurePosixPath(path).parent), path)


def waits(unit: str) -> bool:
    """True if the unit's tests wait for processes of a stack more than they compute."""
    return unit in {STACK, FAULTS} or unit.startswith(("tests/flow/", "tests/faults/test_import_kills"))


def order(unit: str) -> int:
    """Units with a lower number begin earlier: a long one that begins last is waited for by everybody."""
    return [STACK, FAULTS, ORACLE].index(unit) if unit in {STACK, FAULTS, ORACLE} else 3 if waits(unit) else 4


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole units, each to a process of its lane where there is one."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        of_its_lane = (unit for unit in self.workqueue if waits(unit) == _is_waiting(node.gateway.id))
        unit = next(of_its_lane, None)
        if unit is not None:
            self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)


def _is_waiting(worker: str) -> bool:
    return int(worker.removeprefix("gw")) < WAITING


# What pytest makes of the asserts of all test files, 20 seconds of a processor in a new checkout, is kept beside them:
# one process makes it, a second one prepares the stacks, and the others wait for the first.
FIRST, PREPARES = "gw0", "gw1"
COLLECTED = FOLDER.parent / "collected"
COLLECTION_SECONDS = 180


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        COLLECTED.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker == PREPARES and runs_everything(session.config):
        with contextlib.suppress(Exception):  # the first test that wants one tries again, and says what is wrong
            prepared_stack()
    if worker not in {FIRST, None}:
        deadline = time.monotonic() + COLLECTION_SECONDS
        while not COLLECTED.exists() and time.monotonic() < deadline:
            time.sleep(0.2)
    try:
        return (yield)
    finally:
        if worker == FIRST:
            COLLECTED.touch()


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    config.option.loadscopereorder = False  # the collection is in order already
    return Lanes(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Whoever computes leaves the processor to those whose answers somebody waits for."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None and not _is_waiting(worker):
        os.nice(max(0, 5 - os.nice(0)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a unit follow each other, long units first; otherwise the order is pytest-randomly's."""
    first_seen: dict[str, int] = {}
    for item in items:
        first_seen.setdefault(unit_of(item.nodeid), len(first_seen))
    items.sort(key=lambda item: (order(unit_of(item.nodeid)), first_seen[unit_of(item.nodeid)]))
