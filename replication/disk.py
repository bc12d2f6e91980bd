"""Measure free space on a file system (bytes and inodes), and sync directories."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Disk:
    """The space on a file system, as available to users other than root."""

    free_bytes: int
    bytes: int
    free_inodes: int
    inodes: int  # 0: the file system creates inodes as needed

    @property
    def has_inodes(self) -> bool:
        """True if another file can be created."""
        return not self.inodes or self.free_inodes > 0


def disk_of(path: Path) -> Disk:
    """Return the space on this path's file system. Raise OSError if the path is missing."""
    found = os.statvfs(path)
    return Disk(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize, found.f_favail, found.f_files)


def sync_directory(directory: Path) -> None:
    """Write the directory's entries to disk, so that new names of files survive a crash."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
