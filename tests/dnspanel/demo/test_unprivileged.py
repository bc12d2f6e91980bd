"""Tests that no part of a stack runs as root, and that its files belong to the user who runs it."""

import os
import subprocess
from pathlib import Path

from dnspanel.demo import unprivileged


def test_a_command_behind_the_prefix_does_not_run_as_root() -> None:
    done = subprocess.run([*unprivileged.prefix(), "id", "-u"], capture_output=True, text=True, check=True)
    assert int(done.stdout) != 0


def test_an_ordinary_user_needs_no_prefix() -> None:
    assert (unprivileged.prefix() == ()) == (os.geteuid() != 0)


def test_a_written_file_is_private_and_belongs_to_the_user(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    unprivileged.write(path, "one")
    unprivileged.write(path, "two")
    user = unprivileged.account()
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_uid == (os.geteuid() if user is None else user.pw_uid)
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_program_runs(tmp_path: Path) -> None:
    path = tmp_path / "program"
    for text in ("one", "two"):
        unprivileged.write_program(path, f"#!/bin/sh\necho {text}\n".encode())
    assert path.stat().st_mode & 0o777 == 0o700
    assert subprocess.run([path], capture_output=True, text=True, check=True).stdout == "two\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_is_made_private_with_its_parents(tmp_path: Path) -> None:
    unprivileged.make_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
