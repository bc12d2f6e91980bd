"""Every row of the fault table, tested on real processes with every crash point, full sizes and durations.

    python -m tests.benchmarks.bench_faults [--rows 3,7] [--times N] [--seed S]

`--times` repeats the crash points of a row (1,000 before a release). `--seed` chooses edits, moments and names.
`--shortened` uses the sizes of `./dev test`. Prints a line per finished row, and one JSON object at the end.
"""

import argparse
import contextlib
import json
import os
import shutil
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.rows import ROWS, Row

ROOT = Path(__file__).resolve().parent.parent.parent
DIRECTORY = ROOT / "var" / "bench" / "faults"
WIDTH = 62


@dataclass(slots=True)
class Outcome:
    """The outcome of one test."""

    word: str = "passed"  # or "failed" or "skipped"
    seconds: float = 0.0
    words: str = ""


@dataclass(slots=True, eq=False)
class Listener:
    """A pytest plugin that records each test's rows and outcome. It prints a row when all its tests are finished."""

    wanted: set[int]
    rows: dict[str, set[int]] = field(default_factory=dict)  # test → rows
    outcomes: dict[str, Outcome] = field(default_factory=lambda: defaultdict(Outcome))
    waiting: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    collected: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        kept, dropped = [], []
        for item in items:
            rows = rows_of(item) & self.wanted
            (kept if rows else dropped).append(item)
            self.rows[item.nodeid] = rows
            for row in rows:
                self.waiting[row].add(item.nodeid)
                self.collected[row].add(item.nodeid)
        config.hook.pytest_deselected(items=dropped)
        items[:] = sorted(kept, key=lambda item: item.path.name)

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = self.outcomes[report.nodeid]
        outcome.seconds += report.duration
        if report.failed:
            outcome.word, outcome.words = "failed", str(report.longrepr)
        elif report.skipped and outcome.word == "passed":
            outcome.word, outcome.words = "skipped", str(report.longrepr[2] if report.longrepr else "")

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        for number in sorted(self.rows.get(nodeid, ())):
            self.waiting[number].discard(nodeid)
            if not self.waiting[number]:
                say(self.line(ROWS[number - 1]))

    def line(self, row: Row) -> str:
        word, seconds, _ = self.of_row(row.number)
        return f"{row.number:>3} | {row.fault[:WIDTH]:<{WIDTH}} | {word:<7} | {seconds:>6.1f} | {row.checked}"

    def of_row(self, number: int) -> tuple[str, float, str]:
        """Return the combined outcome of a row's tests: a word, seconds, and an explanation if something is wrong."""
        found = [self.outcomes[test] for test in sorted(self.collected[number]) if test in self.outcomes]
        seconds = sum(outcome.seconds for outcome in found)
        for word in ("failed", "skipped"):
            for outcome in found:
                if outcome.word == word:
                    return word, seconds, outcome.words
        return ("passed", seconds, "") if found else ("not run", 0.0, "no test of it was found")


def rows_of(item: Any) -> set[int]:
    """Return the rows in a test's marks, and the rows that name this test as a test elsewhere."""
    marked = {int(mark.args[0]) for mark in item.iter_markers("row")}
    return marked | {row.number for row in ROWS for path in row.elsewhere if item.nodeid.startswith(path)}


def run(wanted: set[int], options: argparse.Namespace) -> Listener:
    """Run the tests of these rows in this process, and return the plugin with their outcomes."""
    import pytest

    listener = Listener(wanted)
    elsewhere = {path.partition("::")[0] for row in ROWS if row.number in wanted for path in row.elsewhere}
    say(f"{'row':>3} | {'fault':<{WIDTH}} | outcome | seconds | what was checked")
    paths = [str(ROOT / "tests" / "faults"), *(str(ROOT / path) for path in sorted(elsewhere))]
    with (DIRECTORY / "pytest.log").open("w") as log, contextlib.redirect_stdout(log):
        pytest.main(["-p", "no:randomly", "--tb=short", "-q", *paths], plugins=[listener])
    return listener


# The standard output, because pytest captures it while it runs.
_terminal = os.fdopen(os.dup(1), "w")


def say(text: str) -> None:
    _terminal.write(text + "\n")
    _terminal.flush()


def prepare(options: argparse.Namespace) -> None:
    """Prepare the environment variables that these tests read, and loadable settings, which the tests don't use."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    os.environ.update(
        FAULTS_WHOLE="0" if options.shortened else "1",
        FAULTS_TIMES=str(options.times),
        FAULTS_SEED=str(options.seed),
        PANEL_SECRET_KEY="x",
        PANEL_MASTER_KEY="x",
        PANEL_DATABASE="postgresql://",
        PANEL_REDIS_URL="redis://",
        PANEL_VAR=str(DIRECTORY),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="comma-separated numbers; default: all")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shortened", action="store_true")
    options = parser.parse_args()
    wanted = {int(number) for number in options.rows.split(",") if number} or {row.number for row in ROWS}
    prepare(options)
    listener = run(wanted, options)
    found = {number: listener.of_row(number) for number in sorted(wanted)}
    failed = [number for number, (word, _, _) in found.items() if word == "failed"]
    not_run = {str(number): words for number, (word, _, words) in found.items() if word in ("skipped", "not run")}
    for number in failed:
        say(f"\nrow {number}: {found[number][2]}")
    passed = sum(word == "passed" for word, _, _ in found.values())
    say(json.dumps({"bench": "faults", "rows": len(found), "passed": passed, "failed": failed, "not_run": not_run}))
    return 1 if failed or any(word == "not run" for word, _, _ in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
