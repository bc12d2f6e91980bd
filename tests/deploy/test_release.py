"""`./dev release` refuses a checkout that is no release, and says why."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.documents import ROOT
from tests.replication.test_version import git

CHANGELOG = """# Changelog

## [Unreleased]

## [1.1.0] - 2026-12-31

- One thing.

## [1.0.0] - 2026-12-01

- Another thing.
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a repository with a tagged commit of release 1.1.0."""
    path = tmp_path / "checkout"
    for name in ("deploy/release.sh", "replication/__init__.py", "replication/version.py"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, path / name)
    (path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q", str(path))
    save(path, "v1.1.0")
    return path


def save(checkout: Path, tag: str = "") -> None:
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "saved")
    if tag:
        git(checkout, "tag", tag)


def said(checkout: Path) -> str:
    """Return the output of the check. It ends with status 1 if no release can be made."""
    done = subprocess.run([str(checkout / "deploy/release.sh"), "--check"], capture_output=True, text=True)
    assert done.returncode == (1 if done.stderr else 0)
    return (done.stdout or done.stderr).strip()


def test_a_tagged_commit_with_a_section_in_the_changelog_can_be_released(checkout: Path) -> None:
    assert said(checkout) == "1.1.0 can be released."


def test_a_changed_work_tree_is_refused(checkout: Path) -> None:
    (checkout / "new.txt").write_text("new")
    assert said(checkout) == "No release: the work tree has changes that are not committed:\n?? new.txt"


def test_a_commit_without_a_tag_is_refused(checkout: Path) -> None:
    (checkout / "new.txt").write_text("new")
    save(checkout)
    assert said(checkout).startswith("No release: this commit is 1.1.1.dev2+g")


@pytest.mark.parametrize("heading", ["## [1.1.1] - 2026-12-31", "## [Unreleased]"])
def test_a_version_without_a_section_is_refused(checkout: Path, heading: str) -> None:
    changelog = CHANGELOG.replace("## [1.1.0] - 2026-12-31", heading)
    (checkout / "CHANGELOG.md").write_text(changelog)
    save(checkout, "v1.2.0")
    assert said(checkout).startswith("No release: CHANGELOG.md has no section “## [1.2.0] - ")


def test_an_empty_section_is_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("- One thing.\n", ""))
    save(checkout)
    git(checkout, "tag", "-f", "v1.1.0")
    assert "CHANGELOG.md has no section" in said(checkout)
