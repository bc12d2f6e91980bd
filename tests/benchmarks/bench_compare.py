"""A comparison of this checkout with another commit: the same benchmarks, alternating, on one machine, in one run.

    ./dev bench compare 8c6b4db push import --rounds 3

Results on a machine with two cores drift by a third within minutes, so results of another day can't be compared.
Therefore each round runs every benchmark three times: the other commit, this checkout, and the other commit again. A
ratio is this checkout's median divided by the other's. The *noise* is the difference between the other commit's first
and second runs. A ratio no further from 1 than the noise means nothing. One round understates the noise: the same
commit compared with itself gave ratios from 0.88 to 1.16 with a noise of 1 to 6 %. So repeat a comparison of one round.

The other commit is checked out below `var/` and removed at the end. Uncommitted changes of this checkout are measured
too. Benchmarks run in a short form, unless `--full-size`.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.say import say

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "var" / "bench" / "compare"
DOCUMENT = ROOT / "docs" / "develop" / "figures" / "comparisons.md"
SECTIONS_KEPT = 10
HEAD = "| Figure | Before | After | Ratio | Noise |\n|---|---|---|---|---|\n"
# Options for runs of one or two minutes each. Other benchmarks have no short form.
SHORT: dict[str, list[str]] = {
    "push": ["--edits", "200", "--large", "2000"],
    "import": ["--zones", "15000"],
    "api": ["--rounds", "200", "--seconds", "10"],
    "fleet": ["--zones", "5000", "--changes", "4000", "--sizes", "3", "16", "--edits", "60"],
    "serve": ["--zones", "2000", "--rounds", "3", "--seconds", "3"],
    "storm": ["--updates", "1500"],
}

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Runs:
    """The results of one benchmark: the first and the second runs of the other commit, and those of this checkout."""

    before: list[Figures] = field(default_factory=list)
    ours: list[Figures] = field(default_factory=list)
    again: list[Figures] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One compared result: the other commit's median, this checkout's median, and the noise as a fraction."""

    before: float
    after: float
    noise: float

    @property
    def ratio(self) -> float:
        """This checkout's median divided by the other's, or 1 if both are 0."""
        if self.before:
            return self.after / self.before
        return float("inf") if self.after else 1.0


def flat(found: Mapping[str, Any], prefix: str = "") -> Figures:
    """Return every number of a benchmark's last output line, under a name such as `small.p50_ms`."""
    figures: Figures = {}
    for key, value in found.items():
        if isinstance(value, Mapping):
            figures |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            figures[prefix + key] = float(value)
    return figures


def compared(runs: Runs) -> dict[str, Comparison]:
    """Compare every result that all runs printed."""
    both = [*runs.before, *runs.again]
    names = [name for name in runs.ours[0] if all(name in one for one in (*both, *runs.ours))]

    def median(of: Sequence[Figures], name: str) -> float:
        return statistics.median(one[name] for one in of)

    found = {}
    for name in names:
        middle = median(both, name)
        apart = abs(median(runs.before, name) - median(runs.again, name))
        found[name] = Comparison(middle, median(runs.ours, name), apart / middle if middle else 0.0)
    return found


def section(names: Mapping[str, Mapping[str, Comparison]], title: str, conditions: str) -> str:
    """Return a section of the document, with a row for each result that differs between runs."""
    rows = "".join(
        f"| {bench} {name} | {one.before:,.6g} | {one.after:,.6g} | {one.ratio:.2f} | {one.noise:.0%} |\n"
        for bench, figures in names.items()
        for name, one in figures.items()
        if one.noise or one.ratio != 1
    )
    return f"\n## {title}\n\n{conditions}\n\n{HEAD}{rows}"


def write_down(document: Path, new_section: str) -> None:
    """Add the section at the end of the document, and remove the oldest ones beyond `SECTIONS_KEPT`."""
    head, *sections = re.split(r"^(?=## )", document.read_text().rstrip() + "\n" + new_section, flags=re.MULTILINE)
    document.write_text(head + "".join(sections[-SECTIONS_KEPT:]))


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Make a work tree of the commit with its own packages, or with this checkout's if the lock files are equal."""
    shutil.rmtree(PLACE, ignore_errors=True)
    _git("worktree", "prune")
    _git("worktree", "add", "--detach", "--force", str(PLACE), commit)
    try:
        if all(_lock(PLACE, name) == _lock(ROOT, name) for name in ("panel", "dev")):
            shutil.copytree(ROOT / ".venv", PLACE / ".venv", symlinks=True)
        yield PLACE
    finally:
        _git("worktree", "remove", "--force", str(PLACE))


def run(tree: Path, bench: str, arguments: Sequence[str]) -> Figures:
    """Run a benchmark of a tree and return the numbers of its last line. Raise CalledProcessError if it fails."""
    done = subprocess.run([tree / "dev", "bench", bench, *arguments], cwd=tree, check=True, stdout=subprocess.PIPE)
    return flat(json.loads(done.stdout.decode().splitlines()[-1]))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _lock(tree: Path, name: str) -> bytes:
    return (tree / "requirements" / f"{name}.txt").read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("benches", nargs="+", metavar="NAME", choices=sorted(SHORT))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--full-size", action="store_true")
    parser.add_argument("--record", metavar="TITLE", help=f"add the ratios to {DOCUMENT.relative_to(ROOT)}")
    args = parser.parse_args()
    commit = _git("rev-parse", "--short", f"{args.commit}^{{commit}}")
    found: dict[str, dict[str, Comparison]] = {}
    with checkout(commit) as other:
        for bench in args.benches:
            arguments, runs = [] if args.full_size else SHORT[bench], Runs()
            for number in range(1, args.rounds + 1):
                for tree, into, name in (
                    (other, runs.before, commit),
                    (ROOT, runs.ours, "here"),
                    (other, runs.again, commit),
                ):
                    into.append(run(tree, bench, arguments))
                    say(f"{bench}, round {number}, {name}: {json.dumps(into[-1])}")
            found[bench] = compared(runs)
            for figure, one in found[bench].items():
                say(f"  {figure:>28} {one.before:12,.6g} → {one.after:12,.6g}  × {one.ratio:.2f}  ± {one.noise:.0%}")
    if args.record:
        day, rounds = datetime.now(tz=UTC).date(), f"{args.rounds} round{'s' * (args.rounds != 1)}"
        conditions = f"Compared with {commit}, {day}, {platform.machine()}, {os.cpu_count()} cores, {rounds}."
        write_down(DOCUMENT, section(found, args.record, conditions))
    last: dict[str, Any] = {"bench": "compare", "before": commit, "rounds": args.rounds}
    for bench, figures in found.items():
        last[bench] = {
            name: {"before": one.before, "after": one.after, "ratio": round(one.ratio, 3), "noise": round(one.noise, 3)}
            for name, one in figures.items()
        }
    say(json.dumps(last))


if __name__ == "__main__":
    main()
