"""The processor time of a test run: the CPU seconds of each file and family of tests.

Each test process measures its own CPU time, that of ended children, and that of running processes below it (a stack, a
browser). Time since the previous test counts for the next one. The reporting process adds up the numbers, writes
`var/test/last-run.json` and prints a table, which `tests/budgets.py` compares with the budgets.

Machines differ in speed, and a busy machine is slower than an idle one. So each test process repeats a short loop
during the run. The median of its times shows how fast the processors were.
"""

import contextlib
import json
import os
import statistics
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import budgets
from tests.beside import PLUGIN, Beside
from tests.handed_files import HandedFile
from tests.run_results import report_result, runs_everything

TICKS = os.sysconf("SC_CLK_TCK")
# Rows of the table that are not families of tests.
COLLECTION, STORES, REST = "start and collection", "PostgreSQL and Redis", "everything else"
# A test process repeats the loop after this number of seconds.
LOOP_EVERY = 30.0


@dataclass(slots=True)
class Used:
    """The resources that a file's tests used: CPU seconds, elapsed seconds, and the number of tests."""

    cpu: float = 0.0
    wall: float = 0.0
    tests: int = 0

    def add(self, other: "Used") -> None:
        self.cpu += other.cpu
        self.wall += other.wall
        self.tests += other.tests


@dataclass(slots=True)
class Measured:
    """The measurements of one process or of a whole run: use by file or row, and the times of the loop."""

    used: dict[str, Used] = field(default_factory=dict)
    loops: list[float] = field(default_factory=list)

    def add(self, name: str, used: Used) -> None:
        self.used.setdefault(name, Used()).add(used)

    def merge(self, other: "Measured") -> None:
        for name, used in other.used.items():
            self.add(name, used)
        self.loops += other.loops

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Measured":
        return cls(used={name: Used(**used) for name, used in values["used"].items()}, loops=values["loops"])


def loop_seconds() -> float:
    """Return the CPU seconds of a fixed piece of work that resembles the work of tests."""
    start = time.process_time()
    for turn in range(20):
        names = {f"host{number}.example{turn}.test.": [number, str(number * turn)] for number in range(400)}
        text = json.dumps(sorted(names.items(), key=lambda pair: pair[0].rpartition(".")[0][::-1]))
        assert len(json.loads(text)) == len([line for line in text.split("], [") if "test" in line or line])
    return time.process_time() - start


def cpu_below(pid: int, *, without: int | None = None) -> float:
    """Return the CPU seconds of the running processes below `pid`, including those of their ended children."""
    total = 0.0
    for child in _children(pid):
        if child != without:
            total += _cpu_of(child) + cpu_below(child)
    return total


def _children(pid: int) -> Iterator[int]:
    # A process may end while its children are read.
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                yield from map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())


def _cpu_of(pid: int) -> float:
    try:
        # The name of the program, in parentheses, can contain spaces.
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, values[11:15])) / TICKS


