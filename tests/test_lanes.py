"""Tests are distributed so that all tests with the same stack stay in one process."""

from argparse import Namespace
from pathlib import Path

from tests.lanes import ALONE, FAULTS, FOLDERS, JOINED, LONG, MACHINES, OWN_STACK, STACK, Lanes, order, unit_of, waits

ROOT = Path(__file__).resolve().parents[1]


def test_every_path_that_is_named_exists() -> None:
    assert [path for path in (*ALONE, *JOINED, *FOLDERS, *LONG) if not (ROOT / path).exists()] == []


def test_tests_of_one_stack_are_one_unit_and_others_one_for_each_file() -> None:
    assert (
        unit_of("tests/flow/test_metrics.py::test_a[x::y]") == unit_of("tests/clients/test_lexicon.py::test_b") == STACK
    )
    assert unit_of("tests/faults/test_edits.py::test_a") == FAULTS
    assert unit_of("tests/flow/test_alerts.py::test_a") == "tests/flow/test_alerts.py"
    assert unit_of("tests/dnspanel/zones/test_log.py::test_a") == "tests/dnspanel/zones/test_log.py"
    assert [waits(unit) for unit in (STACK, FAULTS, "tests/flow/test_alerts.py", "tests/dnspanel/x.py")] == [
        True, True, True, False,
    ]  # fmt: skip


def test_what_takes_longest_begins_first() -> None:
    units = (
        "tests/docs/test_a.py",
        "tests/dnspanel/web/test_every_page.py",
        "tests/flow/test_alerts.py",
        FAULTS,
        STACK,
    )
    assert sorted(units, key=order) == [*reversed(units)]


def test_a_file_that_uses_the_shared_stack_is_in_its_unit() -> None:
    users = [
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")
        if "stack: Stack)" in path.read_text() and "def stack(" not in path.read_text()
    ]  # fmt: skip
    own = {path for path in users if "def test" in (ROOT / path).read_text()}
    assert {unit_of(path) for path in own} <= {STACK, FAULTS, *ALONE}


def test_files_that_build_packages_or_boot_machines_are_one_unit() -> None:
    """There is one folder for builds, and one network for machines, so two processes would disturb each other."""
    files = {
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")
        if any(word in path.read_text() for word in ("var/" + "package", "deploy.test_" + "packages"))
    }  # fmt: skip
    assert files == {path for path, unit in JOINED.items() if unit == MACHINES}


class Process:
    """A stand-in for a pytest-xdist process that records the tests sent to it."""

    def __init__(self, name: str) -> None:
        self.gateway = Namespace(id=name)
        self.shutting_down = False
        self.sent: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_a_process_has_the_next_file_and_no_further_one() -> None:
    config = Namespace(
        option=Namespace(numprocesses=2, loadscopereorder=False, tx=["2*popen"]),
        args=["tests"],
        pluginmanager=Namespace(get_plugin=lambda name: None),
        getoption=lambda name: ["2*popen"],
        getvalue=lambda name: ["2*popen"],
    )
    lanes, processes = Lanes(config, None), [Process("gw2"), Process("gw3")]  # type: ignore[arg-type]
    files = [f"tests/test_{number}.py" for number in range(8)]
    for process in processes:
        lanes.add_node(process)
        lanes.add_node_collection(process, files)
    lanes.schedule()
    assert [len(process.sent) for process in processes] == [2, 2]
    first, second = processes
    for count in (3, 4, 5, 6):
        lanes.mark_test_complete(first, first.sent[count - 3])
        assert len(first.sent) == count
    assert not first.shutting_down
    lanes.mark_test_complete(first, first.sent[4])
    assert first.shutting_down  # no work is left
    assert sorted(first.sent + second.sent) == [*range(8)]


def test_a_flow_that_starts_a_stack_is_no_flow_with_the_stack_that_all_share() -> None:
    starting = {
        str(path.relative_to(ROOT)) for path in (ROOT / "tests/flow").glob("test_*.py")
        if any(start in path.read_text() for start in ("fresh_stack: Stack", "new_stack(", "RestoredStack("))
    }  # fmt: skip
    assert starting == {path for path in OWN_STACK if path.startswith("tests/flow/")}
