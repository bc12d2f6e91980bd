"""A real file system that is small enough to fill: a tmpfs of a few hundred kilobytes. Needs root."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(path: Path, *, kib: int = 1024, inodes: int = 100) -> Iterator[Path]:
    """Mount a small tmpfs at this path inside the block. Skip the test without root."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a tmpfs")
    path.mkdir(parents=True, exist_ok=True)
    options = f"size={kib}k,nr_inodes={inodes},mode=0777"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path: Path) -> None:
    """Write to a file in this directory until the disk is full."""
    with contextlib.suppress(OSError), (path / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def use_inodes(path: Path) -> None:
    """Create files in this directory until no file can be created."""
    with contextlib.suppress(OSError):
        for number in range(1_000_000):
            (path / f"empty-{number}").touch()
