"""The choice of the test files that a change can affect, which `./dev test --changed` runs.

    python -m tests.changed [--since COMMIT] [--seconds SECONDS]

prints their paths, and the number of each kind on standard error. A change is everything that differs from the commit
where this branch left main, including untracked files.

Static imports of Python modules lead from a changed file to test files. Rules find other relations: a test file that is
named for a module or names it in its docstring, the folder that mirrors a changed file's folder, and code that names a
template or another file. The nearest test files come first, until the time is used up. This does not prove that all
other tests pass; only `./dev test` does.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tests import budgets

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "var" / "test" / "imports.json"
PACKAGES = ("dnspanel", "replication", "tests")
# The time limits of a run in seconds: for its tests on all processors, and for the start before them.
SECONDS, START_SECONDS = 150.0, 25.0
# Estimates without a measurement, in CPU seconds: of one test, and of one file of tests.
OF_A_TEST, OF_A_FILE = 0.15, 1.0
# Tests that start stacks or third-party programs. They run only if they changed, or if their name fits a change.
SLOW = (
    *("tests/clients/", "tests/deploy/docker/", "tests/faults/", "tests/flow/", "tests/oracle/"),
    "tests/dnspanel/demo/test_stack.py",
)
FURTHEST = 3  # number of imports in between
FILE_NAME = re.compile(r"[\w@./-]*\w\.(?:html|txt|sql|js|css|json|ya?ml|toml|svg|c|conf|md|zone|csv|sh|service)")
INCLUDED = re.compile(r"{%-?\s*(?:include|extends)\s+[\"']([^\"']+)[\"']")

# The kinds of reasons, the nearest one first.
CHANGED = "changed"
NAMED = "named for a changed file"
RULE = "about every file of its kind"
IMPORTS = "import or name a changed file"
FOLDER = "in the folder of a changed file, or of its tests"
REACHES = "reach a changed file through other modules"
KINDS = (CHANGED, NAMED, RULE, IMPORTS, FOLDER, REACHES)

# Tests that read all files of a kind: (pattern of changed files, tests to run).
RULES: Sequence[tuple[re.Pattern[str], tuple[str, ...]]] = (
    (re.compile(r"(dnspanel|replication|tests)/.*\.py"), ("tests/test_house.py",)),
    (re.compile(r"templates/.*"), ("tests/test_button_texts.py", "tests/test_languages.py", "tests/test_markup.py")),
    (re.compile(r"locale/.*"), ("tests/test_languages.py",)),
    (re.compile(r"(docs/.*|[A-Z]+\.md|dev)"), ("tests/docs",)),
    (re.compile(r"static/.*"), ("tests/test_house.py", "tests/dnspanel/web/test_every_page.py")),
    (re.compile(r"(deploy/.*|Dockerfile|docker-compose\.yml|Procfile)"), ("tests/deploy",)),
    (re.compile(r"(pyproject\.toml|requirements/.*)"), ("tests/test_house.py",)),
    (re.compile(r"dnspanel/.*/migrations/.*"), ("tests/dnspanel/database",)),
)
# Folders of templates, CSS and JavaScript have the names of rooms of `dnspanel/web`.
OF_A_ROOM = re.compile(r"(?:templates/([\w]+)/.*|static/(?:css|js)/(\w+)\.\w+)")


@dataclass(frozen=True, slots=True)
class Module:
    """The relevant parts of a Python file: its imports, the files it names, and the modules its docstring names."""

    imports: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tells_of: tuple[str, ...] = ()
    tests: int = 0


def read_module(text: str) -> Module:
    tree = ast.parse(text)
    imports: dict[str, None] = {}
    names: dict[str, None] = {}
    tests = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports |= dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if len(node.value) < 200 and FILE_NAME.fullmatch(node.value):
                names[node.value] = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            tests += 1
    tells_of = re.findall(r"`([a-z0-9_]+\.[a-z0-9_]+)`", ast.get_docstring(tree) or "")
    return Module(tuple(imports), tuple(names), tuple(tells_of), tests)


@dataclass(slots=True)
class Tree:
    """The files of a checkout: Python modules by path, and templates with the templates that they include."""

    modules: dict[str, Module]
    templates: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def imported_by(self) -> dict[str, set[str]]:
        """Return by file the files that use it: those that import it, and for a conftest.py those in its folder."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, module in self.modules.items():
            for name in module.imports:
                for target in self._files_of(name):
                    found[target].add(path)
            if is_test(path):
                for folder in PurePosixPath(path).parents:
                    conftest = f"{folder}/conftest.py"
                    # The conftest of all tests says nothing about any single one.
                    if conftest in self.modules and conftest != "tests/conftest.py":
                        found[conftest].add(path)
        return found

    def _files_of(self, name: str) -> list[str]:
        """Return the files that an imported name can refer to: a module, or the module or package that defines it."""
        for dotted in (name, name.rpartition(".")[0]):
            path = dotted.replace(".", "/")
            for file in (f"{path}.py", f"{path}/__init__.py"):
                if file in self.modules:
                    return [file]
        return []

    def users_of(self, path: str) -> set[str]:
        """Return the Python files that name this file. For a template, also follow the templates that use it."""
        targets = {path}
        if path.startswith("templates/"):
            names = _closure(path.removeprefix("templates/"), self._including().get)
            targets = {f"templates/{name}" for name in names}
        return {
            user for user, module in self.modules.items() for name in module.names
            if any(each == name or each.endswith(f"/{name}") for each in targets)
        }  # fmt: skip

    def _including(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for path, included in self.templates.items():
            for name in included:
                found[name].add(path.removeprefix("templates/"))
        return found


def _closure(start: str, following: Callable[[str], Iterable[str] | None]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for each in following(waiting.pop()) or ():
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen


def is_test(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


def read_tree(root: Path = ROOT, cache: Path = CACHE) -> Tree:
    """Read the modules and templates of a checkout. Unchanged files come from the cache."""
    try:
        known: dict[str, list[object]] = json.loads(cache.read_text())
    except (OSError, ValueError):
        known = {}
    modules, kept = {}, {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            path, stat = str(file.relative_to(root)), file.stat()
            stamp = f"{stat.st_mtime_ns} {stat.st_size}"
            row = known.get(path)
            if row and row[0] == stamp:
                modules[path] = Module(*(tuple(each) if isinstance(each, list) else each for each in row[1:]))  # type: ignore[arg-type]
            else:
                modules[path] = read_module(file.read_text())
            module = modules[path]
            kept[path] = [stamp, module.imports, module.names, module.tells_of, module.tests]
    if kept != known:
        cache.parent.mkdir(parents=True, exist_ok=True)
        new = cache.with_suffix(".new")
        new.write_text(json.dumps(kept))
        new.replace(cache)
    templates = {
        str(file.relative_to(root)): tuple(INCLUDED.findall(file.read_text()))
        for file in sorted((root / "templates").rglob("*"))
        if file.is_file()
    }
    return Tree(modules, templates)


def mirror_of(path: str) -> str | None:
    """Return the test folder that mirrors the folder of a source file, or None if no folder does."""
    if path.startswith(("dnspanel/", "replication/")):
        return f"tests/{PurePosixPath(path).parent}"
    if room := OF_A_ROOM.fullmatch(path):
        return f"tests/dnspanel/web/{room[1] or room[2]}"
    return None


def reachable(  # noqa: C901  # the inner functions count too
    tree: Tree, changed: Iterable[str]
) -> dict[str, tuple[str, int]]:
    """Return the test files that a change to these files can affect, with the nearest reason (kind, distance)."""
    found: dict[str, tuple[str, int]] = {}
    tests = [path for path in tree.modules if is_test(path)]

    def add(kind: str, paths: Iterable[str], distance: int = 0) -> None:
        for path in paths:
            new = (kind, distance)
            if path not in found or _rank(new) < _rank(found[path]):
                found[path] = new

    def below(folder: str) -> list[str]:
        return [path for path in tests if path == folder or path.startswith(f"{folder}/")]

    changed = sorted({*changed})
    add(CHANGED, (path for path in changed if path in tests))
    named: set[str] = set()
    for path in changed:
        for pattern, places in RULES:
            if pattern.fullmatch(path):
                add(RULE, (test for place in places for test in below(place)))
        pure = PurePosixPath(path)
        if pure.name == "conftest.py":
            add(FOLDER, below(str(pure.parent)))
        folder = mirror_of(path)
        if folder is not None:
            stem = pure.stem.strip("_")
            add(NAMED, (test for test in tests if test == f"{folder}/test_{stem}.py"))
            module = f"{pure.parent.name}.{pure.stem}"
            add(NAMED, (test for test in tests if module in tree.modules[test].tells_of))
            add(FOLDER, (test for test in tests if str(PurePosixPath(test).parent) == folder))
        if path not in tree.modules:
            named |= tree.users_of(path)
    add(IMPORTS, (path for path in named if path in tests))
    _follow(tree, {path for path in changed if not is_test(path)}, named, add)
    return found


def _follow(tree: Tree, changed: set[str], named: set[str], add: Callable[[str, Iterable[str], int], None]) -> None:
    """Follow imports backwards, step by step. A module in `named`, which names a changed file, has the distance 1."""
    users = tree.imported_by()
    seen, nearest = set(changed), set(changed)
    for distance in range(1, FURTHEST + 1):
        following = {user for path in nearest for user in users.get(path, ())}
        if distance == 1:
            following |= named
        nearest = following - seen
        seen |= nearest
        add(IMPORTS if distance == 1 else REACHES, filter(is_test, nearest), distance)


def _rank(reason: tuple[str, int]) -> tuple[int, int]:
    return KINDS.index(reason[0]), reason[1]


@dataclass(frozen=True, slots=True)
class Choice:
    """The test files to run by kind, the files left out, and the estimated CPU seconds of each group."""

    chosen: Mapping[str, Sequence[str]]
    left_out: Sequence[str]
    cpu: float
    cpu_left_out: float

    @property
    def files(self) -> list[str]:
        return [path for paths in self.chosen.values() for path in paths]


def choose(reasons: Mapping[str, tuple[str, int]], cost: Callable[[str], float], *, most: float) -> Choice:
    """Choose the nearest files that cost at most `most` CPU seconds in total. Of equally near files, prefer cheap ones.

    A changed test file is always chosen. A slow file (SLOW) is chosen only if it changed or is named for a changed
    module.
    """
    chosen: dict[str, list[str]] = {kind: [] for kind in KINDS}
    left_out, spent, spared = [], 0.0, 0.0
    for path in sorted(reasons, key=lambda path: (_rank(reasons[path]), cost(path), path)):
        kind, _ = reasons[path]
        is_slow = path.startswith(SLOW) and kind not in {CHANGED, NAMED}
        if kind == CHANGED or (not is_slow and spent + cost(path) <= most):
            chosen[kind].append(path)
            spent += cost(path)
        else:
            left_out.append(path)
            spared += cost(path)
    return Choice({kind: paths for kind, paths in chosen.items() if paths}, left_out, spent, spared)


def costs(tree: Tree) -> Callable[[str], float]:
    """Return a function that estimates the CPU seconds of a test file, from the last run or its number of tests."""
    try:
        files = json.loads(budgets.LAST_RUN.read_text())["files"]
    except (OSError, ValueError, KeyError):
        files = {}
    rows = budgets.read().rows
    of_family = {row.path: row.cpu / row.tests for row in rows if row.cpu is not None and row.tests}

    def cost(path: str) -> float:
        if path in files:
            return float(files[path]["cpu"])
        return OF_A_FILE + tree.modules[path].tests * of_family.get(budgets.family_of(path, rows), OF_A_TEST)

    return cost


def changed_files(since: str | None, *, root: Path = ROOT) -> list[str]:
    """Return the files that differ from a commit (by default where this branch left main), including new files."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    if since is None:
        known = git("for-each-ref", "--format=%(refname)", "refs/remotes/origin/main", "refs/heads/main")
        main = "refs/remotes/origin/main" if "refs/remotes/origin/main" in known else "refs/heads/main"
        [since] = git("merge-base", main, "HEAD")
    differ = git("diff", "--name-only", "--no-renames", since)
    return sorted({*differ, *git("ls-files", "--others", "--exclude-standard")})


def described(choice: Choice, changed: Sequence[str], *, processors: int) -> list[str]:
    """Return a description of the choice, as lines: the files to run with the reasons, and the estimated time."""
    lines = [f"{len(changed)} changed files, {len(choice.files)} test files:"]
    lines += [f"{len(paths):>5} {kind}: {_few(paths)}" for kind, paths in choice.chosen.items()]
    lines.append(f"Estimate: {choice.cpu / processors + START_SECONDS:.0f} seconds on {processors} processors.")
    if choice.left_out:
        lines.append(
            f"{len(choice.left_out)} further test files are left out (estimated {choice.cpu_left_out:.0f} CPU seconds):"
            " ./dev test runs all."
        )
    return lines


def _few(paths: Sequence[str]) -> str:
    first = ", ".join(path.removeprefix("tests/") for path in paths[:3])
    return first if len(paths) <= 3 else f"{first} ..."


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.changed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", metavar="COMMIT", help="default: the commit where this branch left main")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="maximum estimated time of the tests")
    options = parser.parse_args(arguments)
    processors = len(os.sched_getaffinity(0))
    changed, tree = changed_files(options.since), read_tree()
    choice = choose(reachable(tree, changed), costs(tree), most=(options.seconds - START_SECONDS) * processors)
    sys.stderr.write("\n".join(described(choice, changed, processors=processors)) + "\n")
    sys.stdout.write("".join(f"{path}\n" for path in choice.files))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
