"""Creates files until the file system is full, then prints the result of `disk_of`."""

import pathlib
import sys

from replication.disk import disk_of

path = pathlib.Path(sys.argv[1])
made = 0
try:
    while True:
        (path / str(made)).touch()
        made += 1
except OSError:
    disk = disk_of(path)
    print(disk.free_bytes > 1 << 20, disk.inodes, disk.free_inodes, disk.has_inodes)
