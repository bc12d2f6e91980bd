"""The distribution of tests to the processes of a test run.

Two kinds of work share the machine: tests that compute, and tests that wait for a stack of real processes. Each process
of pytest-xdist belongs to one lane. It runs tests of the other lane only after its own lane is finished.

A unit of work is a group of tests that must stay in one process: those of a file, or those that use the same stack.
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

from tests import budgets
from tests.handed_files import hands_out_files
from tests.run_results import runs_everything

STACK, FAULTS, MACHINES, ORACLE, SOURCE = "stack", "faults", "machines", "oracle", "source"
FOLDERS = {"tests/clients": STACK, "tests/flow": STACK, "tests/faults": FAULTS, "tests/oracle": ORACLE}
# Files in other folders that use the stack, the syntax trees of all modules (a process parses them only once), or the
# folder of package builds and the network of machines (there is only one of each).
JOINED = {
    **{
        f"tests/deploy/test_{name}.py": MACHINES for name in ("agent_upgrade", "package_upgrade", "packages", "release")
    },
    "tests/dnspanel/accounts/test_secret_places.py": SOURCE,
    "tests/dnspanel/demo/test_stack.py": STACK,
    "tests/dnspanel/test_small_cache.py": SOURCE,
    "tests/docs/test_documents.py": SOURCE,
    "tests/test_bounds.py": SOURCE,
    "tests/test_button_texts.py": SOURCE,
    "tests/test_house.py": SOURCE,
    "tests/test_languages.py": SOURCE,
    "tests/test_regular_expressions.py": SOURCE,
    "tests/test_words.py": SOURCE,
}
OWN_STACK = (
    "tests/faults/test_import_kills.py",
    "tests/flow/test_alerts.py",
    "tests/flow/test_bootstrap.py",
    "tests/flow/test_doctor.py",
    "tests/flow/test_fronts.py",
    "tests/flow/test_join.py",
    "tests/flow/test_large_denial.py",
    "tests/flow/test_late_publications.py",
    "tests/flow/test_mixed_fleet.py",
    "tests/flow/test_node_runbooks.py",
    "tests/flow/test_restored_panel.py",
    "tests/flow/test_restored_rollovers.py",
    "tests/flow/test_stages.py",
    "tests/flow/test_upgrades.py",
)
NO_STACK = ("tests/faults/test_harness.py", "tests/faults/test_history.py", "tests/faults/test_table.py")
ALONE = {*OWN_STACK, *NO_STACK}
# Files that take long: those with their own budget, and others that need more than ten CPU seconds.
LONG = frozenset(path for row in budgets.read().rows for path in (row.path, *row.also) if path.endswith(".py")) | {
    "tests/deploy/test_build_context.py",
    "tests/deploy/test_prometheus.py",
    "tests/deploy/test_wheel.py",
    "tests/dnspanel/accounts/test_leaked_master_key.py",
    "tests/dnspanel/api/v2/schema/test_document.py",
    "tests/dnspanel/fleet/dnssec/test_drive.py",
    "tests/dnspanel/zones/dnssec/test_rollover.py",
    "tests/dnspanel/zones/typed/test_rdata_fields.py",
    "tests/replication/agent/test_agent.py",
    "tests/replication/agent/test_signed.py",
    "tests/replication/compile/test_changes.py",
    "tests/replication/compile/test_switch.py",
    "tests/replication/front/test_agent.py",
    "tests/replication/store/test_store.py",
}
# The number of processes in the waiting lane: gw0 and gw1. All others compute.
WAITING = 2


def unit_of(nodeid: str) -> str:
    """Return the unit of work that the test belongs to."""
    path = nodeid.partition("::")[0]
    if path in ALONE:
        return path
    return JOINED.get(path) or FOLDERS.get(str(PurePosixPath(path).parent), path)


def waits(unit: str) -> bool:
    """Return True if the unit's tests wait for processes of a stack more than they compute."""
    return unit in {STACK, FAULTS, MACHINES} or unit.startswith(("tests/flow/", "tests/faults/test_import_kills"))


def order(unit: str) -> int:
    """Return the position of a unit: lower numbers start earlier. Long units start early to shorten the run."""
    joined = [STACK, FAULTS, MACHINES, ORACLE, SOURCE]
    if unit in joined:
        return joined.index(unit)
    return 4 if waits(unit) else 5 if unit in LONG else 6


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that assigns whole units, each to a process of the unit's lane if there is one."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._files_ended = 0

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        of_its_lane = (unit for unit in self.workqueue if waits(unit) == _is_waiting(node.gateway.id))
        unit = next(of_its_lane, None)
        if unit is not None:
            self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # A file counts as one test, so a process that has two is far from done.
        if node.shutting_down or self._pending_of(self.assigned_work[node]) != 2 or not hands_out_files(self.config):
            super()._reschedule(node)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        if hands_out_files(self.config):
            self._estimate_tests(files=len(self.registered_collections[node]))

    def _estimate_tests(self, *, files: int) -> None:
        """Estimate the total number of tests from the finished files, for pytest's percentage."""
        self._files_ended += 1
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal._session.testscollected = terminal.reported_progress * files // self._files_ended


def _is_waiting(worker: str) -> bool:
    return int(worker.removeprefix("gw")) < WAITING


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Prepare the stacks in one process of the waiting lane. The lane's other process waits for that."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None and _is_waiting(worker) and runs_everything(session.config):
        from tests.stack import prepared_stack  # imports Django

        start = time.monotonic()
        with contextlib.suppress(Exception):  # the first test that needs a stack tries again and reports the error
            prepared_stack()
        session.config.hook.pytest_prepared(seconds=time.monotonic() - start)
    return (yield)


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes:
    config.option.loadscopereorder = False  # the collection is already sorted
    return Lanes(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Lower the priority of a process that computes, in favor of tests that wait for answers."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None and not _is_waiting(worker):
        os.nice(max(0, 5 - os.nice(0)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of each unit together and long units first. Otherwise keep pytest-randomly's order."""
    first_seen: dict[str, int] = {}
    for item in items:
        first_seen.setdefault(unit_of(item.nodeid), len(first_seen))
    items.sort(key=lambda item: (order(unit_of(item.nodeid)), first_seen[unit_of(item.nodeid)]))
