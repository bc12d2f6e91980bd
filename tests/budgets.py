"""Compare the CPU seconds and the number of tests of a full run with the budgets of `tests/budgets.toml`.

    .venv/bin/python -m tests.budgets [--raise PATH...]

updates the budgets from the last full run of `./dev test`: it lowers numbers and adds missing ones. `--raise` names the
families whose numbers may also grow; `--raise all` means all families.

A family is a file or folder of tests with a row in the table. A test belongs to the family with the longest matching
path.
"""

import argparse
import json
import math
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "tests" / "budgets.toml"
LAST_RUN = ROOT / "var" / "test" / "last-run.json"
# How much a run may exceed a budget, because measurements vary and each day has a different sample.
CPU_TOLERANCE, CPU_LEAST = 0.15, 5.0
TESTS_TOLERANCE, TESTS_LEAST = 0.05, 5
# The factor for the first budget of a family whose files take turns. The measured day may not be the most expensive.
TURNS_MARGIN = 1.5
HEADER = """\
# What a default run of the tests may use: CPU seconds and tests by family. docs/develop/testing.md says how this works.
# `.venv/bin/python -m tests.budgets` rewrites the numbers from the last whole run, and only lowers them.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """The budget of one family: its path or name, the limits of its tests, and the reason for them.

    A limit of None means not measured yet, so that nothing is compared. `turns` is True if only some files of the
    family run each day. `also` has other paths whose tests belong to the family.
    """

    path: str
    reason: str
    cpu: float | None = None
    tests: int | None = None
    turns: bool = False
    also: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Budgets:
    """All rows, and the CPU seconds of `processors.loop_seconds` on the machine where the budgets were measured."""

    loop: float | None
    rows: list[Row]


def read(path: Path = BUDGETS) -> Budgets:
    values = tomllib.loads(path.read_text())
    return Budgets(loop=values.get("loop"), rows=[Row(**row) for row in values["family"]])


def write(budgets: Budgets, path: Path = BUDGETS) -> None:
    lines = [HEADER]
    if budgets.loop is not None:
        lines += ["# How long a fixed loop took on the machine that was measured; other machines are compared by it.",
                  f"loop = {budgets.loop:.5f}", ""]  # fmt: skip
    for row in budgets.rows:
        lines += ["[[family]]", f"path = {json.dumps(row.path)}", f"reason = {json.dumps(row.reason)}"]
        lines += [f"also = {json.dumps([*row.also])}"] if row.also else []
        lines += [f"cpu = {row.cpu:.1f}"] if row.cpu is not None else []
        lines += [f"tests = {row.tests}"] if row.tests is not None else []
        lines += ["turns = true"] if row.turns else []
        lines.append("")
    path.write_text("\n".join(lines))


def family_of(name: str, rows: Iterable[Row]) -> str:
    """Return the path of the row that a test file belongs to. Return the file's own name if there is none."""
    fitting = [
        (len(path), row.path)
        for row in rows
        for path in (row.path, *row.also)
        if name == path or name.startswith(f"{path}/")
    ]
    return max(fitting, default=(0, name))[1]


def speed_of(run: dict[str, Any], budgets: Budgets) -> float:
    """Return the speed of this run's machine relative to the machine of the budgets: 2.0 if it is twice as fast."""
    return budgets.loop / run["loop"] if budgets.loop and run["loop"] else 1.0


def complaints(run: dict[str, Any], budgets: Budgets) -> list[str]:
    """Return the complaints about a full default run, one line each."""
    speed = speed_of(run, budgets)
    found = []
    for row in budgets.rows:
        used = run["families"].get(row.path)
        if used is None:
            continue
        cpu = used["cpu"] * speed
        if row.cpu is not None and cpu > row.cpu + max(row.cpu * CPU_TOLERANCE, CPU_LEAST):
            found.append(
                f"{row.path}: {cpu:.0f} CPU seconds, its budget is {row.cpu:.0f}"
                f" ({used['cpu']:.0f} measured, this machine is {speed:.2f} times as fast)"
            )
        if row.tests is not None and used["tests"] > row.tests + max(row.tests * TESTS_TOLERANCE, TESTS_LEAST):
            found.append(f"{row.path}: {used['tests']} tests, its budget is {row.tests}")
    if found:
        found.append(
            "Make these tests cheaper, sample them (tests/full.py), or raise the budget and say why:"
            " .venv/bin/python -m tests.budgets --raise PATH"
        )
    return found


def adjusted(run: dict[str, Any], budgets: Budgets, *, growing: Sequence[str] = ()) -> Budgets:
    """Return the budgets, updated from a run: lower and missing numbers, and all numbers of `growing` families."""
    speed = speed_of(run, budgets)

    def fitted(row: Row) -> Row:
        used = run["families"].get(row.path)
        if used is None:
            return row
        grows = row.path in growing or "all" in growing
        cpu, tests = round(used["cpu"] * speed, 1), int(used["tests"])
        if row.turns:
            # Files that run on other days are not measured, so a lower number proves nothing.
            cpu = max(cpu, row.cpu or round(cpu * TURNS_MARGIN, 1))
            tests = max(tests, row.tests or math.ceil(tests * TURNS_MARGIN))
        return replace(
            row,
            cpu=cpu if row.cpu is None or grows else min(cpu, row.cpu),
            tests=tests if row.tests is None or grows else min(tests, row.tests),
        )

    return Budgets(loop=budgets.loop or run["loop"], rows=[fitted(row) for row in budgets.rows])


def table(run: dict[str, Any], budgets: Budgets) -> list[str]:
    """Return the table that a run prints, as lines, with the most expensive family first."""
    speed = speed_of(run, budgets)
    limits = {row.path: row for row in budgets.rows}
    lines = [f"{'CPU s':>8} {'budget':>8} {'wall s':>8} {'tests':>7}  family"]
    for name, used in run["families"].items():
        row = limits.get(name)
        budget = f"{row.cpu / speed:.0f}" if row is not None and row.cpu is not None else "-"
        lines.append(f"{used['cpu']:>8.1f} {budget:>8} {used['wall']:>8.1f} {used['tests']:>7}  {name}")
    lines.append(f"{run['cpu']:>8.1f} {'':>8} {run['wall']:>8.1f} {run['tests']:>7}  all; wall s: of the whole run")
    if speed != 1.0:
        lines.append(f"The machine is {speed:.2f} times as fast as that of the budgets, which are shown for this one.")
    return lines


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.budgets", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--raise", dest="growing", nargs="+", default=[], metavar="PATH", help="families, or all")
    growing = parser.parse_args(arguments).growing
    budgets = read()
    unknown = {*growing} - {row.path for row in budgets.rows} - {"all"}
    if unknown:
        parser.error(f"no family of tests/budgets.toml: {', '.join(sorted(unknown))}")
    run = json.loads(LAST_RUN.read_text()) if LAST_RUN.exists() else {"default": False}
    if not run["default"]:
        parser.error("the last run is no whole default run: run ./dev test first")
    new = adjusted(run, budgets, growing=growing)
    write(new)
    for before, after in zip(budgets.rows, new.rows, strict=True):
        if before != after:
            sys.stdout.write(f"{after.path}: {before.cpu} -> {after.cpu} s, {before.tests} -> {after.tests} tests\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
