"""The version of the checked-out commit, and the comparison of two versions."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from replication import __version__, version
from replication.version import BASE, BUILT, is_older, version_to_build, write_built
from tests.docs.documents import ROOT

A, B = f"{BASE}.dev7+gaaaaaaaa", f"{BASE}.dev8+gbbbbbbbb"


def git(directory: Path, *words: str) -> str:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.test", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, "-C", str(directory), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(directory: Path, content: str) -> str:
    """Commit a change of the package. Return the first digits of the commit."""
    (directory / "replication" / "changed.txt").write_text(content)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", content)
    return git(directory, "rev-parse", "HEAD")[:8]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a repository with one commit, which contains only this version module."""
    package = tmp_path / "checkout" / "replication"
    package.mkdir(parents=True)
    for name in ("__init__.py", "version.py"):
        (package / name).write_text((ROOT / "replication" / name).read_text())
    git(tmp_path, "init", "-q", str(package.parent))
    commit(package.parent, "first")
    return package.parent


def imported(directory: Path, **environment: str) -> str:
    """Return the version that the package in this directory reports to a new process."""
    command = [sys.executable, "-c", "import replication; print(replication.__version__)"]
    done = subprocess.run(
        command, cwd=directory, env=os.environ | environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_every_commit_has_a_version_of_its_own_and_a_later_one_is_newer(checkout: Path) -> None:
    """Previously, every commit was 0.1.0, so pip treated a newer wheel as installed and changed nothing."""
    first = imported(checkout)
    digits = commit(checkout, "second")
    second = imported(checkout)
    assert second == f"{BASE}.dev2+g{digits}" == version_to_build(checkout)
    assert is_older(first, second)
    assert is_older(second, first) is False


def test_the_number_of_commits_is_asked_of_git_once(checkout: Path) -> None:
    before = imported(checkout)
    assert imported(checkout, PATH="/nowhere") == before  # without git: the stored version
    digits = commit(checkout, "second")
    assert imported(checkout, PATH="/nowhere") == f"{BASE}.dev0+g{digits}"


def test_a_tag_names_a_release_and_the_commits_after_it_are_newer(checkout: Path) -> None:
    before = imported(checkout)
    digits = commit(checkout, "released")
    git(checkout, "tag", "-a", "-m", "the first release", "v1.0.0")
    assert imported(checkout) == version_to_build(checkout) == "1.0.0"
    (checkout / "replication" / "changed.txt").write_text("changed")
    assert version_to_build(checkout).startswith(f"1.0.1.dev2+g{digits}.t")
    digits = commit(checkout, "second")
    after = imported(checkout)
    assert after == f"1.0.1.dev3+g{digits}"
    commit(checkout, "third")
    git(checkout, "tag", "v1.1.0")
    git(checkout, "tag", "v2.0.0-rc1")
    git(checkout, "pack-refs", "--all")
    assert imported(checkout) == "1.1.0"
    ordered = [before, "1.0.0", after, "1.0.1", "1.1.0"]
    assert all(is_older(one, other) for one, other in pairwise(ordered))


def test_branches_that_are_packed_and_commits_without_a_branch_are_found(checkout: Path) -> None:
    before = imported(checkout)
    git(checkout, "pack-refs", "--all")
    assert imported(checkout) == before
    git(checkout, "checkout", "-q", "--detach")
    assert imported(checkout) == before


def test_a_linked_worktree_has_the_version_of_its_own_commit(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    digits = commit(tmp_path / "side", "beside")
    assert imported(tmp_path / "side") == f"{BASE}.dev2+g{digits}"
    assert imported(checkout).startswith(f"{BASE}.dev1+")


def test_a_shallow_clone_does_not_know_the_number_and_no_order_is_claimed(checkout: Path, tmp_path: Path) -> None:
    digits = commit(checkout, "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{checkout}", "shallow")
    shallow = imported(tmp_path / "shallow")
    assert shallow == f"{BASE}.dev0+g{digits}"
    assert is_older(shallow, imported(checkout)) is None


def test_a_build_of_changed_files_is_another_version_than_the_commit(checkout: Path) -> None:
    clean = version_to_build(checkout)
    (checkout / "replication" / "changed.txt").write_text("one")
    one = version_to_build(checkout)
    (checkout / "replication" / "changed.txt").write_text("two")
    assert one.startswith(f"{clean}.t")
    assert len({clean, one, version_to_build(checkout)}) == 3


def test_files_without_a_repository_have_a_version_by_their_content(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "archive", "--output", str(tmp_path / "tree.tar"), "HEAD")
    tree = tmp_path / "tree"
    tree.mkdir()
    subprocess.run(["tar", "-C", str(tree), "-xf", str(tmp_path / "tree.tar")], check=True)
    built = version_to_build(tree)
    assert built.startswith(f"{BASE}.dev0+t")
    (tree / "replication" / "changed.txt").write_text("other")
    assert version_to_build(tree) != built


def test_an_image_keeps_the_version_that_its_build_names(checkout: Path, tmp_path: Path) -> None:
    """An image's build context has no .git. `docs/operate/install.md` explains how to pass the version."""
    (checkout / ".git").rename(tmp_path / "git")
    written = [sys.executable, "replication/version.py", "--write", A]
    assert subprocess.run(written, cwd=checkout, check=True, capture_output=True, text=True).stdout == f"{A}\n"
    assert imported(checkout) == A
    subprocess.run([*written[:-1], ""], cwd=checkout, check=True, capture_output=True)
    assert imported(checkout).startswith(f"{BASE}.dev0+t")


@pytest.mark.parametrize("given", ["0.1", "latest", "1.0.0.dev1+G", "1.0.0; rm"])
def test_what_is_not_a_version_is_not_written(given: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a version like"):
        write_built(given, tmp_path)
    assert not (tmp_path / BUILT).exists()


def test_a_version_is_not_kept_in_a_repository(checkout: Path) -> None:
    """The stored version would be wrong after the next commit."""
    command = [sys.executable, "replication/version.py", "--write", A]
    assert subprocess.run(command, cwd=checkout, capture_output=True).returncode == 2
    assert not (checkout / "replication" / BUILT).exists()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (A, B, True),
        (B, A, False),
        (A, A, False),
        (A, f"{A}.t01234567", False),  # equal in the parts that count
        ("0.1.0", A, True),  # all agents before versions with commits
        (A, "1.0.0", True),
        ("1.0.0", A, False),
        ("1.1.0.dev3+gaaaaaaaa", "1.0.0", False),
        (f"{BASE}.dev0+t01234567", A, None),
        (f"{BASE}.dev0+t01234567", "1.1.0", None),
        (A, f"{BASE}.dev0+unknown", None),
        ("", A, None),
        ("something else", A, None),
    ],
)
def test_which_of_two_versions_is_older(one: str, other: str, expected: bool | None) -> None:
    assert is_older(one, other) is expected


def test_this_checkout_has_a_version() -> None:
    assert __version__ == version.running_version()
    assert is_older("0.1.0", __version__)
