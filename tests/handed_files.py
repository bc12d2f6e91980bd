"""Collection of a test file's tests in the process that runs them, immediately before they run.

Normally every process of pytest-xdist imports and collects all test files, and then tests are distributed by number.
Here each process collects one item per file without reading the file, and files are distributed. The process that gets
a file collects its tests and runs them. So each file is imported, and its asserts are rewritten, only once in a run.

pytest-xdist itself collects if a run chooses tests by more than files (`-k`, `-m`, `PATH::NAME`).
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
    """The hooks that this module offers to other plugins of the tests."""

    @pytest.hookspec
    def pytest_prepared(self, seconds: float) -> None:
        """Called after preparations that are not charged to a test, such as the collection of a file."""


class HandedFile(pytest.Item):
    """All tests of a file, as an item that pytest-xdist can hand out."""

    running: pytest.Item | None = None

    @property
    def nodeid(self) -> str:
        # pytest-xdist requires that a report is about the item that it distributed.
        return super().nodeid if self.running is None else self.running.nodeid

    def runtest(self) -> None:
        """Do nothing. Running the item tears down fixtures of earlier files, even if this file has no tests to run."""

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.nodeid


class UnreadFile(pytest.File):
    """A test file that is not imported yet. It is in its folder's node, so that pytest tears down fixtures as usual."""

    def collect(self) -> Iterable[HandedFile]:
        yield HandedFile.from_parent(self, name=self.name, nodeid=self.nodeid)


class HandedFiles:
    """The pytest plugin that distributes files instead of tests."""

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
        """Return the tests of the file, collected, deselected and ordered as by pytest itself."""
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
    """Tear down fixtures that the next file does not need, and report errors of the teardown."""
    for report in runner.runtestprotocol(item, log=False, nextitem=nextitem):
        if report.failed:
            item.ihook.pytest_runtest_logreport(report=report)


def hands_out_files(config: pytest.Config) -> bool:
    """Return True if the run has several processes and selects whole files only."""
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
