"""Fixtures of the publisher tests: each test has its own directory, files and connection."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dnspanel.backup.drill import url_of
from dnspanel.backup.programs import panel_database
from dnspanel.publish.files import publisher
from tests.interpreter import Interpreter


@pytest.fixture(scope="module")
def interpreter(django_db_setup: None) -> Iterator[Interpreter]:
    """Yield an interpreter that runs the panel on the test's database."""
    running = Interpreter(os.environ | {"PANEL_DATABASE": url_of(panel_database())})
    yield running
    running.close()


@pytest.fixture(autouse=True)
def publisher_directory(tmp_path: Path, settings: Any) -> Iterator[Path]:
    settings.PUBLISHER_DIR = tmp_path / "publisher"
    settings.STORAGES = settings.STORAGES | {
        "segments": settings.STORAGES["segments"] | {"OPTIONS": {"location": str(tmp_path / "segments")}}
    }
    settings.CELERY_TASK_ALWAYS_EAGER = False
    yield tmp_path
    if publisher._publisher is not None:
        publisher._publisher.close()
        publisher._publisher = None
