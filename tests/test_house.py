"""The project's rules that a program can check."""

import ast
import contextlib
import hashlib
import re
import subprocess
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.syntax import dotted, nodes_of, tree_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("dnspanel", "replication")
BANNED_FILE_NAMES = {"utils.py", "helpers.py", "services.py", "managers.py", "common.py", "misc.py"}

# The last word of a module's first docstring line says what its functions may do.
VERBS = "Verbs."  # they write to the database
PURE = "Pure."  # from values to values: no database, sockets, Redis, queues or programs
NOT_PURE = {
    "celery",
    "django.db",
    "http",
    "kombu",
    "lmdb",
    "psycopg",
    "redis",
    "requests",
    "socket",
    "subprocess",
    "urllib",
}
PURE_PARTS = {"socket.AF_INET", "socket.AF_INET6", "socket.inet_pton", "urllib.parse"}
WRITING_METHODS = {
    "acreate",
    "bulk_create",
    "bulk_update",
    "create_user",
    "get_or_create",
    "update_or_create",
}
# Statements in SQL that write to a table of ours.
SQL_WRITES = re.compile(
    r"\b(INSERT INTO|DELETE FROM|UPDATE|COPY)\s+"
    r"(accounts|alerts|api|backup|fleet|publish|secondaries|transfer|webhooks|zones)_[a-z]+(?=[\s(]|$)"
)

# Words that are unknown in DNS, PowerDNS and Django, or that had several meanings, with better ones.
BANNED_PARTS = {
    "asked": "request, query",
    "asking": "dns_probe",
    "bell": "wake",
    "bells": "wake",
    "fact": "attribute, input",
    "facts": "attributes, inputs",
    "held": "on_hold, locked, kept",
    "proved": "acked, verified",
    "rang": "woke",
    "reached": "acked, status",
    "reckon": "expected state",
    "reckoned": "expected",
    "ring": "wake, enqueue",
    "rings": "wakes",
    "said": "input, reported, message",
    "scattered": "group_by_zone",
    "scrub": "integrity_scan",
    "sentence": "message, describe",
    "sentences": "messages",
    "settled": "status",
    "shown": "displayed, representation, row",
    "sight": "visibility",
    "sights": "visibility",
    "standing": "status",
    "standings": "statuses",
    "tend": "maintain",
    "tended": "maintained",
    "there": "current (the RRset as stored)",
    "trail": "audit_trail",
    "wanted": "result, expected, requested",
    "whole": "full, complete",
    "why": "reason, explain",
    "wish": "patch",
    "wishes": "patches",
    "words": "description",
    "zonelike": "detect",
}
# Established names that contain one of these words.
NOT_BANNED = re.compile(r"ring_?0|audit_trail|tsig_?key_?ring", re.IGNORECASE)

# Limits of functions. More than six parameters need a noqa with a reason. `self` counts only toward the eight.
MOST_LINES, MOST_PARAMETERS, MOST_WITH_REASON = 60, 6, 8
# Click passes each option of a command as a parameter.
COMMANDS = Path("dnspanel/cli")

# The size limits of a folder or module. Beyond them it must be divided.
MOST_MODULES = 30  # of a folder, without its `__init__`
MODULE_LINES = 500
# Of the whole source. The number only goes down: delete duplicates before you add a feature. Target: 160,000.
SOURCE_LINES = 189_630
# Has one module for each family of URLs, named after it.
LARGE_FOLDERS = {"dnspanel/api/v2/resources"}

# Names of modules that every app, or every room of the pages, may have by convention.
CONVENTIONAL = frozenset(
    {
        "__init__",
        "__main__",
        "access",
        "apps",
        "checks",
        "conditions",
        "errors",
        "models",
        "queries",
        "signals",
        "tasks",
        "urls",
    }
)
# Packages that repeat the names of others: an interface, or the tables and errors of all rooms. Within one of them, a
# name occurs only once.
SAYING_AGAIN: dict[str, set[str]] = {
    "dnspanel/api": set(),
    "dnspanel/api/scim": set(),
    "dnspanel/api/v1": set(),
    "dnspanel/api/v2": set(),
    "dnspanel/cli": set(),
    "dnspanel/web": {"forms", "pages"},
    "dnspanel/web/templatetags": set(),
    "dnspanel/zones/errors": set(),
    "dnspanel/zones/models": set(),
}

VENDORED = ("static/vendor/", "tests/vendor/")

# Packages whose `__init__` exports their modules' names, so nobody imports the modules.
IMPORTED_FROM_PACKAGE = {"errors", "models"}

# Started by a process manager or by Django. The flow tests exercise them.
WITHOUT_OWN_TEST = {"dnspanel/settings.py", "dnspanel/wsgi.py", "dnspanel/celery.py"}


