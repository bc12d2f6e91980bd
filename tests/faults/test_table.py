"""Each row of the fault table has an automated test with its mark."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.faults.rows import ROWS
from tests.stack import ROOT

HERE = Path(__file__).resolve().parent


def marked_tests() -> Iterator[tuple[int, str]]:
    """Yield the number and test of each mark `row(number)` in this directory."""
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.row":
                        assert isinstance(mark.args[0], ast.Constant)
                        yield int(mark.args[0].value), f"{path.name}::{node.name}"


def test_there_are_53_rows_in_order() -> None:
    assert [row.number for row in ROWS] == list(range(1, 54))


def test_every_row_has_a_test() -> None:
    tests: dict[int, list[str]] = defaultdict(list)
    for number, name in marked_tests():
        tests[number].append(name)
    lacking = [row.number for row in ROWS if not tests[row.number] and not row.elsewhere]
    assert lacking == []
    assert set(tests) <= {row.number for row in ROWS}


def test_the_tests_named_elsewhere_exist() -> None:
    for named in (named for row in ROWS for named in row.elsewhere):
        path, _, test = named.partition("::")
        assert f"def {test}" in (ROOT / path).read_text(), named
