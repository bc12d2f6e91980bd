"""Fixtures of the tests of stacks: their directories."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo import unprivileged


@pytest.fixture
def directory() -> Iterator[Path]:
    """Create an empty directory that the stack's user can reach. `tmp_path` may be readable for root only."""
    path = Path(tempfile.mkdtemp(prefix="dnspanel-test-", dir="/tmp"))
    unprivileged.give(path)
    yield path
    shutil.rmtree(path)
