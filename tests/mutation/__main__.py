"""`./dev mutate`: makes small errors in the code, one at a time, and runs tests to see if they notice.

Errors are made in a copy of the checkout below `var/mutation`. The nearest tests run first (the module's own test file,
then tests that import the module, then its package's tests, then `./dev check` and all of `./dev test`, then `--full`),
and stop at the first failure. The output names the test that noticed each error; unnoticed errors need a test or a
reason. The last line is a JSON object: `{"mutants", "default", "full", "survivors"}`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.mutation.mutants import Mutant, chosen

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("dnspanel/zones", "dnspanel/publish", "replication", "dnspanel/fleet", "dnspanel/accounts")
# A mutant may hang. The longest test file takes less time than this.
MOST_SECONDS = 900


def main() -> None:
    arguments = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.partition("\n")[0])
    arguments.add_argument("--seed", type=int, default=13)
    arguments.add_argument("--count", type=int, default=40)
    arguments.add_argument("--only", type=int, action="append", help="repeat only the mutant with this number")
    arguments.add_argument("--near", action="store_true", help="run only the tests of the module's package")
    options = arguments.parse_args()
    copy = ROOT / "var" / "mutation"
    _copy_checkout(copy)
    caught = {"default": 0, "full": 0}
    survivors = []
    mutants = chosen(copy, PACKAGES, seed=options.seed, count=options.count)
    for number, mutant in enumerate(mutants, 1):
        if options.only and number not in options.only:
            continue
        source = (copy / mutant.path).read_text()
        start = time.monotonic()
        (copy / mutant.path).write_text(mutant.applied_to(source))
        try:
            noticed = _noticed_by(copy, mutant, near=options.near)
        finally:
            (copy / mutant.path).write_text(source)
        seconds = time.monotonic() - start
        print(
            f"{number:3} {mutant.described(source)}\n    {noticed or 'NOTHING NOTICED IT'} ({seconds:.0f} s)",
            flush=True,
        )
        if noticed is None:
            survivors.append(mutant.described(source))
        else:
            caught["full"] += 1
            caught["default"] += not noticed.startswith("--full")
    print(json.dumps({"mutants": len(mutants), **caught, "survivors": survivors}))


def _copy_checkout(copy: Path) -> None:
    """Copy all files that git tracks, in their current state, with a link to the checkout's packages."""
    shutil.rmtree(copy, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / ".venv").symlink_to(ROOT / ".venv")


def _noticed_by(copy: Path, mutant: Mutant, *, near: bool) -> str | None:
    """Return the first test that fails with the error in the code, or None if no test fails."""
    own = f"tests/{Path(mutant.path).parent}/test_{Path(mutant.path).stem}.py"
    package = f"tests/{mutant.path.split('/')[0]}" if mutant.path.startswith("replication") else None
    package = package or "/".join(["tests", *mutant.path.split("/")[:2]])
    steps = [
        [own] if (copy / own).exists() else [],
        [test for test in _importers(copy, mutant.path) if test != own],
        [package],
    ]
    for tests in steps:
        if tests and (failed := _failing(copy, ["-m", "not flow and not faults and not browser", *tests])):
            return failed
    if near:
        return None
    if subprocess.run(["./dev", "check"], cwd=copy, capture_output=True, check=False).returncode:
        return "./dev check"
    if failed := _failing(copy, ["tests"]):
        return failed
    if failed := _failing(copy, ["--full", "tests"]):
        return f"--full: {failed}"
    return None


def _importers(copy: Path, path: str) -> list[str]:
    """Return the test files that import the module."""
    package, _, name = path.removesuffix(".py").replace("/", ".").rpartition(".")
    pattern = re.compile(
        rf"from {re.escape(package)}\.{name} import|from {re.escape(package)} import [^\n]*\b{name}\b"
        rf"|from {re.escape(package)} import \([^)]*\b{name}\b"
    )
    files = (file for file in sorted((copy / "tests").rglob("test_*.py")) if pattern.search(file.read_text()))
    return [
        str(file.relative_to(copy)) for file in files if "tests/faults" not in str(file) and "/flow/" not in str(file)
    ]


def _failing(copy: Path, arguments: list[str]) -> str | None:
    """Return the first failing test of a run, or None if all pass. A run that cannot start or end counts as failed."""
    python = str(ROOT / ".venv/bin/python")
    command = [
        python,
        "-m",
        "dnspanel.demo",
        "stores",
        "var/test",
        python,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-rfE",
        *arguments,
    ]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end after {MOST_SECONDS} s of {' '.join(arguments)}"
    if done.returncode in (0, 5):  # 5: no test was collected
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else f"exit {done.returncode} of {' '.join(arguments)}: {done.stdout[-200:]!r}"


if __name__ == "__main__":
    sys.exit(main())
