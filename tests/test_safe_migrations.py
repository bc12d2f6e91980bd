"""The check of migrations finds statements that the release before cannot work with."""

from typing import Any

import pytest
from django.db.migrations.loader import MigrationLoader

from tests.safe_migrations import ROOT, dangers, migrations_of, new_migrations


@pytest.mark.django_db
def test_dangerous_migrations_are_found_and_others_are_not(settings: Any) -> None:
    folder = "tests.alone.migrations_to_find"
    settings.MIGRATION_MODULES = {"backup": folder}
    found = dangers([f"{folder}.{name}" for name in ("0002_expand", "0003_require", "0004_remove")])
    assert [line.removeprefix(f"{folder}.").rpartition(":")[0] for line in found] == [
        "0003_require: NOT_NULL",
        "0004_remove: DROP_COLUMN",
        "0004_remove: CREATE_INDEX",
        "0004_remove: CREATE_INDEX_EXCLUSIVE",
    ]


@pytest.mark.django_db(transaction=True)  # an index that doesn't block writes can't be created in a transaction
def test_new_migrations_are_safe() -> None:
    assert dangers(new_migrations()) == []


def test_the_panels_migrations_are_all_known() -> None:
    modules = {migration.__module__ for migration in MigrationLoader(None).disk_migrations.values()}
    assert {*migrations_of(ROOT)} == {module for module in modules if module.startswith("dnspanel.")}
