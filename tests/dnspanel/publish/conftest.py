"""Each test publishes into a directory of its own, with files and a connection of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dnspanel.publish import publisher


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
