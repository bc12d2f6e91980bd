"""Failing disks: an ext4 file system in a file. It can lose power, fill up, and have its files cut or changed.

Needs root and a loop device. The block's end unmounts everything.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from dnspanel.demo import unprivileged

MIB = 1 << 20
# Longer than any test, so that unsynced data stays in memory until the power fails.
_COMMIT_SECONDS = 600


class Disk:
    """An ext4 file system in `<directory>/disk.img`, mounted at `<directory>/mounted`."""

    def __init__(self, directory: Path, *, mib: int) -> None:
        self.image = directory / "disk.img"
        self.path = directory / "mounted"
        self._mib = mib

    def __enter__(self) -> Self:
        unprivileged.make_directory(self.path)
        with self.image.open("wb") as file:
            file.truncate(self._mib * MIB)
        _run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(self.image))
        self._mount()
        unprivileged.give(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            _run("umount", "--lazy", str(self.path))
        self.image.unlink(missing_ok=True)

    def lose_power(self) -> None:
        """Lose all data that was not synced. No process may have files open here.

        Data that was written but not synced is in the page cache and not in the image, so a copy of the image is the
        disk after a power failure. Mounting the copy replays the journal, as each boot does.
        """
        kept = self.image.with_suffix(".kept")
        shutil.copyfile(self.image, kept)
        _run("umount", str(self.path))  # writes unsynced data into the old image, which is then replaced
        kept.replace(self.image)
        self._mount()

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with contextlib.suppress(OSError), (self.path / "ballast").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(64 << 10))
        for size in (4096, 512, 1):
            with contextlib.suppress(OSError), (self.path / "ballast").open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(size))

    def free(self) -> None:
        """Delete the file that `fill` wrote."""
        (self.path / "ballast").unlink(missing_ok=True)

    def _mount(self) -> None:
        _run("mount", "-o", f"loop,commit={_COMMIT_SECONDS},noatime", str(self.image), str(self.path))


def flip_bit(path: Path, offset: int, *, bit: int = 0) -> None:
    """Flip one bit of the file."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes((byte ^ 1 << bit,)))


def offsets_of(path: Path, needle: bytes) -> Iterator[int]:
    """Yield the offsets of these bytes in the file."""
    content = path.read_bytes()
    at = content.find(needle)
    while at >= 0:
        yield at
        at = content.find(needle, at + 1)


def cut(path: Path, *, keep: float = 0.5) -> None:
    """Truncate the file to this share of its size."""
    os.truncate(path, int(path.stat().st_size * keep))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