def cpu_now() -> float:
    """Return the CPU seconds of this process and of all processes that it started."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system + cpu_below(os.getpid())


class Meter:
    """A pytest plugin that measures the tests of one process."""

    def __init__(self) -> None:
        self.measured = Measured()
        self._started = time.monotonic()
        self._cpu = 0.0
        self._loop_due = 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self._take(COLLECTION, wall=time.monotonic() - self._started, tests=0)

    @pytest.hookimpl(trylast=True)
    def pytest_prepared(self, seconds: float) -> None:
        self._take(COLLECTION, wall=seconds, tests=0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if isinstance(item, HandedFile):  # the tests of the file arrive one by one
            return (yield)
        start = time.monotonic()
        if start >= self._loop_due:
            self._loop_due = start + LOOP_EVERY
            self.measured.loops.append(loop_seconds())
        result = yield
        self._take(item.nodeid.partition("::")[0], wall=time.monotonic() - start, tests=1)
        return result

    def finish(self) -> Measured:
        self._take(REST, wall=0.0, tests=0)
        return self.measured

    def _take(self, name: str, *, wall: float, tests: int) -> None:
        """Add the resources used since the last call to this name."""
        now = cpu_now()
        # The time of a process is lost if it left its parent, or if nobody waited for it.
        self.measured.add(name, Used(cpu=max(0.0, now - self._cpu), wall=wall, tests=tests))
        self._cpu = now


class Reporter:
    """A plugin of the reporting process that sums, stores and compares a run's numbers, and prints a table."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.measured = Measured()
        self.lost: list[str] = []
        self.run: dict[str, Any] = {}
        self._started = time.monotonic()
        self._stores = _cpu_of_stores()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        output = getattr(node, "workeroutput", None) or {}
        if error is None and "processors" in output:
            self.measured.merge(Measured.from_json(output["processors"]))
        else:
            self.lost.append(str(node.gateway.id))

    # Last, after the command beside the tests has ended.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        self._finish(session)
        return result

    def _finish(self, session: pytest.Session) -> None:
        meter: Meter | None = self.config.pluginmanager.get_plugin(METER)
        if meter is not None:  # the run has only one process
            self.measured.merge(meter.finish())
        else:
            self.measured.add(REST, Used(cpu=time.process_time()))
        self.measured.add(STORES, Used(cpu=max(0.0, _cpu_of_stores() - self._stores)))
        beside: Beside | None = self.config.pluginmanager.get_plugin(PLUGIN)
        if beside is not None:
            self.measured.add(" ".join(beside.command), Used(cpu=beside.cpu))
        limits = budgets.read()
        self.run = summarize(self.measured, rows=limits.rows, wall=time.monotonic() - self._started)
        everything = runs_everything(self.config) and not self.lost
        self.run |= {
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "default": everything and not self.config.option.full,
            "full": bool(self.config.option.full),
            "seed": self.config.option.sample_seed,
            "lost": self.lost,
        }
        if runs_everything(self.config):
            budgets.LAST_RUN.parent.mkdir(parents=True, exist_ok=True)
            budgets.LAST_RUN.write_text(json.dumps(self.run, indent=1) + "\n")
        if self.run["default"]:
            complaints = budgets.complaints(self.run, limits)
            report_result(session, "tests/budgets.toml", complaint="\n".join(complaints))

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.run and (runs_everything(self.config) or self.config.option.cpu):
            terminalreporter.section("CPU seconds")
            for line in budgets.table(self.run, budgets.read()):
                terminalreporter.line(line)


def summarize(measured: Measured, *, rows: list[budgets.Row], wall: float) -> dict[str, Any]:
    """Return the content of `last-run.json`: the run, its families and its files."""
    families: dict[str, Used] = {}
    for name, used in measured.used.items():
        families.setdefault(budgets.family_of(name, rows), Used()).add(used)
    by_cpu = sorted(measured.used.items(), key=lambda pair: -pair[1].cpu)
    return {
        "wall": round(wall, 1),
        "cpu": round(sum(used.cpu for used in measured.used.values()), 1),
        "tests": sum(used.tests for used in measured.used.values()),
        "loop": round(statistics.median(measured.loops), 5) if measured.loops else None,
        "families": {name: _rounded(used) for name, used in sorted(families.items(), key=lambda pair: -pair[1].cpu)},
        "files": {name: _rounded(used) for name, used in by_cpu},
    }


def _rounded(used: Used) -> dict[str, float]:
    return {"cpu": round(used.cpu, 2), "wall": round(used.wall, 2), "tests": used.tests}


def _cpu_of_stores() -> float:
    """Return the CPU seconds of the stores, which `python -m dnspanel.demo stores` starts beside pytest."""
    return cpu_below(os.getppid(), without=os.getpid())


METER = "processors-meter"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("dnspanel").addoption("--cpu", action="store_true", help="print the CPU seconds of these tests")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Meter(), METER)
    if not is_worker:
        config.pluginmanager.register(Reporter(config), "processors-reporter")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass the measurements of a pytest-xdist process to the reporting process."""
    meter: Meter | None = session.config.pluginmanager.get_plugin(METER)
    output = getattr(session.config, "workeroutput", None)
    if output is not None and meter is not None:
        output["processors"] = meter.finish().to_json()
