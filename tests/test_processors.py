"""The CPU seconds of a run: those of its tests, of processes that tests start, and of the run's own processes."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.budgets import Row
from tests.processors import COLLECTION, Measured, Meter, Used, cpu_below, cpu_now, loop_seconds, summarize
from tests.stack import until

WORK = "import time\nwhile time.process_time() < 0.3: pass\n"


def used_by(act: Callable[[], object]) -> float:
    before = cpu_now()
    act()
    return cpu_now() - before


def test_own_work_and_that_of_ended_children_counts() -> None:
    def work() -> None:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    assert 0.2 <= used_by(work) < 0.5
    assert 0.25 <= used_by(lambda: subprocess.run([sys.executable, "-c", WORK], check=True)) < 1.5


def test_a_child_counts_while_it_runs_and_once() -> None:
    grandchild = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {WORK!r}])\nsys.stdin.read()"
    before = cpu_now()
    with subprocess.Popen([sys.executable, "-c", grandchild], stdin=subprocess.PIPE) as child:
        until(lambda: cpu_now() - before > 0.29, seconds=30, what="the work of the child's child")
        while_it_runs = cpu_now() - before
        child.communicate()
    assert abs(cpu_now() - before - while_it_runs) < 0.25


def test_a_process_that_ended_has_nothing_below_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert cpu_below(child.pid) == 0.0


def test_a_meter_gives_each_file_what_was_used_since_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([4.0, 5.0, 7.5, 7.0])
    monkeypatch.setattr("tests.processors.cpu_now", lambda: next(times))
    meter = Meter()
    meter.pytest_collection_finish()
    for nodeid in ("tests/a.py::test_one", "tests/a.py::test_two"):
        run = meter.pytest_runtest_protocol(type("Item", (), {"nodeid": nodeid})())
        next(run)
        with pytest.raises(StopIteration):
            run.send(True)
    used = meter.finish().used
    assert [used[COLLECTION].cpu, used["tests/a.py"].cpu, used["tests/a.py"].tests] == [4.0, 3.5, 2]
    assert used["everything else"].cpu == 0.0  # the child's time is lost with it
    assert len(meter.measured.loops) == 1


def test_what_processes_hand_over_is_added_up() -> None:
    one = Measured(used={"tests/a.py": Used(1.0, 2.0, 3), "tests/b.py": Used(1.5, 1.5, 1)}, loops=[0.1, 0.3])
    all_of_them = Measured()
    for _ in range(2):
        all_of_them.merge(Measured.from_json(one.to_json()))
    run = summarize(all_of_them, rows=[Row("tests/a.py", ""), Row("tests", "")], wall=4.04)
    assert run["families"] == {
        "tests": {"cpu": 3.0, "wall": 3.0, "tests": 2},
        "tests/a.py": {"cpu": 2.0, "wall": 4.0, "tests": 6},
    }
    assert [*run["files"]] == ["tests/b.py", "tests/a.py"]
    assert (run["wall"], run["cpu"], run["tests"], run["loop"]) == (4.0, 5.0, 8, 0.2)


def test_the_loop_does_some_work_and_not_much() -> None:
    assert 0.001 < loop_seconds() < 1.0
