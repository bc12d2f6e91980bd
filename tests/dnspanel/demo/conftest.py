"""Directories for stacks."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo import unprivileged


@pytest.fixture
def directory() -> Iterator[Path]:
    """Make an empty directory that the stack's user can reach; below `tmp_path`, which may be root's own, it
    could not.
    """
    path = Path(tempfile.mkdtemp(prefix="dnspanel-test-", dir="/tmp"))
    unprivileged.give(path)
    yield path
    shutil.rmtree(path)
