"""The panel that publishes, for every test below."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replication.panel import Panel


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    """A panel for schema 4 with nothing published."""
    directory = tmp_path / "panel"
    directory.mkdir()
    panel = Panel(directory)
    yield panel
    panel.close()
