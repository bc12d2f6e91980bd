"""A run over its budget fails, on slow and on fast machines. Budgets are only lowered."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import budgets
from tests.budgets import Budgets, Row, adjusted, complaints, family_of, read, table, write
from tests.full import TURNS

ROOT = Path(__file__).resolve().parents[1]
ZONES = Row("tests/zones", "Zones.", cpu=100.0, tests=1000)
WEB = Row("tests/web", "Pages.", cpu=40.0, tests=50)
NEW = Row("tests/new", "Not measured yet.")
FLOW = Row("tests/flow", "Other files each day.", cpu=200.0, tests=20, turns=True)
BUDGETS = Budgets(loop=0.1, rows=[ZONES, WEB, NEW, FLOW])


def run_of(*, loop: float | None = 0.1, **families: tuple[float, int]) -> dict[str, Any]:
    used = {f"tests/{name}": {"cpu": cpu, "wall": cpu, "tests": tests} for name, (cpu, tests) in families.items()}
    return {"loop": loop, "families": used, "cpu": 0.0, "wall": 0.0, "tests": 0, "default": True}


def test_a_family_may_use_its_budget_and_fifteen_percent() -> None:
    assert complaints(run_of(zones=(100, 1000), web=(40, 50)), BUDGETS) == []
    assert complaints(run_of(zones=(114.9, 1000)), BUDGETS) == []
    over, advice = complaints(run_of(zones=(116, 1000)), BUDGETS)
    assert over.startswith("tests/zones: 116 CPU seconds, its budget is 100")
    assert "--raise" in advice


def test_a_small_family_may_use_some_seconds_more() -> None:
    small = Budgets(loop=None, rows=[replace(WEB, cpu=2.0)])
    assert complaints(run_of(web=(6.9, 50)), small) == []
    assert len(complaints(run_of(web=(7.1, 50)), small)) == 2


def test_the_number_of_tests_has_a_budget_too() -> None:
    assert complaints(run_of(zones=(90, 1050), web=(30, 55)), BUDGETS) == []
    found = complaints(run_of(zones=(90, 1051), web=(30, 56)), BUDGETS)
    assert found[:2] == ["tests/zones: 1051 tests, its budget is 1000", "tests/web: 56 tests, its budget is 50"]


def test_a_slow_machine_may_take_longer_and_a_fast_one_less() -> None:
    assert complaints(run_of(loop=0.2, zones=(228, 1000)), BUDGETS) == []
    assert len(complaints(run_of(loop=0.2, zones=(232, 1000)), BUDGETS)) == 2
    assert complaints(run_of(loop=0.05, zones=(57, 1000)), BUDGETS) == []
    assert "58 measured, this machine is 2.00 times as fast" in complaints(run_of(loop=0.05, zones=(58, 1)), BUDGETS)[0]


def test_what_was_not_measured_or_did_not_run_has_no_limit() -> None:
    assert complaints(run_of(new=(9999, 9999)), BUDGETS) == []
    assert complaints(run_of(loop=None, zones=(100, 1000)), BUDGETS) == []


def test_budgets_get_lower_and_grow_only_where_that_is_asked_for() -> None:
    run = run_of(zones=(80, 1100), web=(60, 40), new=(7, 9))
    zones, web, new, flow = adjusted(run, BUDGETS).rows
    assert (zones.cpu, zones.tests) == (80, 1000)
    assert (web.cpu, web.tests) == (40, 40)
    assert (new.cpu, new.tests) == (7, 9)
    assert flow == FLOW
    zones, web, *_ = adjusted(run, BUDGETS, growing=["tests/web"]).rows
    assert (zones.tests, web.cpu) == (1000, 60)
    zones, web, *_ = adjusted(run, BUDGETS, growing=["all"]).rows
    assert (zones.tests, web.cpu) == (1100, 60)


def test_budgets_are_those_of_the_machine_that_was_measured_first() -> None:
    after = adjusted(run_of(loop=0.2, zones=(160, 1000)), BUDGETS)
    assert (after.loop, after.rows[0].cpu) == (0.1, 80)
    first = adjusted(run_of(loop=0.2, new=(160, 10)), Budgets(loop=None, rows=[NEW]))
    assert (first.loop, first.rows[0].cpu) == (0.2, 160)


def test_a_cheap_day_of_files_that_take_turns_proves_nothing() -> None:
    cheap = adjusted(run_of(flow=(90, 5)), BUDGETS).rows[3]
    assert (cheap.cpu, cheap.tests) == (200, 20)
    first = adjusted(run_of(flow=(90, 5)), Budgets(loop=0.1, rows=[replace(FLOW, cpu=None, tests=None)])).rows[0]
    assert (first.cpu, first.tests) == (135, 8)
    grown = adjusted(run_of(flow=(250, 25)), BUDGETS, growing=["tests/flow"]).rows[3]
    assert (grown.cpu, grown.tests) == (250, 25)


def test_a_test_belongs_to_the_longest_path() -> None:
    pages = Row("tests/web/test_pages.py", "", also=["tests/web/editor/test_drawer.py"])
    rows = [Row("tests", ""), WEB, pages]
    assert family_of("tests/web/test_pages.py", rows) == "tests/web/test_pages.py"
    assert family_of("tests/web/editor/test_drawer.py", rows) == "tests/web/test_pages.py"
    assert family_of("tests/web/editor/test_tags.py", rows) == "tests/web"
    assert family_of("tests/website/test_a.py", rows) == "tests"
    assert family_of("everything else", rows) == "everything else"


def test_budgets_are_read_as_they_were_written(tmp_path: Path) -> None:
    before = Budgets(loop=0.12345, rows=[*BUDGETS.rows, Row("a", 'With "quotes".', also=["b", "c"])])
    write(before, tmp_path / "budgets.toml")
    assert read(tmp_path / "budgets.toml") == before


def test_the_table_shows_limits_as_they_are_on_this_machine() -> None:
    lines = table(run_of(loop=0.2, zones=(150, 1000), other=(1, 2)), BUDGETS)
    assert lines[1].split() == ["150.0", "200", "150.0", "1000", "tests/zones"]
    assert lines[2].split() == ["1.0", "-", "1.0", "2", "tests/other"]
    assert "0.50 times as fast" in lines[-1]


def test_every_row_names_a_path_once_and_says_why() -> None:
    rows = read().rows
    named = [path for row in rows for path in (row.path, *row.also)]
    assert len(named) == len({*named})
    assert [path for path in named if path.startswith("tests") and not (ROOT / path).exists()] == []
    assert [row.path for row in rows if not row.reason.strip()] == []
    assert "tests" in named


def test_a_family_with_files_that_take_turns_says_so() -> None:
    rows = read().rows
    families = {family_of(path, rows) for _, paths in TURNS.values() for path in paths}
    assert {row.path for row in rows if row.turns} == families


def test_only_a_whole_default_run_becomes_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(budgets, "LAST_RUN", tmp_path / "last-run.json")
    with pytest.raises(SystemExit):
        budgets.main([])
    (tmp_path / "last-run.json").write_text('{"default": false}')
    with pytest.raises(SystemExit):
        budgets.main([])
    assert capsys.readouterr().err.count("run ./dev test first") == 2
    with pytest.raises(SystemExit):
        budgets.main(["--raise", "tests/nowhere"])
    assert "tests/nowhere" in capsys.readouterr().err
