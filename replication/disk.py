"""How much room a file system has: bytes, and inodes, without which no new file fits however many bytes are free."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Disk:
    """The room of one file system for a user without root's rights."""

    free_bytes: int
    bytes: int
    free_inodes: int
    inodes: int  # 0: a file system that makes inodes as it needs them

    @property
    def has_inodes(self) -> bool:
        """Whether another file can be made."""
        return not self.inodes or self.free_inodes > 0


def disk_of(path: Path) -> Disk:
    """Return the room of the file system that holds this path. Raises OSError."""
    found = os.statvfs(path)
    return Disk(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize, found.f_favail, found.f_files)
