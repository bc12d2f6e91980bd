"""The rules of the house that a program can check."""

import ast
import hashlib
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("dnspanel", "replication")
BANNED_FILE_NAMES = {"utils.py", "helpers.py", "services.py", "managers.py", "common.py", "misc.py"}

# The last word of a module's first docstring line says what its functions may do.
VERBS = "Verbs."  # they write to the database
PURE = "Pure."  # from values to values: no database, socket, Redis, queue, program
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
    r"(accounts|alerts|api|backup|fleet|publish|transfer|webhooks|zones)_[a-z]+(?=[\s(]|$)"
)

# Started by a process manager or by Django itself; exercised by the flow tests.
WITHOUT_OWN_TEST = {
    "dnspanel/settings.py",
    "dnspanel/urls.py",
    "dnspanel/wsgi.py",
    "dnspanel/celery.py",
}
# Parts of one thing that are tested through the whole of it.
TESTED_IN = {
    "dnspanel/web/zones/urls.py": "tests/dnspanel/web/test_urls.py",
    "dnspanel/api/v2/resources/import_files.py": "tests/dnspanel/api/v2/resources/test_imports.py",
    "dnspanel/api/v2/resources/import_sources.py": "tests/dnspanel/api/v2/resources/test_imports.py",
    "dnspanel/api/v2/resources/import_zones.py": "tests/dnspanel/api/v2/resources/test_imports.py",
    "dnspanel/api/v2/http/secret_once.py": "tests/dnspanel/api/v2/resources/test_tokens.py",
    "dnspanel/api/v2/schema/permissions.py": "tests/dnspanel/api/v2/resources/test_me.py",
    "dnspanel/api/v2/schema/scopes.py": "tests/dnspanel/api/v2/resources/test_grants.py",
    "dnspanel/api/models.py": "tests/dnspanel/api/v1/test_attributes.py",
    "dnspanel/api/tasks.py": "tests/dnspanel/api/v2/http/test_idempotency.py",
    "dnspanel/api/urls.py": "tests/dnspanel/api/test_every_url.py",
    "dnspanel/api/v2/http/accepted.py": "tests/dnspanel/api/v2/resources/test_publications.py",
    "dnspanel/api/v2/http/answers.py": "tests/dnspanel/api/v2/http/test_view.py",
    "dnspanel/api/v2/resources/problem_pages.py": "tests/dnspanel/api/v2/http/test_problems.py",
    "dnspanel/api/v2/http/json_body.py": "tests/dnspanel/api/v2/http/test_problems.py",
    "dnspanel/api/v2/http/problem_types.py": "tests/dnspanel/api/v2/http/test_problems.py",
    "dnspanel/api/v2/http/pages.py": "tests/dnspanel/api/v2/resources/test_zones.py",
    "dnspanel/api/v2/resources/publishing.py": "tests/dnspanel/api/v2/resources/test_rrsets.py",
    "dnspanel/api/v2/schema/parsing.py": "tests/dnspanel/api/v2/resources/test_changes.py",
    "dnspanel/api/v2/http/representation.py": "tests/dnspanel/api/v2/resources/test_rrsets.py",
    "dnspanel/api/v2/http/visibility.py": "tests/dnspanel/api/v2/resources/test_rrsets.py",
    "dnspanel/api/v2/urls.py": "tests/dnspanel/api/v2/http/test_problems.py",
    "dnspanel/api/v2/schema/zone_serializers.py": "tests/dnspanel/api/v2/schema/test_document.py",
    "dnspanel/transfer/zonefile/content.py": "tests/dnspanel/transfer/zonefile/test_parse.py",
    "dnspanel/transfer/zonefile/reader.py": "tests/dnspanel/transfer/zonefile/test_parse.py",
    "dnspanel/transfer/zonefile/records.py": "tests/dnspanel/transfer/zonefile/test_parse.py",
    "dnspanel/transfer/zonefile/report.py": "tests/dnspanel/transfer/zonefile/test_parse.py",
    "dnspanel/transfer/errors.py": "tests/dnspanel/transfer/test_limits.py",
    "dnspanel/transfer/models.py": "tests/dnspanel/transfer/imports/test_worker.py",
    "dnspanel/transfer/imports/apply.py": "tests/dnspanel/transfer/imports/test_worker.py",
    "dnspanel/transfer/imports/plan.py": "tests/dnspanel/transfer/imports/test_worker.py",
    "dnspanel/transfer/imports/scan.py": "tests/dnspanel/transfer/imports/test_worker.py",
    "dnspanel/transfer/signals.py": "tests/dnspanel/transfer/imports/test_worker.py",
    "dnspanel/transfer/imports/undo.py": "tests/dnspanel/transfer/imports/test_worker.py",
    "dnspanel/cli/commands.py": "tests/dnspanel/cli/test_main.py",
    "dnspanel/cli/errors.py": "tests/dnspanel/cli/test_client.py",
    "dnspanel/cli/exports.py": "tests/flow/test_command_line.py",
    "dnspanel/cli/imports.py": "tests/flow/test_command_line.py",
    "dnspanel/cli/session.py": "tests/dnspanel/cli/test_main.py",
    "dnspanel/cli/waiting.py": "tests/flow/test_command_line.py",
    "dnspanel/cli/written.py": "tests/dnspanel/cli/test_records.py",
    "replication/store/checking_records.py": "tests/replication/store/test_checking.py",
    "replication/store/checking_zone_list.py": "tests/replication/store/test_checking.py",
    "replication/store/check_state.py": "tests/replication/store/test_checking.py",
    "replication/store/digest_delta.py": "tests/replication/store/test_store.py",
    "replication/store/zone_rows.py": "tests/replication/store/test_store.py",
    "replication/store/writing.py": "tests/replication/store/test_installing.py",
    "dnspanel/backup/drill.py": "tests/dnspanel/backup/test_restore.py",
    "dnspanel/backup/errors.py": "tests/dnspanel/backup/test_restore.py",
    "dnspanel/backup/contents.py": "tests/dnspanel/backup/test_restore.py",
    "dnspanel/backup/make.py": "tests/dnspanel/backup/test_restore.py",
    "dnspanel/backup/models.py": "tests/dnspanel/backup/test_restore.py",
    "dnspanel/backup/programs.py": "tests/dnspanel/backup/test_restore.py",
    "dnspanel/fleet/integrity/decision.py": "tests/dnspanel/fleet/integrity/test_unknown_history_report.py",
    "dnspanel/fleet/integrity/epoch.py": "tests/dnspanel/fleet/integrity/test_unknown_history_report.py",
    "dnspanel/alerts/errors.py": "tests/dnspanel/alerts/test_routes.py",
    "dnspanel/alerts/models.py": "tests/dnspanel/alerts/test_watch.py",
    "dnspanel/publish/sealing.py": "tests/dnspanel/publish/test_encode.py",
    "dnspanel/publish/full_zone.py": "tests/dnspanel/publish/test_rebuild.py",
    "dnspanel/fleet/signals.py": "tests/dnspanel/fleet/rollout/test_deliver.py",
    "dnspanel/web/fleet/urls.py": "tests/dnspanel/web/fleet/test_rollout.py",
    "dnspanel/webhooks/errors.py": "tests/dnspanel/webhooks/test_guard.py",
    "dnspanel/webhooks/models.py": "tests/dnspanel/webhooks/test_deliver.py",
    "dnspanel/webhooks/signals.py": "tests/dnspanel/webhooks/test_tasks.py",
    "replication/agent/__main__.py": "tests/replication/agent/test_agent.py",
    "replication/agent/apply.py": "tests/replication/agent/test_agent.py",
    "replication/agent/node.py": "tests/replication/agent/test_agent.py",
    "replication/agent/zones.py": "tests/replication/agent/test_integrity_scan.py",
    "replication/store/applying.py": "tests/replication/store/test_store.py",
    "replication/store/file_row.py": "tests/replication/store/test_store.py",
}


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


