"""The agent's wheel: a commit always gives the same bytes, and pip upgrades to a later commit's wheel."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.documents import ROOT
from tests.replication.test_version import commit, git

PIP_SECONDS = 300


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Create a repository with the sources of the wheel."""
    path = tmp_path / "checkout"
    for name in ("replication", "deploy/agent"):
        shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".gitignore", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, path)
    git(tmp_path, "init", "-q", str(path))
    commit(path, "first")
    return path


def built(checkout: Path, directory: Path, *, umask: int = 0o022) -> Path:
    """Run the documented build command, and return the path of the wheel."""
    command = [sys.executable, str(checkout / "deploy" / "agent" / "build.py"), str(directory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PIP_SECONDS, umask=umask)
    return Path(done.stdout.split()[-1])


def digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.mark.turn(3, reason="a wheel of a later commit, built three times")
def test_a_wheel_of_a_later_commit_is_installed_over_an_earlier_one(checkout: Path, tmp_path: Path) -> None:
    """Previously each commit's wheel was 0.1.0: pip said "already installed", changed nothing, and exited with 0."""
    first = built(checkout, tmp_path / "first")
    for path in (checkout / "replication").rglob("*.py"):
        os.utime(path, (1, 1))
    again = built(checkout, tmp_path / "again", umask=0o077)
    assert (first.name, digest(first)) == (again.name, digest(again))
    with zipfile.ZipFile(first) as wheel_file:
        carried = {Path(name).name: wheel_file.read(name).decode() for name in wheel_file.namelist()}
    assert "\nLicense-Expression: Apache-2.0\n" in carried["METADATA"]
    assert [carried[name] for name in ("LICENSE", "NOTICE")] == [
        (ROOT / name).read_text() for name in ("LICENSE", "NOTICE")
    ]
    digits = commit(checkout, "second")
    second = built(checkout, tmp_path / "second")
    assert f"+g{digits}-" in second.name
    environment = tmp_path / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "pip"), "install", "--no-index", "--no-deps", "--disable-pip-version-check"]
    for wheel in (first, second):
        subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=PIP_SECONDS)
        said = subprocess.run(
            [str(environment / "bin" / "python"), "-I", "-c", "import replication; print(replication.__version__)"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert said.stdout.strip() == wheel.name.split("-")[1]
