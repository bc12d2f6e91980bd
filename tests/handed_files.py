"""Collect the tests of a file in the one process that runs them, shortly before they run.

pytest-xdist lets each of its processes import and collect all test files, and then hands out tests by their number.
Here the processes collect one item for each file, without a look into the file, and hand out files. The process that
gets a file collects its tests and runs them. So each file is imported, and its asserts are rewritten, once in a run.

Runs that choose tests by more than files (`-k`, `-m`, `PATH::NAME`) are collected by pytest-xdist's way.
"""

import gc
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest import runner

from tests.run_results import chooses_tests


class Hooks:
    """What other plugins of the tests can listen to."""

    @pytest.hookspec
    def pytest_prepared(self, seconds: float) -> None:
        """Called when a process has done what tests need, such as collecting a file, and what no test shall pay for."""


class HandedFile(pytest.Item):
    """All tests of a file, as an item that pytest-xdist can hand out."""

    running: pytest.Item | None = None

    @property
    def nodeid(self) -> str:
        # pytest-xdist insists that a report is about the item that it handed out.
        return super().nodeid if self.running is None else self.running.nodeid

    def runtest(self) -> None:
        """Do nothing: a file without tests of this run still tears down what only files before it used."""

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.nodeid


class UnreadFile(pytest.File):
    """A test file that was not imported yet, in its folder: pytest tears down what the next item is not below."""

    def collect(self) -> Iterable[HandedFile]:
        yield HandedFile.from_parent(self, name=self.name, nodeid=self.nodeid)


class HandedFiles:
    """Hand out files in place of tests."""

    def __init__(self) -> None:
        self._reads_files = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> pytest.Collector | None:
        return None if self._reads_files else UnreadFile.from_parent(parent, path=module_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not isinstance(item, HandedFile):
            return None
        start = time.monotonic()
        tests = self._collect(item)
        item.config.hook.pytest_prepared(seconds=time.monotonic() - start)
        if tests:
            _run(item, tests, nextitem=nextitem)
        else:
            _pass_over(item, nextitem=nextitem)
        return True

    def _collect(self, item: HandedFile) -> list[pytest.Item]:
        """Return the tests of the file as pytest itself would collect, leave out and order them."""
        file, session = item.parent, item.session
        assert isinstance(file, UnreadFile)
        self._reads_files = True
        gc.disable()  # as in `tests.workers`
        try:
            module = item.ihook.pytest_pycollect_makemodule(module_path=item.path, parent=file.parent)
            tests = list(session.genitems(module))
            item.config.hook.pytest_collection_modifyitems(session=session, config=item.config, items=tests)
        finally:
            gc.enable()
            self._reads_files = False
        return tests


def _run(item: HandedFile, tests: Sequence[pytest.Item], *, nextitem: pytest.Item | None) -> None:
    try:
        for test, following in zip(tests, [*tests[1:], nextitem], strict=True):
            item.running = test
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if test.session.shouldfail or test.session.shouldstop:
                break
    finally:
        item.running = None


def _pass_over(item: HandedFile, *, nextitem: pytest.Item | None) -> None:
    """Tear down what the next file does not need. Report what fails there."""
    for report in runner.runtestprotocol(item, log=False, nextitem=nextitem):
        if report.failed:
            item.ihook.pytest_runtest_logreport(report=report)


def hands_out_files(config: pytest.Config) -> bool:
    """Return True for a run in several processes that names no tests within files."""
    return (
        bool(getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"))
        and not chooses_tests(config)
        and not any("::" in argument for argument in config.args)
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") and hands_out_files(config):
        config.pluginmanager.register(HandedFiles(), "handed-files")