def modules() -> list[Path]:
    found: list[Path] = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT)
            if "migrations" in relative.parts or path.name in {"__init__.py", "apps.py"}:
                continue
            found.append(relative)
    return found


def tracked_files() -> list[str]:
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return out.split("\n")[:-1]


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [str(path) for path in modules() if path.name in BANNED_FILE_NAMES] == []


def test_names_of_modules_say_whose_they_are() -> None:
    """Distinct module names help in tracebacks, lists of open files and searches: `node_keys` and `primary_keys`."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in source_files():
        if path.parts[0] not in PACKAGES or path.parent.name == "commands":
            continue
        place = next((str(each) for each in path.parents if str(each) in SAYING_AGAIN), "")
        if path.stem not in CONVENTIONAL | SAYING_AGAIN.get(place, set()):
            found[place, path.stem].append(str(path))
    assert [paths for paths in found.values() if len(paths) > 1] == []


def test_functions_are_short_and_take_few_parameters() -> None:
    """More than six parameters often belong to one object, such as the actor, a new zone or a node's description."""
    found = []
    for path in modules():
        for node in nodes_of(ROOT / path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno
                parameters = len(node.args.args) + len(node.args.kwonlyargs) + len(node.args.posonlyargs)
                has_reason = COMMANDS in path.parents or _has_reason(path, node.lineno)
                own = parameters - any(each.arg in {"self", "cls"} for each in node.args.args[:1])
                is_long = lines > MOST_LINES or parameters > MOST_WITH_REASON
                if is_long or (own > MOST_PARAMETERS and not has_reason):
                    found.append(f"{path}: {node.name} has {lines} lines and {parameters} parameters")
    assert found == []


def _has_reason(path: Path, line: int) -> bool:
    """Return True if the function at this line explains in a comment why it has many parameters."""
    return "noqa: PLR0913  # " in (ROOT / path).read_text().split("\n")[line - 1]


def source_files() -> list[Path]:
    """Return every Python file that is neither a test nor a migration."""
    return [
        Path(name)
        for name in tracked_files()
        if name.endswith(".py") and not name.startswith("tests/") and "/migrations/" not in name
        if (ROOT / name).exists()
    ]


def test_no_folder_holds_more_modules_than_a_reader_can_look_over() -> None:
    counted = Counter(str(path.parent) for path in source_files() if path.name != "__init__.py")
    assert {folder: n for folder, n in counted.items() if n > MOST_MODULES and folder not in LARGE_FOLDERS} == {}


def test_modules_are_short_and_the_source_only_shrinks() -> None:
    lengths = {str(path): (ROOT / path).read_text().count("\n") for path in source_files()}
    longer = {path: n for path, n in lengths.items() if n > MODULE_LINES}
    assert longer == {}, "split it by what it holds"
    assert sum(lengths.values()) <= SOURCE_LINES, "delete as many lines as you add: docs/develop/house.md"


def test_every_module_has_tests() -> None:
    """Each module has a test file of its name, or tests that import it or name it.

    The file is in the mirrored folder. Otherwise the package's tests import the module, or a docstring has its name.
    """
    files, imports, named = set(), set(), set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        relative = path.relative_to(ROOT / "tests")
        files.add(str(relative))
        of_package = {name for node in nodes_of(path) for name in _imported(node)}
        imports |= {name for name in of_package if _package(Path(*name.split("."))) == _package(relative)}
        named |= set(re.findall(r"`([a-z0-9_]+\.[a-z0-9_]+)`", ast.get_docstring(tree_of(path)) or ""))
    imported = {".".join(name.split(".")[:length]) for name in imports for length in range(2, 7)}
    missing = [
        str(path)
        for path in modules()
        if str(path) not in WITHOUT_OWN_TEST
        and path.name != "urls.py"  # every URL is called
        and path.parent.name != "commands"
        and str(path.parent / f"test_{path.stem.strip('_')}.py") not in files
        and ".".join(path.with_suffix("").parts) not in imported
        and f"{path.parent.name}.{path.stem}" not in named
        and not (path.parent.name in IMPORTED_FROM_PACKAGE and ".".join(path.parent.parts) in imported)
    ]
    assert missing == []


def _package(path: Path) -> tuple[str, ...]:
    """Return the package, such as `dnspanel.zones`. For all files below `replication`, that is `replication`."""
    return path.parts[:1] if path.parts[0] == "replication" else path.parts[:2]


def test_modules_that_write_to_the_database_are_tagged_as_verbs() -> None:
    writers = []
    for path in modules():
        if not str(path).startswith("dnspanel/") or "demo/" in str(path) or _tag(path) == VERBS:
            continue
        for node in nodes_of(ROOT / path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _writes(node):
                writers.append(f"{path}:{node.lineno} .{node.func.attr}()")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL_WRITES.search(node.value):
                writers.append(f"{path}:{node.lineno} {node.value.strip()[:40]}")
    assert writers == []


def test_pure_modules_reach_nothing_outside() -> None:
    impure = []
    for path in modules():
        if _tag(path) != PURE:
            continue
        for node in nodes_of(ROOT / path):
            for name in _imported(node):
                if _is_below(name, NOT_PURE) and not _is_below(name, PURE_PARTS):
                    impure.append(f"{path}:{node.lineno} import {name}")
            if isinstance(node, ast.Attribute) and node.attr == "objects":
                impure.append(f"{path}:{node.lineno} .objects")
    assert impure == []


def test_the_tags_are_said_in_one_way() -> None:
    """A tag is the last word of the first line of a module's docstring, and appears nowhere else in that line."""
    lines = {path: _first_line(path) for path in modules()}
    other = re.compile(r"\b(verb module|verbs|pure)\b", re.IGNORECASE)
    assert [
        str(path) for path, line in lines.items() if other.search(line.removesuffix(VERBS).removesuffix(PURE))
    ] == []


def _first_line(path: Path) -> str:
    return (ast.get_docstring(tree_of(ROOT / path)) or "").partition("\n")[0]


def _tag(path: Path) -> str:
    return _first_line(path).rpartition(" ")[2]


def _is_below(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _writes(call: ast.Call) -> bool:
    """Return True for calls that can only be writes of the ORM."""
    assert isinstance(call.func, ast.Attribute)
    name = call.func.attr
    if name in WRITING_METHODS:
        return True
    if name == "save":  # saves a model; the save of a storage has a name and a content
        return not call.args
    on = call.func.value
    if name in {"create", "update", "delete"}:
        # `Model.objects…create()`, `queryset.filter(…).update()`
        text = ast.unparse(on)
        return ".objects" in text or ".filter(" in text
    return False


def test_identifiers_use_the_words_of_the_field() -> None:
    """Identifiers don't contain banned words. Columns, JSON fields and the names of test functions are exempt."""
    tests = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("*.py"))]
    public = {name for path in modules() for name in _columns_and_fields(tree_of(ROOT / path), _has_models(path))}
    found = []
    for path in [*modules(), *tests]:
        names = [(path.stem, 1), *_identifiers(nodes_of(ROOT / path))]
        for name, line in names:
            if name in public or name.startswith("test_"):
                continue
            found += [f"{path}:{line} {name}: say {BANNED_PARTS[part]}" for part in _banned_parts(name)]
    assert found == []


@cache
def _banned_parts(name: str) -> list[str]:
    """Return the banned words in a name. The result is cached, because most names occur many times."""
    return [part for part in _parts(NOT_BANNED.sub("", name)) if part in BANNED_PARTS]


def _identifiers(nodes: Iterable[ast.AST]) -> list[tuple[str, int]]:
    """Return the names that a module defines: functions, classes, parameters, variables, attributes and aliases."""
    found = []
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append((node.name, node.lineno))
        elif isinstance(node, ast.arg):
            found.append((node.arg, node.lineno))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.id, node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.append((node.attr, node.lineno))
        elif isinstance(node, ast.ImportFrom):
            found += [(alias.asname, node.lineno) for alias in node.names if alias.asname]
    return found


def _has_models(path: Path) -> bool:
    return "models" in {path.stem, path.parent.name}


def _columns_and_fields(tree: ast.Module, is_models: bool) -> list[str]:
    """Return the names assigned in models and serializers, which are database columns and JSON fields."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    public = [node for node in classes if is_models or node.name.endswith("Serializer")]
    return [name for of_class in public for node in of_class.body for name in _assigned(node)]


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


@pytest.mark.parametrize(
    ("word", "home"),
    [
        ("advisory_lock", "dnspanel/advisory_locks.py"),
        ("advisory_xact", "dnspanel/advisory_locks.py"),
        ("apply_async", "dnspanel/wake.py"),
        ("BrokerError", ""),
        (".delay(", ""),
    ],
)
def test_locks_are_taken_and_workers_woken_in_one_place(word: str, home: str) -> None:
    users = {str(path) for path in modules() if re.search(rf"{re.escape(word)}\b", (ROOT / path).read_text())}
    assert users <= {home}


def test_no_look_up_folds_letters_in_the_database() -> None:
    """PostgreSQL's `UPPER` turns a dotless i into an ASCII I. So accounts are found by their canonical names."""
    folds = re.compile(r"__i(exact|startswith|endswith|regex)\b")
    assert [str(path) for path in modules() if folds.search((ROOT / path).read_text())] == []


@pytest.mark.parametrize("path", ["requirements"], ids=str)
def test_no_lock_file_names_a_registry(path: str) -> None:
    named = [
        f"{file}:{number}"
        for file in sorted((ROOT / path).glob("*.txt"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "://" in line or "--index-url" in line
    ]
    assert named == []


@pytest.mark.parametrize("folder", VENDORED)
def test_vendored_files_match_their_recorded_checksums(folder: str) -> None:
    sources = (ROOT / folder / "SOURCES.md").read_text()
    unrecorded = []
    for file in sorted((ROOT / folder).rglob("*")):
        if not file.is_file() or file.name == "SOURCES.md" or "LICENSE" in file.name:
            continue
        if hashlib.sha256(file.read_bytes()).hexdigest() not in sources:
            unrecorded.append(str(file.relative_to(ROOT)))
    assert unrecorded == []


def test_no_file_holds_unfinished_work_or_a_path_of_one_machine() -> None:
    pattern = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|(?<![\w.-])/(wo" + r"rk|fa" + r"rm)/")
    found = []
    for name in tracked_files():
        if not name.endswith((".py", ".md", ".html", ".css", ".js", ".toml", ".yml", ".txt", "dev", "Procfile")):
            continue
        if name.startswith(VENDORED) or not (ROOT / name).exists():
            continue
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}")
    assert found == []


def long_sleeps(path: Path) -> list[str]:
    """Return the places where the file sleeps longer than a second without a comment that explains why."""
    text = path.read_text()
    if "sleep(" not in text and ".wait(" not in text:
        return []
    lines = text.splitlines()
    found = []
    for node in nodes_of(path):
        if not isinstance(node, ast.Call) or not dotted(node.func).endswith(("sleep", "Event().wait", "stop.wait")):
            continue
        seconds = next((arg.value for arg in node.args if isinstance(arg, ast.Constant)), 0)
        if (
            isinstance(seconds, int | float)
            and seconds > 1
            and "#" not in "".join(lines[node.lineno - 2 : node.lineno])
        ):
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def test_no_test_sleeps_longer_than_a_second_without_a_reason() -> None:
    found = [place for path in sorted((ROOT / "tests").rglob("*.py")) for place in long_sleeps(path)]
    assert not found, "wait for what happens, or say in a comment why only time will do"


# Files with Python code in strings: examples for tests of source readers, and the first lines of a download, which any
# version of Python must be able to run.
PYTHON_IN_STRINGS = {
    "dnspanel/cli_file.py",
    "tests/test_changed.py",
    "tests/test_regular_expressions.py",
}
LINES_OF_A_PROGRAM = 5
STRING_OF_LINES = re.compile(r"(\"{3}|'{3})(.*?)\1", re.DOTALL)
IMPORT = re.compile(r"^\s*(?:import|from) \w", re.MULTILINE)


def _programs_in_strings(text: str) -> list[str]:
    """Return the Python programs in multi-line strings: those that contain an import."""
    found = []
    for _, string in STRING_OF_LINES.findall(text):
        if string.strip().count("\n") + 1 < LINES_OF_A_PROGRAM or not IMPORT.search(string):
            continue
        with contextlib.suppress(SyntaxError):
            program = ast.parse(textwrap.dedent(string))
            if any(isinstance(statement, ast.Import | ast.ImportFrom) for statement in program.body):
                found.append(string.strip().partition("\n")[0])
    return found


def test_python_is_in_modules_and_not_in_strings() -> None:
    """Linters don't read programs in strings. Programs that tests start are in `tests/inside` and `tests/alone`."""
    paths = sorted(
        path.relative_to(ROOT) for package in (*PACKAGES, "tests") for path in (ROOT / package).rglob("*.py")
    )
    found = [
        f"{path}: {line}"
        for path in paths
        if str(path) not in PYTHON_IN_STRINGS
        for line in _programs_in_strings((ROOT / path).read_text())
    ]
    assert found == []


def test_functions_that_tests_run_inside_a_stack_exist() -> None:
    """Tests name these functions in strings, `module.function`. A wrong name would fail only in tests with a stack."""
    functions = {
        f"{path.stem}.{node.name}": node.args
        for path in sorted((ROOT / "tests" / "inside").glob("*.py"))
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    wrong, used = [], set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text()
        if "run_inside(" not in text and "interpreter.run(" not in text:
            continue
        for node in nodes_of(path):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in {"run_inside", "interpreter.run"}:
                continue
            values = node.args[1:] if ast.unparse(node.func) == "run_inside" else node.args
            if not isinstance(values[0], ast.Constant):
                continue
            name, given = str(values[0].value), values[1:]
            used.add(name)
            args = functions.get(name)
            most = len(args.args) if args else 0
            least = most - len(args.defaults) if args else 0
            fits = any(isinstance(each, ast.Starred) for each in given) or least <= len(given)
            if not args or not fits or (len(given) > most and not args.vararg):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}")
    assert wrong == []
    assert functions.keys() - used == set()
