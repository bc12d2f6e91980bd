"""The free space on a file system, compared with the numbers of other programs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replication.disk import Disk, disk_of


def test_bytes_and_inodes_are_those_that_df_shows(tmp_path: Path) -> None:
    disk, usage = disk_of(tmp_path), shutil.disk_usage(tmp_path)
    assert disk.bytes == usage.total
    assert abs(disk.free_bytes - usage.free) < 1 << 30  # other processes write too
    df = subprocess.run(["df", "--output=itotal", str(tmp_path)], capture_output=True, text=True, check=True)
    total = df.stdout.split()[-1]
    assert disk.inodes == (0 if total == "-" else int(total))
    assert disk.has_inodes


def test_a_disk_without_inodes_takes_no_file() -> None:
    assert not Disk(50, 100, 0, 1000).has_inodes
    assert Disk(50, 100, 0, 0).has_inodes, "btrfs makes them as it needs them"


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disk_of(tmp_path / "gone")


def test_a_file_system_whose_inodes_are_gone_has_bytes_and_takes_no_file(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=8m,nr_inodes=20 tmpfs "$1" && exec "$2" -m tests.alone.fill_inodes "$1"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(tmp_path), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["True", "20", "0", "False"], "")
