"""A run is shared out so that what uses one stack stays in one process."""

from pathlib import Path

from tests.lanes import ALONE, FAULTS, FOLDERS, JOINED, STACK, unit_of, waits

ROOT = Path(__file__).resolve().parents[1]


def test_every_path_that_is_named_exists() -> None:
    assert [path for path in (*ALONE, *JOINED, *FOLDERS) if not (ROOT / path).exists()] == []


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


def test_a_file_that_uses_the_shared_stack_is_in_its_unit() -> None:
    users = [
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")
        if "stack: Stack)" in path.read_text() and "def stack(" not in path.read_text()
    ]  # fmt: skip
    own = {path for path in users if "def test" in (ROOT / path).read_text()}
    assert {unit_of(path) for path in own} <= {STACK, FAULTS, *ALONE}