def test_every_module_has_its_test_file() -> None:
    tests = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    missing = []
    for path in modules():
        name = str(path)
        if name in WITHOUT_OWN_TEST or "management/commands" in name:
            continue
        stem = "main" if path.stem == "__main__" else path.stem
        if TESTED_IN.get(name, f"tests/{path.parent}/test_{stem}.py") not in tests:
            missing.append(name)
    assert missing == []


def test_modules_that_write_to_the_database_are_tagged_as_verbs() -> None:
    writers = []
    for path in modules():
        if not str(path).startswith("dnspanel/") or "demo/" in str(path) or _tag(path) == VERBS:
            continue
        for node in ast.walk(_tree(path)):
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
        for node in ast.walk(_tree(path)):
            for name in _imported(node):
                if _is_below(name, NOT_PURE) and not _is_below(name, PURE_PARTS):
                    impure.append(f"{path}:{node.lineno} import {name}")
            if isinstance(node, ast.Attribute) and node.attr == "objects":
                impure.append(f"{path}:{node.lineno} .objects")
    assert impure == []


def test_the_tags_are_said_in_one_way() -> None:
    """As the last word of the first line of a module's docstring, and nowhere else in that line."""
    lines = {path: _first_line(path) for path in modules()}
    other = re.compile(r"\b(verb module|verbs|pure)\b", re.IGNORECASE)
    assert [
        str(path) for path, line in lines.items() if other.search(line.removesuffix(VERBS).removesuffix(PURE))
    ] == []


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def _first_line(path: Path) -> str:
    return (ast.get_docstring(_tree(path)) or "").partition("\n")[0]


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
    """True for calls that can only be writes of the ORM."""
    assert isinstance(call.func, ast.Attribute)
    name = call.func.attr
    if name in WRITING_METHODS:
        return True
    if name == "save":  # of a model; a storage's save takes a name and a content
        return not call.args
    on = call.func.value
    if name in {"create", "update", "delete"}:
        # `Model.objects…create()`, `queryset.filter(…).update()`
        text = ast.unparse(on)
        return ".objects" in text or ".filter(" in text
    return False


def test_every_environment_variable_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"PANEL_[A-Z_]+", (ROOT / "dnspanel/settings.py").read_text()))
    assert sorted(name for name in named if name not in readme) == []


@pytest.mark.parametrize("path", ["requirements"], ids=str)
def test_no_lock_file_names_a_registry(path: str) -> None:
    named = [
        f"{file}:{number}"
        for file in sorted((ROOT / path).glob("*.txt"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "://" in line or "--index-url" in line
    ]
    assert named == []


def test_vendored_files_match_their_recorded_checksums() -> None:
    sources = (ROOT / "static/vendor/SOURCES.md").read_text()
    unrecorded = []
    for file in sorted((ROOT / "static/vendor").rglob("*")):
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
        if name.startswith("static/vendor/") or not (ROOT / name).exists():
            continue
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}")
    assert found == []
