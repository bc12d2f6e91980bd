"""Each app starts with one migration, which existing databases don't run again."""

from collections import Counter

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from dnspanel.database.create_tables import CreateTables

# Up to 1.0, each schema change gets a separate migration; they are squashed from time to time.
MOST_OF_AN_APP = 6


def test_an_app_has_few_migrations() -> None:
    """147 migrations of an empty database took 45 seconds in each fresh clone and test machine."""
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("dnspanel")}
    counted = Counter(app for app, _ in MigrationLoader(None).disk_migrations if app in ours)
    assert {app: number for app, number in counted.items() if number > MOST_OF_AN_APP} == {}


@pytest.mark.django_db
def test_a_database_of_before_needs_nothing() -> None:
    rows = MigrationRecorder(connection).migration_qs
    squashed = {
        key: migration
        for key, migration in MigrationLoader(None).disk_migrations.items()
        if any(isinstance(operation, CreateTables) for operation in migration.operations)
    }
    assert len(squashed) > 10
    for (app, name), migration in squashed.items():
        rows.filter(app=app, name=name).delete()
        for replaced_app, replaced in migration.replaces:
            rows.create(app=replaced_app, name=replaced)
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
