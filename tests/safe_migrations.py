"""Check that the release before still works with the tables after each migration: `./dev check` runs this.

    python -m tests.safe_migrations

An upgrade migrates while the processes of the old release continue, and the way back keeps the new tables. So a
migration must not remove or rename what the old code uses, and must not block a large table for long.
django-migration-linter finds such statements. It needs a PostgreSQL, which is started only if there are migrations that
the newest kept release does not have.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Codes of the linter that are harmless in a migration, keyed by the migration's module. Write the reason beside each.
ACCEPTED: Mapping[str, frozenset[str]] = {
    # The migration creates the table of the index, so nothing else uses the table.
    "dnspanel.zones.migrations.0006_queried": frozenset({"CREATE_INDEX"}),
}
# A way back does not reverse migrations.
_NOT_CHECKED = frozenset({"RUNPYTHON_REVERSIBLE", "RUNSQL_REVERSIBLE"})


def migrations_of(tree: Path) -> list[str]:
    """Return the modules of the panel's migrations in a tree of the code."""
    files = (path.relative_to(tree) for path in (tree / "dnspanel").rglob("migrations/[0-9]*.py"))
    return sorted(str(path.with_suffix("")).replace("/", ".") for path in files)


def new_migrations() -> list[str]:
    """Return the migrations that the newest kept release does not have, without those that create an app's tables."""
    kept = [json.loads(path.read_text()) for path in (ROOT / "tests/golden/releases").glob("*/release.json")]
    newest = max(kept, key=lambda release: [int(part) for part in release["version"].split(".")])
    added = {*migrations_of(ROOT)} - {*newest["migrations"]}
    return sorted(module for module in added if not module.rpartition(".")[2].startswith("0001_"))


def dangers(modules: Sequence[str]) -> list[str]:
    """Return the dangerous statements of these migrations, as texts. Django and its database must be ready."""
    from django_migration_linter.migration_linter import MigrationLinter
    from django_migration_linter.sql_analyser.analyser import analyse_sql_statements

    linter = MigrationLinter(no_cache=True, no_output=True, analyser_string="postgresql")
    found = []
    for (app, name), migration in sorted(linter.migration_loader.disk_migrations.items()):
        module = migration.__module__
        if module not in modules:
            continue
        linter.exclude_migration_tests = accepted = [*_NOT_CHECKED, *ACCEPTED.get(module, ())]
        errors, _, warnings = analyse_sql_statements(linter.sql_analyser_class, linter.get_sql(app, name), accepted)
        of_data = linter.analyse_data_migration(migration)
        issues = [*errors, *warnings, *of_data[0], *of_data[2]]
        found += [f"{module}: {issue.code}: {issue.message}" for issue in issues]
    return found


def main() -> int:
    """Check all new migrations, in a PostgreSQL that is started for them. Return 1 if one is dangerous."""
    modules = new_migrations()
    if not modules:
        return 0
    if "--here" not in sys.argv:
        stores = [sys.executable, "-m", "dnspanel.demo", "stores", "var/check"]
        os.execv(sys.executable, [*stores, sys.executable, "-m", "tests.safe_migrations", "--here"])
    import django

    django.setup()
    found = dangers(modules)
    if found:
        found.append(
            "See docs/develop/migrations.md: divide the migration, or accept its codes in tests/safe_migrations.py."
        )
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
