import os
import subprocess
import sys
from pathlib import Path

import pytest

from replication.agent.lock_file import take_lock
from replication.errors import Busy


def test_a_second_taker_is_told_what_is_busy_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = take_lock(path, "the store")
    with pytest.raises(Busy, match="the store"):
        take_lock(path, "the store")
    os.close(first)
    os.close(take_lock(path, "the store"))


def test_a_process_that_is_killed_leaves_its_lock_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.alone.hold_lock", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Busy):
            take_lock(path, "the store")
        holder.kill()
        holder.wait()
        os.close(take_lock(path, "the store"))


def test_nobody_else_may_read_the_file_and_no_child_inherits_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = take_lock(path, "the store")
    assert path.stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(first)
    os.close(first)
